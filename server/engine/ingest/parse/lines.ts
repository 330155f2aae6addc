import { isUtf8 } from 'node:buffer';

/**
 * One line of a text: its number from 1 and its text without the line end, or why it could not be
 * read.
 */
export type Line =
  | { number: number; text: string; bytes?: undefined; problem?: undefined }
  | { number: number; text?: undefined; bytes?: undefined; problem: 'too_long' | 'not_utf8' };

/** A long line: its original bytes, which may be blank or not UTF-8. */
export type LongLine = { number: number; text?: undefined; bytes: Buffer; problem?: undefined };

/** Longest line that is read, in bytes. */
export const line_bytes_max = 20 * 1024 * 1024;

const line_feed = 0x0a;
const byteOrderMark = '\uFEFF';
const markBytes = Buffer.from(byteOrderMark);

/**
 * Splits a stream of bytes into lines, one list per chunk, with memory for one line of `bytesMax`
 * and one chunk. Guarantees: every line that is not blank comes once, in order, with its number. A
 * longer line and one that is not UTF-8 become a problem, and reading continues after them. A line
 * of `longBytesMin` or more comes as bytes. Calls `hold` with the number of buffered bytes of an
 * unfinished line, and rethrows its error.
 */
export function readLines(source: AsyncIterable<Buffer>, bytesMax?: number): AsyncGenerator<Line[]>;
export function readLines(
  source: AsyncIterable<Buffer>,
  bytesMax: number,
  longBytesMin: number,
  hold: (bytes: number) => void,
): AsyncGenerator<(Line | LongLine)[]>;
export async function* readLines(
  source: AsyncIterable<Buffer>,
  bytesMax: number = line_bytes_max,
  longBytesMin: number = Infinity,
  hold: (bytes: number) => void = () => {},
): AsyncGenerator<(Line | LongLine)[]> {
  let number = 1;
  let carried: Buffer[] = [];
  let carriedBytes = 0;
  let isSkipping = false;
  for await (const chunk of source) {
    const lines: (Line | LongLine)[] = [];
    let from = 0;
    for (let end = chunk.indexOf(line_feed); end !== -1; end = chunk.indexOf(line_feed, from)) {
      const tail = chunk.subarray(from, end);
      from = end + 1;
      // Empty lines are the shortest: a body that only has them must not cost more than others.
      if (tail.length === 0 && carriedBytes === 0) {
        number += 1;
        continue;
      }
      if (isSkipping || carriedBytes + tail.length > bytesMax)
        lines.push({ number, problem: 'too_long' });
      else
        pushLine(
          lines,
          number,
          carriedBytes === 0 ? tail : Buffer.concat([...carried, tail]),
          longBytesMin,
        );
      carried = [];
      carriedBytes = 0;
      isSkipping = false;
      number += 1;
    }
    const rest = chunk.subarray(from);
    carriedBytes += rest.length;
    if (carriedBytes > bytesMax) {
      isSkipping = true;
      carried = [];
    } else if (!isSkipping && rest.length > 0) carried.push(rest);
    if (lines.length > 0) yield lines;
    // Called after them, because their reader holds them until it asks for more.
    hold(isSkipping ? 0 : carriedBytes);
  }
  const last: (Line | LongLine)[] = [];
  if (isSkipping) last.push({ number, problem: 'too_long' });
  else if (carriedBytes > 0) pushLine(last, number, Buffer.concat(carried), longBytesMin);
  if (last.length > 0) yield last;
}

function pushLine(
  lines: (Line | LongLine)[],
  number: number,
  bytes: Buffer,
  longBytesMin: number,
): void {
  if (bytes.length >= longBytesMin) {
    const withoutMark = number === 1 && bytes.subarray(0, 3).equals(markBytes);
    lines.push({ number, bytes: withoutMark ? bytes.subarray(3) : bytes });
    return;
  }
  if (!isUtf8(bytes)) {
    lines.push({ number, problem: 'not_utf8' });
    return;
  }
  let text = bytes.toString('utf8');
  if (number === 1 && text.startsWith(byteOrderMark)) text = text.slice(1);
  if (text.trim() !== '') lines.push({ number, text });
}
