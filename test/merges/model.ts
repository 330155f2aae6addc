import type { Delivery } from '../../server/engine/model/destination/destination.ts';
import type { ValueRow } from '../../server/engine/model/destination/content_source.ts';
import type { Column } from '../../server/engine/model/models/column.ts';
import { persons as persons_model } from '../../server/engine/model/models/persons.ts';
import type { MergeKeys } from '../../server/engine/model/destination/write_mode.ts';

const column = (name: string, type: Column['type'], nullable = false): Column => ({
  name,
  type,
  nullable,
  expression: name,
  is_calculated: true,
});

/** The columns of the rows, which a query computes. */
export const columns: Column[] = [
  column('name', 'text', true),
  column('shop', 'text'),
  column('revision', 'integer', true),
  column('number', 'integer'),
  column('changed', 'timestamp', true),
  column('total', 'float', true),
  column('properties', 'json'),
  column('is_deleted', 'boolean'),
];

/** A table into which rows are merged: its description in deliveries, and its rule. */
export type MergedTable = {
  layout: Pick<Delivery, 'model' | 'columns' | 'merge'>;
  rule: MergeKeys;
};

const queried = (rule: MergeKeys): MergedTable => ({
  layout: { model: 'events', columns, merge: rule },
  rule,
});

const versions = ['changed', 'revision'];

/** A query's rows, by two columns and two versions. */
export const orders = queried({ key: ['shop', 'number'], versions });

/** The same rows after a change of the key, which makes several former keys one. */
export const orders_by_number = queried({ key: ['number'], versions });

/** The model of persons, whose rule follows from its columns. */
export const persons: MergedTable = {
  layout: { model: 'persons', columns: persons_model.columns.tables },
  rule: {
    key: ['team_id', 'distinct_id'],
    versions: ['person_version', 'person_distinct_id_version'],
  },
};

/** Returns the value of a column in the rows of a table. */
function valueIn({ layout }: MergedTable, row: ValueRow, name: string): string | null {
  return row[layout.columns.findIndex((one) => one.name === name)] ?? null;
}

/** Returns the key of a row as one text. */
export function keyOf(table: MergedTable, row: ValueRow): string {
  return JSON.stringify(table.rule.key.map((name) => valueIn(table, row, name)));
}

/**
 * Returns true if the first row's version is greater. The first differing one decides; null is
 * least.
 */
function isGreater(table: MergedTable, one: ValueRow, other: ValueRow): boolean {
  for (const name of table.rule.versions) {
    const [first, second] = [valueIn(table, one, name), valueIn(table, other, name)];
    if (first === second) continue;
    if (first === null || second === null) return second === null;
    const { type } = table.layout.columns.find((found) => found.name === name)!;
    return type === 'integer' ? BigInt(first) > BigInt(second) : first > second;
  }
  return false;
}

/**
 * Returns the rows with the greatest version of each key, whatever the order of their deliveries.
 */
export function greatest(table: MergedTable, rows: ValueRow[]): Map<string, ValueRow[]> {
  const left = new Map<string, ValueRow[]>();
  for (const row of rows) {
    const known = left.get(keyOf(table, row)) ?? [];
    if (known.length > 0 && isGreater(table, known[0]!, row)) continue;
    const isAlone = known.length === 0 || isGreater(table, row, known[0]!);
    left.set(keyOf(table, row), isAlone ? [row] : [...known, row]);
  }
  return left;
}
