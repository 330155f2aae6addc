import type { ValueRow } from '../../server/engine/model/destination/content_source.ts';
import type { Column } from '../../server/engine/model/models/column.ts';
import type { MergePlace } from '../../test/merges/stores.ts';

/** A database with a large table into which rows are merged by `id` and `changed`. */
export type MergedPlace = {
  place: MergePlace;
  /** Fills the tables with this many rows, that of the product and those of the other ways. */
  fill(rows: number): Promise<void>;
  /** Hand-written ways to merge the same rows. */
  own: Record<string, ByHand>;
  /** Restores the same state before each measurement. */
  settle(): Promise<void>;
  /** Rows and bytes that the server wrote since its start. */
  written(): Promise<{ rows: number; bytes: number }>;
  /** Counts the rows of this version, in all tables. */
  count(changed: string): Promise<number>;
  close(): Promise<void>;
};

/**
 * Merges rows. The same rows are also given as tab-separated text, and as the bytes that ours gets.
 */
export type ByHand = (rows: ValueRow[], lines: string, bytes: Buffer) => Promise<void>;

const column = (name: string, type: Column['type']): Column => ({
  name,
  type,
  nullable: false,
  expression: name,
  is_calculated: true,
});

/** The columns of the table, about 140 bytes for a row. */
export const columns: Column[] = [
  column('id', 'integer'),
  column('name', 'text'),
  column('properties', 'json'),
  column('total', 'float'),
  column('changed', 'timestamp'),
  column('is_deleted', 'boolean'),
];

/** Their names, as an SQL list. */
export const list = columns.map(({ name }) => name).join(', ');

/** The columns that a newer row changes; the version is the last one. */
export const others = ['name', 'properties', 'total', 'is_deleted', 'changed'];

/** The version of the initial rows, lower than every other. */
export const first_version = '2026-01-01 00:00:00';

/** The properties of these rows, as an SQL literal. */
export const json = `'{"plan":"free","seats":25,"city":"Berlin","note":"a row like many others"}'`;

/** Returns a newer version of the rows with these keys. */
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
