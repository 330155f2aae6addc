import type { ValueRow } from '../../server/engine/model/destination/content_source.ts';
import type { Column } from '../../server/engine/model/models/column.ts';
import type { MergePlace } from '../../test/merges/stores.ts';

/** A database with a large table that rows are merged into by `id` and `changed`. */
export type MergedPlace = {
  place: MergePlace;
  /** Fills the table that the product has created with so many rows, and those beside it. */
  fill(rows: number): Promise<void>;
  /** Ways to merge the same rows by hand. */
  own: Record<string, ByHand>;
  /** Makes the state before a measurement the same for each way. */
  settle(): Promise<void>;
  /** Rows and bytes that the server has written since it started. */
  written(): Promise<{ rows: number; bytes: number }>;
  /** Counts the rows of this version, in the table and in those beside it. */
  count(changed: string): Promise<number>;
  close(): Promise<void>;
};

/** Merges rows, which are also given as tab-separated text, and as the bytes that ours gets. */
export type ByHand = (rows: ValueRow[], lines: string, bytes: Buffer) => Promise<void>;

const column = (name: string, type: Column['type']): Column => ({
  name,
  type,
  nullable: false,
  expression: name,
  is_calculated: true,
});

/** The columns of the table, some 140 bytes a row. */
export const columns: Column[] = [
  column('id', 'integer'),
  column('name', 'text'),
  column('properties', 'json'),
  column('total', 'float'),
  column('changed', 'timestamp'),
  column('is_deleted', 'boolean'),
];

/** Their names, as a list of SQL. */
export const list = columns.map(({ name }) => name).join(', ');

/** The names of those that a newer row changes; the version is the last of them. */
export const others = ['name', 'properties', 'total', 'is_deleted', 'changed'];

/** The version of the rows that fill the table, lower than every other. */
export const first_version = '2026-01-01 00:00:00';

/** The properties of these rows, as a literal of SQL. */
export const json = `'{"plan":"free","seats":25,"city":"Berlin","note":"a row like many others"}'`;

/** A newer version of the rows with these keys. */
export function rowsOf(keys: number[], changed: string): ValueRow[] {
  return keys.map((id) => [
    String(id),
    `another name of ${id}`,
    '{"plan":"pro","seats":26,"city":"Berlin","note":"a row like many others"}',
    '7.5',
    changed,
    'false',
  ]);
}
