import { v5 } from 'uuid';
import type { IncomingEvent } from './event.ts';
import { parseExact } from './exact_json.ts';
import type { JsonObject } from './exact_json.ts';

// Fixed for ever: the same project and distinct id give the same person id on every server.
const person_namespace = '8d7f1f3e-52c5-5a0b-9f6e-0c9b1d1f6a11';

/** One stored version of a person. `properties` is JSON text. */
export type Person = { person_id: string; properties: string; person_version: number; person_distinct_id_version: number; created_at: string };

/** The id of the person behind a distinct id: a version 5 UUID, the same whenever and wherever it is asked. */
export function personId(teamId: number, distinctId: string): string {
  return v5(`${teamId}:${distinctId}`, person_namespace);
}

/**
 * What one event's `$set` and `$set_once` make of a person: `$set_once` fills keys that are absent, `$set` overwrites, and within one event `$set` wins.
 * Gives the same object back when nothing changes; a person that is undefined comes to be with version 1 and `created_at` = `at`.
 */
export function applySet(current: Person | undefined, teamId: number, event: IncomingEvent, at: string): Person | undefined {
  if (event.set === undefined && event.set_once === undefined) return current;
  const before = current === undefined ? {} : parseExact(current.properties);
  const after = { ...event.set_once, ...(before as JsonObject), ...event.set };
  const properties = JSON.stringify(after);
  if (current === undefined) {
    return { person_id: personId(teamId, event.distinct_id), properties, person_version: 1, person_distinct_id_version: 1, created_at: at };
  }
  // Compared as JSON, not by identity: a value that is sent again with every event must not make a version.
  return isSameObject(before as JsonObject, after) ? current : { ...current, properties, person_version: current.person_version + 1 };
}

function isSameObject(before: JsonObject, after: JsonObject): boolean {
  const keys = Object.keys(after);
  return (
    keys.length === Object.keys(before).length && keys.every((key) => Object.hasOwn(before, key) && JSON.stringify(before[key]) === JSON.stringify(after[key]))
  );
}
