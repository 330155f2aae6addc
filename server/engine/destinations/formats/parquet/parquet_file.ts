import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { parquetReadObjects } from 'hyparquet';
import type { AsyncBuffer, Compressors, FileMetaData } from 'hyparquet';
import { dayText, floorDivision, instantText } from '../logical_text.ts';
import { lz4Decompress } from '../lz4.ts';

/** Instants have microseconds, like those of tables: other readers cut a finer part too. */
const parsers = {
  timestampFromMilliseconds: (milliseconds: bigint) => instantText(milliseconds * 1_000n),
  timestampFromMicroseconds: instantText,
  timestampFromNanoseconds: (nanoseconds: bigint) =>
    instantText(floorDivision(nanoseconds, 1_000n)),
  dateFromDays: dayText,
};

// A page announces its unpacked length, and no more is unpacked than that.
const within = (length: number) => ({ maxOutputLength: Math.max(length, 1) });
const compressors: Compressors = {
  ZSTD: (bytes, length) => zstdDecompressSync(bytes, within(length)),
  GZIP: (bytes, length) => gunzipSync(bytes, within(length)),
  BROTLI: (bytes, length) => brotliDecompressSync(bytes, within(length)),
  LZ4_RAW: lz4Decompress,
};

/** Opens a Parquet file for partial reads; the caller closes its handle. */
export async function openParquetFile(
  path: string,
): Promise<{ file: AsyncBuffer; handle: FileHandle }> {
  const handle = await open(path);
  const byteLength = (await handle.stat()).size;
  const slice = async (start: number, end = byteLength) => {
    if (!(start >= 0 && start <= end && end <= byteLength))
      throw new Error('The file refers to a part beyond its end.');
    const { buffer } = await handle.read(new Uint8Array(end - start), 0, end - start, start);
    return buffer.buffer;
  };
  return { file: { byteLength, slice }, handle };
}

/** Reads the rows of a file from one number to another, with instants and days as texts. */
export function readRows(
  file: AsyncBuffer,
  metadata: FileMetaData,
  rowStart: number,
  rowEnd: number,
): Promise<Record<string, unknown>[]> {
  return parquetReadObjects({ file, metadata, rowStart, rowEnd, compressors, parsers });
}
