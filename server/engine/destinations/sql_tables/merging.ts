import type { MergeKeys } from '../../model/destination/write_mode.ts';
import { NonRetryableError } from '../../model/destination/errors.ts';
import type { FoundColumn } from './fitting.ts';
import { mergeOf } from './layout.ts';
import type { Layout } from './layout.ts';

/** Returns SQL for a column of the new row, and of the existing one with its key. */
export type Rivals = {
  came(name: string): string;
  there(name: string): string;
  /**
   * Returns SQL for one value of all values that are neither key nor version. Of two rows with
   * equal versions, the one with the greater value wins, so the order of deliveries does not
   * matter.
   */
  tie(names: string[], value: (name: string) => string): string;
  /** The operator that compares such values, by default `>`. */
  greater?: string;
};

/** A database's SQL to merge staged rows into a table. */
export type Merge = {
  key: string[];
  /** The columns that are neither key nor version. */
  others: string[];
  /** The columns besides the key, which an update sets. */
  changed: string[];
  /** ORDER BY list that sorts the greatest row of a key first. */
  order: string;
  /** True if the new row replaces the existing one. */
  newer: string;
};

/**
 * Returns how rows are merged, or undefined if they are appended. `descending` returns a column as
 * a part of an ORDER BY list, with NULL last.
 */
export function mergeWords(
  layout: Layout,
  { came, there, tie, greater }: Rivals,
  quoted: (name: string) => string,
  descending = (name: string) => `${name} DESC NULLS LAST`,
): Merge | undefined {
  const merge = mergeOf(layout);
  if (merge === undefined) return undefined;
  const names = layout.columns.map(({ name }) => name);
  const key = names.filter((name) => merge.key.includes(name));
  const changed = names.filter((name) => !key.includes(name));
  const others = changed.filter((name) => !merge.versions.includes(name));
  const last = (value: (name: string) => string) => tie(others, value);
  const isGreater =
    others.length === 0 ? '1 = 0' : `${last(came)} ${greater ?? '>'} ${last(there)}`;
  const order = [
    ...merge.versions.map((name) => descending(quoted(name))),
    ...(others.length === 0
      ? []
      : [`${last(quoted)} ${greater === undefined ? 'DESC' : `USING ${greater}`}`]),
  ];
  return {
    key,
    changed,
    others,
    order: (order.length === 0 ? key.map(quoted) : order).join(', '),
    newer: newerCondition(merge, { came, there }, isGreater),
  };
}

/**
 * Returns the condition under which a new row replaces the existing one: its versions are greater,
 * the first difference decides, and NULL is lower than any value. `isGreater` decides between rows
 * of equal versions. Without versions the later delivery wins, as for persons whose versions a
 * query omits.
 */
export function newerCondition(
  { versions }: Pick<MergeKeys, 'versions'>,
  { came, there }: Pick<Rivals, 'came' | 'there'>,
  isGreater: string,
): string {
  if (versions.length === 0) return '1 = 1';
  return versions.reduceRight((later, name) => {
    const [one, other] = [came(name), there(name)];
    const isHigher = `${one} > ${other} OR (${other} IS NULL AND ${one} IS NOT NULL)`;
    const isSame = `${one} = ${other} OR (${other} IS NULL AND ${one} IS NULL)`;
    return `${isHigher} OR ((${isSame}) AND (${later}))`;
  }, isGreater);
}

/** Returns the columns of the key that the rows of the export may lack. */
export function nullableKeys(layout: Layout): string[] {
  const key = mergeOf(layout)?.key ?? [];
  return layout.columns
    .filter(({ name, nullable }) => nullable && key.includes(name))
    .map(({ name }) => name);
}

/**
 * Refuses a table whose key columns allow NULL if the export may send one: such rows would equal no
 * other row, and each delivery would add them again.
 */
export function requireFilledKeys(table: string, layout: Layout, found: FoundColumn[]): void {
  const open = nullableKeys(layout).filter((name) =>
    found.some(
      (column) => column.name.toLowerCase() === name.toLowerCase() && column.takes_no_null !== true,
    ),
  );
  if (open.length === 0) return;
  throw new NonRetryableError(
    'table_unsuitable',
    `Rows are merged by ${listed(open)}, but in the table ${table} these columns take NULL. Make ` +
      'them NOT NULL, or export to another table.',
  );
}

/** Formats the names of a key for users. */
export function listed(names: readonly string[]): string {
  return `(${names.join(', ')})`;
}
