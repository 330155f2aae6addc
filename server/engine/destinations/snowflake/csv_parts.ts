import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { rowError } from '../../model/destination/errors.ts';
import type { Column } from '../../model/models/column.ts';
import { fieldText, linesOf } from '../sql_tables/tab_separated.ts';

/**
 * A VARCHAR and a VARIANT of a table have this limit by default; Snowflake refuses a longer value
 * too, but only after the upload.
 */
const value_bytes_max = 16_777_216;
/** Before compression; a part has at least one row. Larger files load no faster. */
const part_characters = 16_000_000;

const compress = promisify(gzip);

/**
 * Converts ClickHouse's tab-separated text into CSV files, compressed with gzip, in order and in
 * the memory of one. Every value is quoted, null is an empty field, and each row begins with its
 * number from 1 on, so no row is an empty line. Rejects with the error of the stream, and with
 * NonRetryableError `limit_exceeded` for a value of more than 16 MB.
 */
export async function* csvParts(columns: Column[], bytes: Readable): AsyncGenerator<Uint8Array> {
  let rows: string[] = [];
  let held = 0;
  let records = 0;
  for await (const line of linesOf(bytes)) {
    const row = `${(records += 1)},${line
      .split('\t')
      .map((field, index) => csvField(fieldText(field), columns[index]))
      .join(',')}\n`;
    rows.push(row);
    held += row.length;
    if (held < part_characters) continue;
    yield await partOf(rows);
    rows = [];
    held = 0;
  }
  if (rows.length > 0) yield await partOf(rows);
}

/** The bytes have their own memory, so that they can be transferred. */
async function partOf(rows: string[]): Promise<Uint8Array> {
  return Uint8Array.from(await compress(rows.join('')));
}

function csvField(text: string | null, column: Column | undefined): string {
  if (text === null) return '';
  // A character has at most three bytes for each of its code units.
  if (text.length * 3 > value_bytes_max && Buffer.byteLength(text) > value_bytes_max) {
    throw rowError(
      'limit_exceeded',
      `A value of the column ${column?.name ?? ''} has ${Buffer.byteLength(text)} bytes, and ` +
        `Snowflake takes ${value_bytes_max}. Leave such events out at their source, or export ` +
        'to files.',
    );
  }
  if (column?.type === 'timestamp') return `"${text.replace('T', ' ').replace('Z', '')}"`;
  // With many quotes, a replacement takes four times as long, in JSON a seventh more.
  return `"${text.split('"').join('""')}"`;
}
