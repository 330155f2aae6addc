import type { Readable } from 'node:stream';
import { rowError } from '../../model/destination/errors.ts';
import type { NonRetryableError } from '../../model/destination/errors.ts';
import type { Column } from '../../model/models/column.ts';
import { columnList, quoted } from '../sql_tables/layout.ts';
import { fieldText, linesOf } from '../sql_tables/tab_separated.ts';
import { varchar_bytes_max } from './table.ts';

/** The values of one row as texts that Redshift reads, and their total bytes. */
export type Row = { values: (string | null)[]; size_bytes: number };

/** An INSERT of many rows with its parameters. */
export type Insert = { text: string; values: (string | null)[]; records: number };

/** Limit of a row: its largest number of bytes, and a sentence for a larger one. */
export type RowLimit = { bytes: number; advice: string };

const floats: Record<string, string> = { inf: 'Infinity', '-inf': '-Infinity', nan: 'NaN' };

/**
 * Yields the rows of ClickHouse's tab-separated text, in the memory of one. Rejects with the error
 * of the stream; with NonRetryableError `value_refused` for a text that no VARCHAR can store, and
 * `limit_exceeded` for a row beyond the limit. Nothing is cut.
 */
export async function* rowsOf(
  columns: Column[],
  supers: ReadonlySet<string>,
  bytes: Readable,
  limit: RowLimit,
): AsyncGenerator<Row> {
  for await (const line of linesOf(bytes)) {
    const values = line.split('\t').map((field, index) => valueOf(columns[index]?.type, field));
    let size_bytes = 0;
    for (const [index, value] of values.entries()) {
      const size = value === null ? 0 : Buffer.byteLength(value);
      const column = columns[index];
      if (size > varchar_bytes_max && column !== undefined && !supers.has(column.name))
        throw tooLong(column, size);
      size_bytes += size;
    }
    if (size_bytes > limit.bytes)
      throw rowError(
        'limit_exceeded',
        `A row of ${size_bytes} bytes is larger than Redshift takes. ${limit.advice}`,
      );
    yield { values, size_bytes };
  }
}

function tooLong({ name, type }: Column, size: number): NonRetryableError {
  const advice =
    type === 'json'
      ? 'Export to a table where this column is SUPER (properties_data_type super), or leave ' +
        'such events out at their source.'
      : 'Leave such events out at their source, or shorten the value in a custom query.';
  return rowError(
    'value_refused',
    `A value of the column ${name} has ${size} bytes, and a VARCHAR holds ` +
      `${varchar_bytes_max}. ${advice}`,
  );
}

function valueOf(type: Column['type'] | undefined, field: string): string | null {
  const text = fieldText(field);
  if (text === null) return null;
  if (type === 'timestamp') return text.replace('T', ' ').replace('Z', '+00');
  return type === 'float' ? (floats[text] ?? text) : text;
}

/** A statement may have 32,767 parameters. */
const parameters_max = 32_767;
/** Larger statements are not faster. */
const statement_bytes = 4_000_000;

/**
 * The target of rows: a table, its columns, those with SUPER values, and a further column with one
 * number for all rows.
 */
export type InsertTarget = {
  table: string;
  columns: Column[];
  supers: ReadonlySet<string>;
  write?: { column: string; number: number };
};

/**
 * Yields rows as INSERTs into a table, in order; each has at least one row and stays within the
 * statement's limits of parameters and bytes. The server parses JSON for SUPER columns.
 */
export async function* insertsOf(
  { table, columns, supers, write }: InsertTarget,
  rows: AsyncIterable<Row>,
): AsyncGenerator<Insert> {
  const rows_max = Math.floor(parameters_max / columns.length);
  const list =
    write === undefined ? columnList(columns) : `${write.column}, ${columnList(columns)}`;
  const first = write === undefined ? '' : `${write.number}, `;
  let held: Row[] = [];
  let held_bytes = 0;
  const take = (): Insert => {
    const tuples = held.map(
      (_, row) => `(${first}${slotsOf(columns, supers, row * columns.length)})`,
    );
    const insert = {
      text: `INSERT INTO ${table} (${list}) VALUES ${tuples.join(', ')}`,
      values: held.flatMap(({ values }) => values),
      records: held.length,
    };
    held = [];
    held_bytes = 0;
    return insert;
  };
  for await (const row of rows) {
    if (
      held.length > 0 &&
      (held.length === rows_max || held_bytes + row.size_bytes > statement_bytes)
    )
      yield take();
    held.push(row);
    held_bytes += row.size_bytes;
  }
  if (held.length > 0) yield take();
}

function slotsOf(columns: Column[], supers: ReadonlySet<string>, from: number): string {
  return columns
    .map(({ name }, index) =>
      supers.has(name) ? `JSON_PARSE($${from + index + 1})` : `$${from + index + 1}`,
    )
    .join(', ');
}

/**
 * Returns a row as a line of CSV: every value in quotes, null as the unquoted marker, so that no
 * value can look like it.
 */
export function csvLine({ values }: Row, null_marker: string): string {
  return `${values.map((value) => (value === null ? null_marker : quoted(value))).join(',')}\n`;
}
