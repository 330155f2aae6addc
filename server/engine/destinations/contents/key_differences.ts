import { stranger_detail } from '../../model/destination/difference.ts';
import type { Difference } from '../../model/destination/difference.ts';
import type { ValueRow } from '../../model/destination/content_source.ts';
import type { Column } from '../../model/models/column.ts';

/** A row in canonical texts, and its identity. */
export type RowTexts = { key: string; values: ValueRow };

/** The place of a comparison, as `compareRows` gets it. */
type Place = {
  name: string;
  columns: Pick<Column, 'name' | 'type'>[];
  key: readonly string[];
  is_shared: boolean;
};

const shown_characters = 80;
/**
 * Number of rows with one key that are paired by their likeness; further rows are paired in order.
 */
const paired_max = 32;

/**
 * Lists the differences between the rows of one key. There is one for each column of each row with
 * other values, and one for rows that occur too often or not often enough.
 */
export function differencesOfKey(
  place: Place,
  expected: RowTexts[],
  found: RowTexts[],
): Difference[] {
  const left = [...found];
  const unmatched = expected.filter(({ values }) => {
    const at = left.findIndex((other) => isSame(values, other.values));
    if (at !== -1) left.splice(at, 1);
    return at === -1;
  });
  if (place.key.length === 0) return keylessDifferences(place, unmatched, left);
  const key = expected[0]?.key ?? found[0]?.key ?? '';
  const name = `${place.name} ${place.key.join(', ')}=${shown(key, 0)}`;
  const differences: Difference[] = [];
  while (unmatched.length > 0 && left.length > 0) {
    const { values } = unmatched.shift()!;
    const other = left.splice(likest(values, left), 1)[0]!;
    differences.push(...columnDifferences(place, name, values, other.values));
  }
  if (unmatched.length + left.length > 0)
    differences.push(...countDifferences(place, name, expected.length, found.length));
  return differences.map((difference) => ({ ...difference, key }));
}

function countDifferences(
  place: Place,
  name: string,
  expected: number,
  found: number,
): Difference[] {
  if (expected === 0)
    return place.is_shared ? [] : [{ kind: 'added', name, detail: stranger_detail }];
  if (found === 0) return [{ kind: 'missing', name, detail: 'The row is gone.' }];
  return [
    {
      kind: found < expected ? 'missing' : 'changed',
      name,
      detail: `It was delivered ${expected} times and occurs ${found} times.`,
      ...(found < expected ? {} : { about: 'repetition' as const }),
    },
  ];
}

/** Rows without a key show all their values. */
function keylessDifferences(
  { name, columns }: Place,
  expected: RowTexts[],
  found: RowTexts[],
): Difference[] {
  const text = ({ values }: RowTexts) =>
    columns.map((column, index) => `${column.name}=${shown(values[index] ?? null, 0)}`).join(', ');
  return [
    ...expected.map((row) => ({
      kind: 'missing' as const,
      name,
      detail: `A delivered row is missing: ${text(row)}.`,
    })),
    ...found.map((row) => ({
      kind: 'added' as const,
      name,
      detail: `No delivery holds this row: ${text(row)}.`,
    })),
  ];
}

function columnDifferences(
  { columns }: Place,
  name: string,
  expected: ValueRow,
  found: ValueRow,
): Difference[] {
  return columns.flatMap((column, index) => {
    const was = expected[index] ?? null;
    const is = found[index] ?? null;
    if (was === is) return [];
    const from = firstDifference(was ?? '', is ?? '');
    const [given, there] = [shown(was, from), shown(is, from)];
    return [
      {
        kind: 'changed' as const,
        name,
        column: column.name,
        expected: given,
        found: there,
        detail: `The column ${column.name} was delivered as ${given} and is ${there}.`,
      },
    ];
  });
}

/** Returns a value around its first difference, escaped but for quotes, clipped on both sides. */
function shown(value: string | null, from: number): string {
  if (value === null) return 'null';
  const start = from < shown_characters / 2 ? 0 : from - shown_characters / 4;
  const part = value.slice(start, start + shown_characters).toWellFormed();
  const [before, after] = [
    start > 0 ? '…' : '',
    start + shown_characters < value.length ? '…' : '',
  ];
  const text = JSON.stringify(part).slice(1, -1).replaceAll('\\"', '"');
  return `${before}${text}${after}`;
}

function firstDifference(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  return at;
}

function isSame(one: ValueRow, other: ValueRow): boolean {
  return one.every((value, index) => value === other[index]);
}

function likest(values: ValueRow, others: RowTexts[]): number {
  const likeness = others
    .slice(0, paired_max)
    .map((other) => other.values.filter((value, index) => value === values[index]).length);
  return likeness.indexOf(Math.max(...likeness));
}
