import { id_characters_max } from './illegal_ids.ts';

/**
 * An event's request for a merge: the person of `other` joins the person of the event's own
 * distinct id; `is_forced` even if the other one is identified.
 */
export type MergeAsk = { other: string; is_forced: boolean };

/** The property that names the other distinct id, by the name of the event. */
const named_by: { [event: string]: { property: string; is_forced: boolean } | undefined } = {
  $identify: { property: '$anon_distinct_id', is_forced: false },
  $create_alias: { property: 'alias', is_forced: false },
  $merge_dangerously: { property: 'alias', is_forced: true },
};

/**
 * Reads an event's request for a merge; undefined if it names no other id. An id that is no text
 * becomes its JSON.
 */
export function readMergeAsk(
  event: string,
  properties: Readonly<Record<string, unknown>>,
): MergeAsk | undefined {
  const named = Object.hasOwn(named_by, event) ? named_by[event] : undefined;
  const other = named === undefined ? undefined : properties[named.property];
  if (named === undefined || other === undefined) return undefined;
  const text = typeof other === 'string' ? other : JSON.stringify(other);
  // One character above the limit keeps it illegal.
  return { other: text.slice(0, id_characters_max + 1), is_forced: named.is_forced };
}

/**
 * Returns the properties that an event unsets: a list of names, or the names of an object. Any
 * other value names none.
 */
export function readUnset(value: unknown): string[] | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const names = Array.isArray(value)
    ? value.filter((name) => typeof name === 'string')
    : Object.keys(value);
  return names.length === 0 ? undefined : names;
}
