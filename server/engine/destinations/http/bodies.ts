import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { giveBack } from '../../../platform/memory/buffer_pool.ts';
import { openMinorCollection } from '../../../platform/memory/minor_collection.ts';
import type { HttpConfig } from './config.ts';

/** The body of one request before compression; `digest` is a hash of its rows only. */
export type Body = { records: number; bytes: Buffer; digest: string };

type Envelope = { start: string; separator: string; end: string; content_type: string };

const line_feed = 0x0a;
const megabyte = 1_000_000;

/** Returns the frame around rows, and its Content-Type. */
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

/** Returns a body with these rows, each without its line end. */
export function bodyOf(config: HttpConfig, rows: Buffer[]): Body {
  const line_end = Buffer.from([line_feed]);
  return bodyOfLines(config, Buffer.concat(rows.flatMap((row) => [row, line_end])), rows.length);
}

/** Returns a body of whole lines, which it may keep and change. */
function bodyOfLines(config: HttpConfig, lines: Buffer, records: number): Body {
  const { start, separator, end } = envelopeOf(config);
  const digest = createHash('sha256').update(lines).digest('hex').slice(0, 16);
  if (records === 0)
    return { records, bytes: Buffer.from(start === '' ? '' : start + end), digest };
  // The lines are already the body if the format separates and ends its rows like them.
  if (start === '' && separator === '\n' && end === '\n') return { records, bytes: lines, digest };
  const mark = separator.charCodeAt(0);
  for (let at = lines.indexOf(line_feed); at !== -1; at = lines.indexOf(line_feed, at + 1))
    lines[at] = mark;
  const bytes = Buffer.concat([Buffer.from(start), lines.subarray(0, -1), Buffer.from(end)]);
  return { records, bytes, digest };
}

/**
 * Cuts a slice's JSON lines into bodies, in order. The same lines and config give the same bodies,
 * and none is empty. Memory holds one body, one piece of the stream and one line; data is copied
 * once. Rejects with the error of the stream, and drops the rest.
 */
export async function* bodiesOf(config: HttpConfig, lines: Readable): AsyncGenerator<Body> {
  const records_max = config.max_request_records ?? 5_000;
  const bytes_max = (config.max_request_size_mb ?? 10) * megabyte;
  const { start, end } = envelopeOf(config);
  // One byte separates rows, as long as the line end of each; the last one is removed.
  const lines_max = bytes_max - Buffer.byteLength(start) - Buffer.byteLength(end) + 1;
  const noteGarbage = openMinorCollection();
  let held = openHeld(megabyte);
  let records = 0;
  /** Start of the body's next line in `held`. */
  let next = 0;
  for await (const chunk of lines as AsyncIterable<Buffer>) {
    let seen = held.length();
    held.add(chunk);
    giveBack(chunk);
    for (let at = held.lineEnd(seen); at !== -1; at = held.lineEnd(seen)) {
      seen = at + 1;
      if (records > 0 && (records === records_max || seen > lines_max)) {
        yield bodyOfLines(config, held.first(next), records);
        // The body may still be in use, so the rest moves to its own buffer.
        const rest = held.from(next);
        noteGarbage(held.size());
        held = openHeld(next + megabyte);
        held.add(rest);
        seen -= next;
        records = 0;
      }
      records += 1;
      next = seen;
    }
  }
  if (next < held.length()) throw new Error('The source ended in the middle of a line.');
  if (records > 0) yield bodyOfLines(config, held.first(next), records);
}

/** A growing buffer for consecutive pieces of bytes. */
function openHeld(size: number) {
  let place = Buffer.allocUnsafe(size);
  let length = 0;
  return {
    size: () => place.length,
    length: () => length,
    add: (piece: Buffer) => {
      if (length + piece.length > place.length) {
        const larger = Buffer.allocUnsafe(2 * (length + piece.length));
        place.copy(larger, 0, 0, length);
        place = larger;
      }
      length += piece.copy(place, length);
    },
    /** Returns the first line end from there on, or -1. */
    lineEnd: (from: number) => place.subarray(0, length).indexOf(line_feed, from),
    first: (count: number) => place.subarray(0, count),
    from: (at: number) => place.subarray(at, length),
  };
}
