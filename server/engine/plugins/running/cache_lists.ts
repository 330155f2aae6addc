import { PluginError } from '../plugin.ts';

const list_length_max = 1_000;
/** The same limit as for other values: a list is read and written as a whole. */
const list_characters_max = 1_000_000;

/** Returns the list of a value; empty without a value. Throws a PluginError for any other value. */
export function listOf(value: unknown): unknown[] {
  if (value === undefined) return [];
  if (!Array.isArray(value))
    throw new PluginError('invalid', 'The value is not a list: it was written with set or incr.');
  return value as unknown[];
}

/** Returns the first items, as many as a list may hold. */
export function firstOf(list: unknown[]): unknown[] {
  let characters = 0;
  const end = list.findIndex((item, index) => {
    characters += JSON.stringify(item).length + 1;
    return index >= list_length_max || characters > list_characters_max;
  });
  return end < 0 ? list : list.slice(0, end);
}

/**
 * Returns the items from the first to the last position, both included; negative ones count from
 * the end.
 */
export function part(list: unknown[], first: number, last: number): unknown[] {
  const place = (index: number) => (index < 0 ? list.length + index : index);
  return list.slice(Math.max(place(first), 0), Math.max(place(last) + 1, 0));
}

/**
 * Removes the first `count` items that equal the value; a negative count starts at the end, 0
 * removes all.
 */
export function removeFrom(
  list: unknown[],
  count: number,
  value: unknown,
): { list: unknown[]; result: number } {
  const wanted = JSON.stringify(value);
  const places = list.flatMap((item, index) => (JSON.stringify(item) === wanted ? [index] : []));
  const gone = new Set(
    count === 0 ? places : count > 0 ? places.slice(0, count) : places.slice(count),
  );
  return { list: list.filter((_item, index) => !gone.has(index)), result: gone.size };
}
