import type { MergeKeys } from '../../model/destination/write_mode.ts';
import { NonRetryableError } from '../../model/destination/errors.ts';
import type { FoundColumn } from './fitting.ts';
import { mergeOf } from './layout.ts';
import type { Layout } from './layout.ts';

/** SQL for a column of the row that came, and of the one that is there with its key. */
export type Rivals = {
  came(name: string): string;
  there(name: string): string;
  /**
   * SQL that makes one value of all values that are neither key nor version. Of two rows with equal
   * versions the one with the greater value stays, so the order of deliveries does not matter.
   */
  tie(names: string[], value: (name: string) => string): string;
  /** The operator that compares such values, `>` if left out. */
  greater?: string;
};

/** The words of one database with which staged rows become rows of a table. */
export type Merge = {
  key: string[];
  /** The columns that are neither key nor version. */
  others: string[];
  /** The columns beside the key, which an update sets. */
  changed: string[];
  /** ORDER BY list that puts the greatest row of a key first. */
  order: string;
  /** Holds where the row that came takes the place of the one that is there. */
  newer: string;
};

/**
 * Returns how rows are merged, or undefined if they are appended. `descending` names a column as a
 * part of an ORDER BY list, with NULL last.
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
 * The condition under which a row that came takes the place of the one that is there: its versions
 * are greater, the first one that differs decides, and NULL is lower than any. Rows of equal
 * versions are left to `isGreater`. Without versions the later delivery wins, as it does for
 * persons whose versions a query leaves out.
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

/** The columns of the key that the rows of the export may lack. */
export function nullableKeys(layout: Layout): string[] {
  const key = mergeOf(layout)?.key ?? [];
  return layout.columns
    .filter(({ name, nullable }) => nullable && key.includes(name))
    .map(({ name }) => name);
}

/**
 * Refuses a table whose key columns take NULL where the export may bring one: such rows would equal
 * no other row, and each delivery would add them again.
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

/** The names of a key as texts for users show them. */
export function listed(names: readonly string[]): string {
  return `(${names.join(', ')})`;
}
