import { createHash } from 'node:crypto';
import { readHeader, readLong } from './avro_header.ts';
import type { RecordCounter } from '../record_counter.ts';

const marker_bytes = 16;

/**
 * Counts the records of an Avro file from its block headers, in the memory of the first block. The
 * store chooses the marker between blocks at random. Here it becomes a hash of the first block, so
 * that the same rows give the same bytes, and a sender of rows cannot know the marker beforehand.
 */
export function openAvroFrames(): Required<RecordCounter> {
  let held: Buffer[] | undefined = [];
  let held_bytes = 0;
  let wanted = 0;
  let marker: Buffer = Buffer.alloc(0);
  const walk = openWalk();
  const begin = (bytes: Buffer, { header, marked }: Head): Buffer => {
    held = undefined;
    marker = createHash('sha256').update(marked).digest().subarray(0, marker_bytes);
    marker.copy(bytes, header - marker_bytes);
    walk.follow(bytes.subarray(header), marker);
    return bytes;
  };
  return {
    take: (chunk) => {
      if (held === undefined) {
        walk.follow(chunk, marker);
        return chunk;
      }
      held.push(chunk);
      held_bytes += chunk.length;
      if (held_bytes < wanted) return Buffer.alloc(0);
      const bytes = Buffer.concat(held);
      held = [bytes];
      const head = readHead(bytes);
      if ('header' in head && head.has_block) return begin(bytes, head);
      wanted = 'wanted' in head ? head.wanted : held_bytes + 1;
      return Buffer.alloc(0);
    },
    rest: () => {
      if (held === undefined) return Buffer.alloc(0);
      const bytes = Buffer.concat(held);
      const head = readHead(bytes);
      if (!('header' in head) || bytes.length > head.header) throw endsWithin();
      return begin(bytes, head);
    },
    total: () => {
      if (held !== undefined || !walk.isBetweenBlocks()) throw endsWithin();
      return walk.records();
    },
  };
}

function endsWithin(): Error {
  return new Error('The source ended in the middle of an Avro file.');
}

/** Follows count, length, data and marker of one block after the other, and writes the markers. */
function openWalk() {
  let part: 'count' | 'size' | 'data' | 'marker' = 'count';
  let left = 0;
  let value = 0;
  let factor = 1;
  let records = 0;
  const takeNumber = (byte: number): void => {
    value += (byte & 127) * factor;
    factor *= 128;
    if (byte >= 128) return;
    const number = value / 2;
    [value, factor] = [0, 1];
    if (part === 'count') {
      records += number;
      part = 'size';
    } else {
      part = number === 0 ? 'marker' : 'data';
      left = number === 0 ? marker_bytes : number;
    }
  };
  /** Consumes the chunk's part of the data or the marker; returns its end. */
  const pass = (chunk: Buffer, at: number, marker: Buffer): number => {
    const passed = Math.min(left, chunk.length - at);
    const from = marker_bytes - left;
    if (part === 'marker') marker.copy(chunk, at, from, from + passed);
    left -= passed;
    if (left === 0) [part, left] = part === 'data' ? ['marker', marker_bytes] : ['count', 0];
    return at + passed;
  };
  return {
    follow: (chunk: Buffer, marker: Buffer): void => {
      for (let at = 0; at < chunk.length;)
        if (part === 'count' || part === 'size') takeNumber(chunk[at++]!);
        else at = pass(chunk, at, marker);
    },
    isBetweenBlocks: () => part === 'count' && factor === 1,
    records: () => records,
  };
}

/** The length of the header, and the bytes from which the marker is computed. */
type Head = { header: number; marked: Buffer; has_block: boolean };

/** Returns the head of a file, or the least number of bytes that it needs. */
function readHead(bytes: Buffer): Head | { wanted: number } {
  const header = readHeader(bytes);
  if (header === undefined) return { wanted: bytes.length + 1 };
  const count = readLong(bytes, header.end);
  const size = count && readLong(bytes, count.end);
  if (size === undefined) {
    const marked = bytes.subarray(0, header.end - marker_bytes);
    return { header: header.end, marked, has_block: false };
  }
  const end = size.end + size.value;
  if (bytes.length < end + marker_bytes) return { wanted: end + marker_bytes };
  return { header: header.end, marked: bytes.subarray(size.end, end), has_block: true };
}
