import { createWriteStream } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import type { AsyncBuffer, Compressors } from 'hyparquet';
import type { ValueRow } from '../destination/content_source.ts';
import type { Column } from '../models/column.ts';
import { lz4Decompress } from './lz4.ts';

const compressors: Compressors = {
  ZSTD: (bytes) => zstdDecompressSync(bytes),
  GZIP: (bytes) => gunzipSync(bytes),
  BROTLI: (bytes) => brotliDecompressSync(bytes),
  LZ4_RAW: lz4Decompress,
};

/**
 * The rows of a Parquet file, in the memory of one row group. It is read from its end, so its bytes
 * go into a temporary file first. Throws where it is no such file.
 */
export async function* readParquet(
  bytes: AsyncIterable<Buffer>,
  columns: Pick<Column, 'name' | 'type'>[],
): AsyncGenerator<ValueRow> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-verify-'));
  try {
    const path = join(folder, 'file.parquet');
    await pipeline(bytes, createWriteStream(path, { mode: 0o600 }));
    const handle = await open(path);
    try {
      const file: AsyncBuffer = {
        byteLength: (await handle.stat()).size,
        slice: async (start, end) => {
          const length = (end ?? file.byteLength) - start;
          const { buffer } = await handle.read(new Uint8Array(length), 0, length, start);
          return buffer.buffer;
        },
      };
      yield* rowsOf(file, columns);
    } finally {
      await handle.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function* rowsOf(
  file: AsyncBuffer,
  columns: Pick<Column, 'name' | 'type'>[],
): AsyncGenerator<ValueRow> {
  const metadata = await parquetMetadataAsync(file);
  let from = 0;
  for (const { num_rows } of metadata.row_groups) {
    const rows = await parquetReadObjects({
      file,
      metadata,
      rowStart: from,
      rowEnd: from + Number(num_rows),
      compressors,
      parsers: { timestampFromMicroseconds: instantText },
    });
    for (const row of rows)
      yield columns.map(({ name }) => {
        const value = (row[name] ?? null) as string | number | bigint | boolean | null;
        return value === null ? null : String(value);
      });
    from += Number(num_rows);
  }
}

function instantText(microseconds: bigint): string {
  const rest = ((microseconds % 1_000_000n) + 1_000_000n) % 1_000_000n;
  const seconds = new Date(Number((microseconds - rest) / 1_000n)).toISOString().slice(0, 19);
  return `${seconds}.${String(rest).padStart(6, '0')}Z`;
}
