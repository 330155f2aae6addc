import { isDeepStrictEqual } from 'node:util';
import { isFields } from '../fields.ts';
import type { Fields } from '../fields.ts';

/**
 * One field that differs; dots join the names of nested fields. A secret shows `mask` on both
 * sides.
 */
export type Change = {
  field: string;
  action: 'created' | 'changed' | 'deleted';
  before: unknown;
  after: unknown;
};

/** Replaces a secret. */
const mask = '********';
/** Most characters that are stored of one value. */
const value_length_max = 4_000;

/**
 * Compares two records in their wire form, field by field, in the order of their fields. An absent
 * record makes every field created or deleted. `left_out` lists top-level fields that do not belong
 * to the record itself, such as the time of its last change. Long values are cut.
 */
export function changesOf(
  before: Fields | undefined,
  after: Fields | undefined,
  left_out: readonly string[] = [],
): Change[] {
  const [one, other] = [flat(before ?? {}, left_out), flat(after ?? {}, left_out)];
  const changes: Change[] = [];
  for (const [way, { field }] of new Map([...one, ...other])) {
    const [old, now] = [one.get(way), other.get(way)];
    if (old !== undefined && now !== undefined && isDeepStrictEqual(old, now)) continue;
    const action = old === undefined ? 'created' : now === undefined ? 'deleted' : 'changed';
    changes.push({ field, action, before: bounded(old?.value), after: bounded(now?.value) });
  }
  return changes;
}

/** Returns the change of a secret, whose value may not be shown. */
export function secretChange(field: string, action: Change['action']): Change {
  return {
    field,
    action,
    before: action === 'created' ? null : mask,
    after: action === 'deleted' ? null : mask,
  };
}

/** A value, and the name under which its change is shown. */
type Leaf = { field: string; value: unknown };

/**
 * Returns the values by their JSON paths: names may contain dots, so `a.b` and `b` inside `a` are
 * shown under the same name.
 */
function flat(
  record: Fields,
  left_out: readonly string[],
  way: readonly string[] = [],
): Map<string, Leaf> {
  const leaves = new Map<string, Leaf>();
  for (const [name, value] of Object.entries(record)) {
    if (way.length === 0 && left_out.includes(name)) continue;
    const path = [...way, name];
    if (isFields(value) && Object.keys(value).length > 0)
      for (const [inner, leaf] of flat(value, [], path)) leaves.set(inner, leaf);
    else leaves.set(JSON.stringify(path), { field: path.join('.'), value });
  }
  return leaves;
}

function bounded(value: unknown): unknown {
  if (value === undefined) return null;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  // The cut may split a surrogate pair, and half a pair is invalid text.
  return text.length <= value_length_max
    ? value
    : `${text.slice(0, value_length_max).toWellFormed()}…`;
}
