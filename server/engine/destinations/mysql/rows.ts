import type { Readable } from 'node:stream';
import { giveBack } from '../../../platform/memory/buffer_pool.ts';
import { NonRetryableError } from '../../model/destination/errors.ts';
import type { Column } from '../../model/models/column.ts';
import { fieldText, lineBatches } from '../sql_tables/tab_separated.ts';

/** Rows as the text between `VALUES` and the end of an INSERT, and their number. */
export type ValueList = { text: string; records: number };

/** Limits of a list of values: bytes of the text, and of one row. */
export type ValueLimits = { bytes: number; row_bytes: number };

/**
 * The form of values: texts as literals, and the beginning of every row, which is SQL and ends with
 * a comma or is empty.
 */
export type ValueForm = { escape: (value: string) => string; before: string };

/**
 * Converts ClickHouse's tab-separated text into lists of values, in order. Each has at least one
 * row, and only a single row may exceed the limit of bytes. Memory holds one list. Rejects with the
 * error of the stream, and with NonRetryableError `limit_exceeded` for a row above the server's
 * limit.
 */
export async function* valueLists(
  columns: Column[],
  bytes: Readable,
  { escape, before }: ValueForm,
  limits: ValueLimits,
): AsyncGenerator<ValueList> {
  let rows: string[] = [];
  let held = 0;
  for await (const lines of lineBatches(bytes))
    for (const line of lines) {
      const values = line
        .split('\t')
        .map((field, index) => valueOf(columns[index]?.type, field, escape));
      const row = `(${before}${values.join(',')})`;
      const size = Buffer.byteLength(row) + 1;
      if (size > limits.row_bytes) throw tooLarge(size);
      if (rows.length > 0 && held + size > limits.bytes) {
        yield { text: rows.join(','), records: rows.length };
        rows = [];
        held = 0;
      }
      rows.push(row);
      held += size;
    }
  if (rows.length > 0) yield { text: rows.join(','), records: rows.length };
}

/**
 * Yields whole lines of the text in pieces of about this many bytes, in order. A longer line ends
 * its piece. Returns the text's own pieces to their pool.
 */
export async function* lineChunks(bytes: Readable, chunk_bytes: number): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let held = 0;
  for await (const chunk of bytes as AsyncIterable<Buffer>) {
    // A copy: the block of the chunk is reused.
    parts.push(Buffer.from(chunk));
    giveBack(chunk);
    held += chunk.length;
    if (held < chunk_bytes) continue;
    const text = Buffer.concat(parts, held);
    const end = text.lastIndexOf(line_end) + 1;
    if (end > 0) yield text.subarray(0, end);
    parts = [text.subarray(end)];
    held -= end;
  }
  if (held > 0) yield Buffer.concat(parts, held);
}

const line_end = 0x0a;

/** Counts the lines of the text. */
export function lineCount(text: Buffer): number {
  let lines = 0;
  for (let at = text.indexOf(line_end); at !== -1; at = text.indexOf(line_end, at + 1)) lines += 1;
  return lines;
}

/**
 * Returns true for the one escape that `LOAD DATA` reads as another character, that of a form feed.
 */
export function hasFormFeed(text: Buffer): boolean {
  for (let at = text.indexOf('\\f'); at !== -1; at = text.indexOf('\\f', at + 2)) {
    let from = at;
    while (text[from - 1] === backslash) from -= 1;
    // Backslashes before it escape each other in pairs, and an odd one escapes this one.
    if ((at - from) % 2 === 0) return true;
  }
  return false;
}

const backslash = 0x5c;

function tooLarge(size: number): NonRetryableError {
  return new NonRetryableError(
    'limit_exceeded',
    `A row of ${size} bytes is larger than the server takes (max_allowed_packet). Raise ` +
      'that on the server, or leave such events out at their source.',
  );
}

/**
 * Characters that a MySQL literal reads differently from our field: a quote, and a backslash before
 * any character except these, or at the end. All other text stays unchanged.
 */
const differs = /'|\\(?![bnrt0\\"])/;

function valueOf(
  type: Column['type'] | undefined,
  field: string,
  escape: (value: string) => string,
): string {
  if (field === '\\N') return 'NULL';
  switch (type) {
    case 'boolean':
      return field === 'true' || field === '1' ? '1' : '0';
    case 'float':
      // MySQL has neither infinity nor not-a-number.
      return /^-?(inf|nan)$/i.test(field) ? 'NULL' : escape(field);
    case 'timestamp':
      return escape(field.replace('T', ' ').replace('Z', ''));
    default:
      return differs.test(field) ? escape(fieldText(field)!) : `'${field}'`;
  }
}
