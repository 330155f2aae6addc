import { isUtf8 } from 'node:buffer';
import { line_bytes_max } from '../../engine/ingest/parse/lines.ts';
import type { Line } from '../../engine/ingest/parse/lines.ts';

const [quote, backslash, comma, openBrace, closeBrace, openBracket, closeBracket] = [
  0x22, 0x5c, 0x2c, 0x7b, 0x7d, 0x5b, 0x5d,
];

/** The bytes end before the array does, so a part is missing. */
export class CutOffArray extends Error {}

/**
 * Cuts one JSON array of any size into its items, numbered from 1, with memory bounded by one item
 * and one chunk. It only finds where items end; the reader of an item reports its faults. Throws
 * CutOffArray if the array has no end.
 */
export async function* readArrayItems(source: AsyncIterable<Buffer>): AsyncGenerator<Line[]> {
  let depth = 0;
  let inText = false;
  let isEscaped = false;
  let number = 0;
  let carried: Buffer[] = [];
  let carriedBytes = 0;
  for await (const chunk of source) {
    const items: Line[] = [];
    let from = depth > 0 ? 0 : -1;
    const finish = (end: number) => {
      const tail = chunk.subarray(Math.max(from, 0), end);
      const item =
        carriedBytes + tail.length > line_bytes_max
          ? 'too_long'
          : Buffer.concat([...carried, tail]);
      carried = [];
      carriedBytes = 0;
      if (Buffer.isBuffer(item) && isBlank(item)) return;
      number += 1;
      items.push(item === 'too_long' ? { number, problem: item } : toItem(number, item));
    };
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at];
      if (inText) {
        if (isEscaped) isEscaped = false;
        else if (byte === backslash) isEscaped = true;
        else if (byte === quote) inText = false;
      } else if (byte === quote) inText = true;
      else if (byte === openBrace || byte === openBracket) {
        depth += 1;
        if (depth === 1) from = at + 1;
      } else if (byte === closeBrace || byte === closeBracket) {
        depth -= 1;
        if (depth === 0) finish(at);
      } else if (byte === comma && depth === 1) {
        finish(at);
        from = at + 1;
      }
    }
    if (depth > 0) {
      const rest = chunk.subarray(Math.max(from, 0));
      if (carriedBytes <= line_bytes_max) carried.push(rest);
      carriedBytes += rest.length;
    }
    if (items.length > 0) yield items;
  }
  if (depth > 0) throw new CutOffArray();
}

/** Returns true for the blank content of an empty array. */
function isBlank(bytes: Buffer): boolean {
  return bytes.length < 1_000 && bytes.toString('utf8').trim() === '';
}

function toItem(number: number, bytes: Buffer): Line {
  return isUtf8(bytes)
    ? { number, text: bytes.toString('utf8').trim() }
    : { number, problem: 'not_utf8' };
}
