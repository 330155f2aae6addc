import { v5 } from 'uuid';
import type { IncomingEvent } from './event.ts';
import { parseExact } from './exact_json.ts';
import type { JsonObject } from './exact_json.ts';
import { fitsPerson } from './person_size.ts';

// Fixed for ever: the same project and distinct id give the same person id on every server.
const person_namespace = '8d7f1f3e-52c5-5a0b-9f6e-0c9b1d1f6a11';

/** One stored version of a person. `properties` is JSON text. */
export type Person = {
  person_id: string;
  properties: string;
  person_version: number;
  person_distinct_id_version: number;
  created_at: string;
};

/** A person while the events of a batch are applied to it. */
export type PersonDraft = {
  /** JSON text after the last event that was applied, and its bytes of UTF-8. */
  properties: string;
  properties_bytes: number;
  is_changed: boolean;
  /** The same as an object, once an event had to look into it. */
  parsed: JsonObject | undefined;
};

/**
 * The id of the person behind a distinct id: a version 5 UUID, the same whenever and wherever it is
 * asked.
 */
export function personId(teamId: number, distinctId: string): string {
  return v5(`${teamId}:${distinctId}`, person_namespace);
}

/** A draft of a stored person, or of one that does not exist yet. */
export function draftOf(person: Person | undefined): PersonDraft {
  const properties = person?.properties ?? '{}';
  return {
    properties,
    properties_bytes: Buffer.byteLength(properties),
    is_changed: false,
    parsed: undefined,
  };
}

/**
 * Applies one event's `$set` and `$set_once` to a draft: `$set_once` fills keys that are absent,
 * `$set` overwrites, and within one event `$set` wins. False when the person would become larger
 * than persons may be: then it is left as it was.
 */
export function applySet(
  draft: PersonDraft,
  event: Pick<IncomingEvent, 'set' | 'set_once' | 'is_set_too_large'>,
): boolean {
  if (event.is_set_too_large) return false;
  if (event.set === undefined && event.set_once === undefined) return true;
  const before = (draft.parsed ??= parseExact(draft.properties) as JsonObject);
  if (!changes(before, event)) return true;
  const after = { ...event.set_once, ...before, ...event.set };
  const properties = JSON.stringify(after);
  if (!fitsPerson(properties)) return false;
  const properties_bytes = Buffer.byteLength(properties);
  Object.assign(draft, {
    properties,
    properties_bytes,
    is_changed: true,
    parsed: after,
  } satisfies PersonDraft);
  return true;
}

// Compared as JSON, not by identity: a value that is sent again with every event must not make a
// version. Only what the event names is looked at.
function changes(
  before: JsonObject,
  { set = {}, set_once = {} }: Pick<IncomingEvent, 'set' | 'set_once'>,
): boolean {
  return (
    Object.keys(set_once).some((key) => !Object.hasOwn(before, key)) ||
    Object.keys(set).some(
      (key) =>
        !Object.hasOwn(before, key) || JSON.stringify(before[key]) !== JSON.stringify(set[key]),
    )
  );
}
