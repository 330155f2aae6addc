import { isDeepStrictEqual } from 'node:util';
import { isFields } from '../fields.ts';
import type { Fields } from '../fields.ts';

/**
 * One field that differs; nested fields are named with dots. A secret is shown as `mask` on both
 * sides.
 */
export type Change = {
  field: string;
  action: 'created' | 'changed' | 'deleted';
  before: unknown;
  after: unknown;
};

/** What stands in place of a secret. */
const mask = '********';
/** Longest text of one value that is kept, in characters. */
const value_length_max = 4_000;

/**
 * What differs between two wire-shaped records, field by field, in the order of their fields; an
 * absent record makes every field created or deleted. `left_out` names top-level fields that are
 * not the record's own (such as when it was changed). Long values are cut.
 */
export function changesOf(
  before: Fields | undefined,
  after: Fields | undefined,
  left_out: readonly string[] = [],
): Change[] {
  const [one, other] = [flat(before ?? {}, left_out), flat(after ?? {}, left_out)];
  const changes: Change[] = [];
  for (const field of new Set([...one.keys(), ...other.keys()])) {
    const [old, now] = [one.get(field), other.get(field)];
    if (one.has(field) && other.has(field) && isDeepStrictEqual(old, now)) continue;
    const action = !one.has(field) ? 'created' : other.has(field) ? 'changed' : 'deleted';
    changes.push({ field, action, before: bounded(old), after: bounded(now) });
  }
  return changes;
}

/** The change of a secret, of which nothing may be shown. */
export function secretChange(field: string, action: Change['action']): Change {
  return {
    field,
    action,
    before: action === 'created' ? null : mask,
    after: action === 'deleted' ? null : mask,
  };
}

function flat(record: Fields, left_out: readonly string[], prefix = ''): Map<string, unknown> {
  const fields = new Map<string, unknown>();
  for (const [name, value] of Object.entries(record)) {
    if (prefix === '' && left_out.includes(name)) continue;
    const path = prefix + name;
    if (isFields(value) && Object.keys(value).length > 0)
      for (const [inner, part] of flat(value, [], `${path}.`)) fields.set(inner, part);
    else fields.set(path, value);
  }
  return fields;
}

function bounded(value: unknown): unknown {
  if (value === undefined) return null;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  // The cut may go through a surrogate pair, and half of one is no text.
  return text.length <= value_length_max
    ? value
    : `${text.slice(0, value_length_max).toWellFormed()}…`;
}
