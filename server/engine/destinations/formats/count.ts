import { parquetMetadata } from 'hyparquet';
import { openAvroFrames } from './avro/avro_frames.ts';
import type { Encoding } from '../../model/destination/encoding.ts';
import type { RecordCounter } from './record_counter.ts';

const line_feed = 0x0a;
const quote = 0x22;
const parquet_magic = 'PAR1';
// A footer has about 200 bytes per column and row group, rarely more than a few percent of the
// file; with constant columns it may be a quarter. The buffer grows with the file up to 64 MiB,
// which is enough for billions of rows.
const footer_bytes = { least: 16 * 1024 * 1024, most: 64 * 1024 * 1024, share: 1 / 4 };
const tail_block_bytes = 1024 * 1024;

/** Returns the record counter of an encoding. */
export function counterOf(encoding: Encoding): RecordCounter {
  switch (encoding.format) {
    case 'JSONLines':
      return countLines(0);
    case 'TabSeparated':
      return countLines(encoding.has_names === true ? 1 : 0);
    case 'CSV':
      return countCsvRecords();
    case 'Parquet':
      return countParquetRows();
    case 'Avro':
      return openAvroFrames();
  }
}

/** The first `names` lines are no records. */
function countLines(names: number): RecordCounter {
  let lines = 0;
  let last = line_feed;
  return {
    take: (chunk) => {
      if (chunk.length === 0) return chunk;
      for (let at = chunk.indexOf(line_feed); at !== -1; at = chunk.indexOf(line_feed, at + 1))
        lines += 1;
      last = chunk[chunk.length - 1] ?? last;
      return chunk;
    },
    total: () => {
      if (last !== line_feed) throw new Error('The source ended in the middle of a line.');
      return Math.max(0, lines - names);
    },
  };
}

/**
 * Line ends inside quotes belong to a value; a doubled quote toggles the state twice. The first
 * record is the header.
 */
function countCsvRecords(): RecordCounter {
  let quoted = false;
  let lines = 0;
  let last = line_feed;
  return {
    take: (chunk) => {
      for (let at = 0; at < chunk.length; at += 1) {
        const byte = chunk[at];
        if (byte === quote) quoted = !quoted;
        else if (byte === line_feed && !quoted) lines += 1;
      }
      last = chunk[chunk.length - 1] ?? last;
      return chunk;
    },
    total: () => {
      if (quoted || last !== line_feed)
        throw new Error('The source ended in the middle of a CSV record.');
      return Math.max(0, lines - 1);
    },
  };
}

/**
 * Keeps the end of the file, whose footer contains the row count, in reused blocks: holding chunks
 * instead would cost the garbage collector a fifth of the export's time.
 */
function countParquetRows(): RecordCounter {
  const blocks: Buffer[] = [];
  let filled = 0;
  let passed = 0;
  return {
    take: (chunk) => {
      passed += chunk.length;
      const { least, most, share } = footer_bytes;
      const kept = Math.min(Math.max(least, passed * share), most);
      for (let at = 0; at < chunk.length;) {
        if (blocks.length === 0 || filled === tail_block_bytes) {
          blocks.push(
            (blocks.length > kept / tail_block_bytes ? blocks.shift() : undefined) ??
              Buffer.allocUnsafeSlow(tail_block_bytes),
          );
          filled = 0;
        }
        const copied = chunk.copy(blocks.at(-1)!, filled, at);
        filled += copied;
        at += copied;
      }
      return chunk;
    },
    total: () =>
      rowsOfFooter(
        blocks.map((block, index) =>
          index === blocks.length - 1 ? block.subarray(0, filled) : block,
        ),
      ),
  };
}

function rowsOfFooter(tail: Buffer[]): number {
  const end = lastBytes(tail, 8);
  if (end.length < 8 || end.toString('latin1', 4) !== parquet_magic)
    throw new Error('The source ended before the end of the Parquet file.');
  const footer = lastBytes(tail, end.readUInt32LE(0) + 8);
  const bytes = new Uint8Array(footer).buffer;
  return Number(parquetMetadata(bytes).num_rows);
}

function lastBytes(tail: Buffer[], count: number): Buffer {
  const parts: Buffer[] = [];
  let held = 0;
  for (let index = tail.length - 1; index >= 0 && held < count; index -= 1) {
    const part = tail[index];
    if (part === undefined) break;
    parts.unshift(part);
    held += part.length;
  }
  return Buffer.concat(parts).subarray(-count);
}
