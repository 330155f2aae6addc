import type { IncomingEvent } from '../parse/event.ts';
import { parseExact } from '../parse/exact_json.ts';
import type { JsonObject } from '../parse/exact_json.ts';
import { namespaceOf, nameUuid } from '../parse/create_uuid.ts';
import { fitsPerson } from '../parse/person_size.ts';

// Fixed for ever: the same project and distinct id give the same person id on every server.
const person_namespace = namespaceOf('8d7f1f3e-52c5-5a0b-9f6e-0c9b1d1f6a11');

// A visitor's events come in many batches, and a hash costs as much as reading an event.
const latest_ids = new Map<string, string>();
const latest_ids_max = 100_000;

/** One stored version of a person. `properties` is JSON text. */
export type Person = {
  person_id: string;
  properties: string;
  person_version: number;
  person_distinct_id_version: number;
  created_at: string;
  /** The distinct id of the person that this one was merged into; empty if none. */
  merged_into: string;
  /** 1 once it was the target of a merge, otherwise 0. */
  is_identified: number;
};

/** A person while a batch's events change it. */
export type PersonDraft = {
  /** JSON text after the last applied event, and its bytes of UTF-8. */
  properties: string;
  properties_bytes: number;
  is_changed: boolean;
  /** The same as an object, once an event needed to read it. */
  parsed: JsonObject | undefined;
  /** Undefined for a person that the batch creates. */
  created_at: string | undefined;
  merged_into: string;
  is_identified: number;
  /** True if the batch has given the distinct id to another person. */
  is_moved: boolean;
};

/** Returns the person id of a distinct id: a version 5 UUID, which is always the same. */
export function personId(teamId: number, distinctId: string): string {
  const name = `${teamId}:${distinctId}`;
  let id = latest_ids.get(name);
  if (id === undefined) {
    if (latest_ids.size === latest_ids_max) latest_ids.clear();
    id = nameUuid(name, person_namespace);
    latest_ids.set(name, id);
  }
  return id;
}

/** Returns a draft of a stored person, or of one that does not exist yet. */
export function draftOf(person: Person | undefined): PersonDraft {
  const properties = person?.properties ?? '{}';
  return {
    properties,
    properties_bytes: Buffer.byteLength(properties),
    is_changed: false,
    parsed: undefined,
    created_at: person?.created_at,
    merged_into: person?.merged_into ?? '',
    is_identified: person?.is_identified ?? 0,
    is_moved: false,
  };
}

/** An event's changes to the properties of its person. */
type Sets = Pick<IncomingEvent, 'set' | 'set_once' | 'unset' | 'is_set_too_large'>;

/**
 * Applies one event's `$set`, `$set_once` and `$unset` to a draft: `$set_once` fills absent keys,
 * `$set` overwrites, and within one event `$set` wins; `$unset` removes keys last. Returns false,
 * with the person unchanged, if the person would exceed its maximum size.
 */
export function applySet(draft: PersonDraft, event: Sets): boolean {
  const { set, set_once, unset } = event;
  if (event.is_set_too_large) return false;
  if (set === undefined && set_once === undefined && unset === undefined) return true;
  const before = (draft.parsed ??= parseExact(draft.properties) as JsonObject);
  if (!changes(before, event)) return true;
  const after = { ...set_once, ...before, ...set };
  for (const key of unset ?? []) delete after[key];
  return replace(draft, after);
}

/**
 * Copies properties of a merged person to the remaining one, unless it has them. Returns false if
 * it would exceed its maximum size; it then only keeps its own.
 */
export function applyMerge(into: PersonDraft, from: PersonDraft): boolean {
  if (from.properties === '{}') return true;
  const given = (from.parsed ??= parseExact(from.properties) as JsonObject);
  const own = (into.parsed ??= parseExact(into.properties) as JsonObject);
  const missing = Object.entries(given).filter(([key]) => !Object.hasOwn(own, key));
  return missing.length === 0 || replace(into, { ...own, ...Object.fromEntries(missing) });
}

function replace(draft: PersonDraft, after: JsonObject): boolean {
  const properties = JSON.stringify(after);
  if (!fitsPerson(properties)) return false;
  const properties_bytes = Buffer.byteLength(properties);
  Object.assign(draft, {
    properties,
    properties_bytes,
    is_changed: true,
    parsed: after,
  } satisfies Partial<PersonDraft>);
  return true;
}

// Compared as JSON, not by identity: a value that is sent again with every event must not create a
// version. Only properties that the event names are compared.
function changes(before: JsonObject, { set = {}, set_once = {}, unset = [] }: Sets): boolean {
  const gone = new Set(unset);
  return (
    unset.some((key) => Object.hasOwn(before, key)) ||
    Object.keys(set_once).some((key) => !Object.hasOwn(before, key) && !gone.has(key)) ||
    Object.keys(set).some(
      (key) =>
        !gone.has(key) &&
        (!Object.hasOwn(before, key) || JSON.stringify(before[key]) !== JSON.stringify(set[key])),
    )
  );
}
