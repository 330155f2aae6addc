import { open } from 'node:fs/promises';
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import type { AsyncBuffer, Compressors, FileMetaData } from 'hyparquet';
import {
  dayText,
  floorDivision,
  instantText,
} from '../../engine/destinations/formats/logical_text.ts';
import { lz4Decompress } from '../../engine/destinations/formats/lz4.ts';
import type { Line } from '../../engine/ingest/parse/lines.ts';

const compressors: Compressors = {
  ZSTD: (bytes) => zstdDecompressSync(bytes),
  GZIP: (bytes) => gunzipSync(bytes),
  BROTLI: (bytes) => brotliDecompressSync(bytes),
  LZ4_RAW: lz4Decompress,
};
const parsers = {
  timestampFromMilliseconds: (milliseconds: bigint) => instantText(milliseconds * 1_000n),
  timestampFromMicroseconds: instantText,
  timestampFromNanoseconds: (nanoseconds: bigint) =>
    instantText(floorDivision(nanoseconds, 1_000n)),
  dateFromDays: dayText,
};

const json = JSON as typeof JSON & { rawJSON(text: string): unknown };

/** Rows of one answer; a row group is read whole. */
const rows_at_once = 5_000;

/**
 * Opens the rows of a Parquet file as lines of JSON, numbered from 1, in the memory of one row
 * group. Values keep all their digits, and instants are UTC.
 */
export async function openParquetRows(path: string): Promise<{
  lines_total: number;
  lines(): AsyncGenerator<Line[]>;
}> {
  const handle = await open(path);
  const { size: byteLength } = await handle.stat();
  await handle.close();
  const metadata = await withFile(path, byteLength, (file) => parquetMetadataAsync(file));
  return {
    lines_total: Number(metadata.num_rows),
    lines: () => linesOf(path, byteLength, metadata),
  };
}

async function* linesOf(
  path: string,
  byteLength: number,
  metadata: FileMetaData,
): AsyncGenerator<Line[]> {
  let from = 0;
  for (const { num_rows } of metadata.row_groups) {
    const [rowStart, rowEnd] = [from, from + Number(num_rows)];
    const rows = await withFile(path, byteLength, (file) =>
      parquetReadObjects({ file, metadata, rowStart, rowEnd, compressors, parsers }),
    );
    for (let at = 0; at < rows.length; at += rows_at_once)
      yield rows
        .slice(at, at + rows_at_once)
        .map((row, index) => ({ number: rowStart + at + index + 1, text: lineOf(row) }));
    from = rowEnd;
  }
}

async function withFile<Result>(
  path: string,
  byteLength: number,
  work: (file: AsyncBuffer) => Promise<Result>,
): Promise<Result> {
  const handle = await open(path);
  const slice = async (start: number, end = byteLength) => {
    const length = Math.max(0, Math.min(end, byteLength) - start);
    const { buffer } = await handle.read(new Uint8Array(length), 0, length, start);
    return buffer.buffer;
  };
  try {
    return await work({ byteLength, slice });
  } finally {
    await handle.close();
  }
}

function lineOf(row: Record<string, unknown>): string {
  return JSON.stringify(row, (_, value: unknown) => {
    if (typeof value === 'bigint') return json.rawJSON(String(value));
    return value instanceof Uint8Array ? Buffer.from(value).toString('utf8') : value;
  });
}
