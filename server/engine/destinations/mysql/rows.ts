import { StringDecoder } from 'node:string_decoder';
import type { Readable } from 'node:stream';
import { NonRetryableError } from '../../destination.ts';
import type { Column } from '../../models/column.ts';

/** Rows as the text between `VALUES` and the end of an INSERT, and how many they are. */
export type ValueList = { text: string; records: number };

/** What a list of values may be: bytes of the text, and the most that one row may have. */
export type ValueLimits = { bytes: number; row_bytes: number };

const unescapes: Record<string, string> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', '0': '\0' };

/**
 * Turns ClickHouse's tab-separated text into lists of values, in order; each holds one row at least and no more bytes than the limit unless it holds one row alone. Memory is that of
 * one list. Rejects with the error of the stream, and with NonRetryableError `limit_exceeded` for a row that the server could not take.
 */
export async function* valueLists(columns: Column[], bytes: Readable, escape: (value: string) => string, limits: ValueLimits): AsyncGenerator<ValueList> {
  let rows: string[] = [];
  let held = 0;
  for await (const line of linesOf(bytes)) {
    const row = `(${line
      .split('\t')
      .map((field, index) => valueOf(columns[index]?.type, field, escape))
      .join(',')})`;
    const size = Buffer.byteLength(row) + 1;
    if (size > limits.row_bytes) {
      throw new NonRetryableError(
        'limit_exceeded',
        `A row of ${size} bytes is larger than the server takes (max_allowed_packet). Raise that on the server, or leave such events out at their source.`,
      );
    }
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

async function* linesOf(bytes: Readable): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8');
  let begun: string[] = [];
  for await (const chunk of bytes as AsyncIterable<Buffer>) {
    const text = decoder.write(chunk);
    let from = 0;
    for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', from)) {
      yield begun.join('') + text.slice(from, at);
      begun = [];
      from = at + 1;
    }
    if (from < text.length) begun.push(text.slice(from));
  }
  if (begun.length > 0) throw new Error('The source ended in the middle of a line.');
}

function valueOf(type: Column['type'] | undefined, field: string, escape: (value: string) => string): string {
  if (field === '\\N') return 'NULL';
  switch (type) {
    case 'boolean':
      return field === 'true' ? '1' : '0';
    case 'float':
      // MySQL has neither infinity nor not-a-number.
      return /^-?(inf|nan)$/i.test(field) ? 'NULL' : escape(field);
    case 'timestamp':
      return escape(field.replace('T', ' ').replace('Z', ''));
    default:
      return escape(field.includes('\\') ? field.replaceAll(/\\(.)/gs, (_, character: string) => unescapes[character] ?? character) : field);
  }
}
