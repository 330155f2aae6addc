import { createHash } from 'node:crypto';
import { Transform } from 'node:stream';
import { readStatistics } from './file_statistics.ts';
import type { FileStatistics } from './file_statistics.ts';
import { withFieldIds } from './parquet_ids.ts';

/** A stored file: its rows, bytes and SHA-256 (hex), and its statistics. */
export type StampedFile = {
  records: number;
  bytes: number;
  sha256: string;
  statistics: FileStatistics;
};

/**
 * Most bytes of a footer. It has some 200 bytes for each column of each row group, and the least
 * and the greatest value, unless they have more than 4,096 bytes.
 */
const footer_bytes_max = 16 * 1024 * 1024;
const column_bytes_max = 10 * 1024;
/** Rows of a group, unless its values are so large that it ends earlier. */
const group_rows = 50_000;
const spare_bytes = 1024 * 1024;
/** The length of the footer and the magic. */
const end_bytes = 8;

/**
 * Opens a stage that passes a Parquet file on, with field ids in its footer. It holds the end of
 * the file until the source has ended, so few bytes are left to write then. `finish` throws before
 * that. `rows` is the number of its rows where it is known.
 */
export function stampParquet(
  ids: ReadonlyMap<string, number>,
  rows?: number,
): { stage: Transform; finish(): StampedFile } {
  const footer_usual_max =
    rows === undefined
      ? footer_bytes_max
      : spare_bytes + ids.size * (Math.ceil(rows / group_rows) + 1) * column_bytes_max;
  const hash = createHash('sha256');
  let bytes = 0;
  let waiting: Buffer[] = [];
  let waiting_bytes = 0;
  let read: ReturnType<typeof readStatistics> | undefined;
  const pass = (stage: Transform, chunk: Buffer) => {
    hash.update(chunk);
    bytes += chunk.length;
    stage.push(chunk);
  };
  const stage = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      waiting.push(chunk);
      waiting_bytes += chunk.length;
      // Groups that end earlier have a share of the file.
      const held = Math.min(footer_bytes_max, footer_usual_max + bytes / 16) + end_bytes;
      while (waiting_bytes - waiting[0]!.length >= held) {
        const first = waiting.shift()!;
        waiting_bytes -= first.length;
        pass(this, first);
      }
      done();
    },
    flush(done) {
      try {
        const rest = Buffer.concat(waiting);
        waiting = [];
        const { values, footer } = apart(rest);
        read = readStatistics(rest.subarray(values.length), ids);
        const stamped = withFieldIds(footer, ids);
        const end = Buffer.from('\0\0\0\0PAR1', 'latin1');
        end.writeUInt32LE(stamped.length);
        for (const part of [values, stamped, end]) pass(this, part);
        done();
      } catch (error) {
        done(error as Error);
      }
    },
  });
  return {
    stage,
    finish: () => {
      if (read === undefined) throw new Error('The slice was not read to its end.');
      return { bytes, sha256: hash.digest('hex'), ...read };
    },
  };
}

/** Splits the end of a file into values and footer. */
function apart(rest: Buffer): { values: Buffer; footer: Buffer } {
  const end = rest.length - end_bytes;
  if (end < 0 || rest.toString('latin1', end + 4) !== 'PAR1')
    throw new Error('The source ended before the end of the Parquet file.');
  const start = end - rest.readUInt32LE(end);
  if (start < 0) throw new Error('The footer of a Parquet file is too large.');
  return { values: rest.subarray(0, start), footer: rest.subarray(start, end) };
}
