import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { HttpConfig } from './config.ts';

/** The body of one request before compression; `digest` is a hash of its rows alone. */
export type Body = { records: number; bytes: Buffer; digest: string };

type Envelope = { start: string; separator: string; end: string; content_type: string };

const line_feed = 0x0a;
const megabyte = 1_000_000;

/** How rows are put together, and the Content-Type of that. */
export function envelopeOf(config: HttpConfig): Envelope {
  switch (config.body_format ?? 'JSONLines') {
    case 'JSONLines':
      return { start: '', separator: '\n', end: '\n', content_type: 'application/x-ndjson' };
    case 'JSONArray':
      return { start: '[', separator: ',', end: ']', content_type: 'application/json' };
    case 'Batch':
      return {
        start:
          `{"api_key":${JSON.stringify(config.token ?? '')},` +
          '"historical_migration":true,"batch":[',
        separator: ',',
        end: ']}',
        content_type: 'application/json',
      };
  }
}

/** A body that holds these rows, each without its line end. */
export function bodyOf(config: HttpConfig, rows: Buffer[]): Body {
  const { start, separator, end } = envelopeOf(config);
  const hash = createHash('sha256');
  const parts: Buffer[] = [Buffer.from(start)];
  for (const [index, row] of rows.entries()) {
    if (index > 0) parts.push(Buffer.from(separator));
    parts.push(row);
    hash.update(row).update('\n');
  }
  if (rows.length > 0 || start !== '') parts.push(Buffer.from(end));
  return {
    records: rows.length,
    bytes: Buffer.concat(parts),
    digest: hash.digest('hex').slice(0, 16),
  };
}

/**
 * Cuts a slice's JSON lines into bodies, in order. The same lines and config give the same bodies,
 * and none is empty. Holds one body and one line in memory. Rejects with the error of the stream;
 * what was not yet given then is dropped.
 */
export async function* bodiesOf(config: HttpConfig, lines: Readable): AsyncGenerator<Body> {
  const records_max = config.max_request_records ?? 5_000;
  const bytes_max = (config.max_request_size_mb ?? 10) * megabyte;
  const { start, separator, end } = envelopeOf(config);
  const empty_bytes = Buffer.byteLength(start) + Buffer.byteLength(end);
  let rows: Buffer[] = [];
  let bytes = empty_bytes;
  for await (const row of rowsOf(lines)) {
    if (
      rows.length > 0 &&
      (rows.length === records_max || bytes + separator.length + row.length > bytes_max)
    ) {
      yield bodyOf(config, rows);
      rows = [];
      bytes = empty_bytes;
    }
    bytes += row.length + (rows.length === 0 ? 0 : separator.length);
    rows.push(row);
  }
  if (rows.length > 0) yield bodyOf(config, rows);
}

async function* rowsOf(lines: Readable): AsyncGenerator<Buffer> {
  let begun: Buffer[] = [];
  for await (const chunk of lines as AsyncIterable<Buffer>) {
    let from = 0;
    for (let at = chunk.indexOf(line_feed); at !== -1; at = chunk.indexOf(line_feed, from)) {
      yield Buffer.concat([...begun, chunk.subarray(from, at)]);
      begun = [];
      from = at + 1;
    }
    if (from < chunk.length) begun.push(chunk.subarray(from));
  }
  if (begun.length > 0) throw new Error('The source ended in the middle of a line.');
}
