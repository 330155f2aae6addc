import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { readLines } from '../../engine/ingest/parse/lines.ts';
import type { Line } from '../../engine/ingest/parse/lines.ts';
import { readArrayItems } from './array.ts';
import { openParquetRows } from './parquet_rows.ts';

/** A file that can be read more than once. */
export type ImportSource = {
  /** SHA-256 of the unpacked content. */
  sha256: Buffer;
  /** Lines of the file, or items if the file is one JSON array. */
  lines_total: number;
  /** Reads from the start; a list per chunk. */
  lines(): AsyncGenerator<Line[]>;
  /** Deletes temporary files. */
  close(): Promise<void>;
};

const line_feed = 0x0a;

/**
 * Opens a file of NDJSON, of one JSON array (plain or gzip), or of Parquet, recognised by its first
 * bytes. `-` is standard input, which is first stored in a private temporary file. Reads it once
 * for its hash and length. Throws read errors (missing file, broken gzip), and the reason of an
 * abort.
 */
export async function openImportSource(
  file: string,
  stdin: Readable,
  signal: AbortSignal,
): Promise<ImportSource> {
  const folder = file === '-' ? await mkdtemp(join(tmpdir(), 'sluice-import-')) : undefined;
  const close = async () => {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  };
  try {
    const path = folder === undefined ? file : join(folder, 'stdin');
    if (folder !== undefined)
      await pipeline(stdin, (await open(path, 'wx', 0o600)).createWriteStream(), { signal });
    const handle = await open(path, 'r');
    const first = await firstBytes(handle).finally(() => handle.close());
    if (first.equals(parquet_magic)) {
      const { sha256 } = await survey(openBytes(path, false, signal));
      return { sha256, ...(await openParquetRows(path)), close };
    }
    const isGzip = first[0] === 0x1f && first[1] === 0x8b;
    const bytes = () => openBytes(path, isGzip, signal);
    const { sha256, lines, isArray } = await survey(bytes());
    if (!isArray) return { sha256, lines_total: lines, lines: () => readLines(bytes()), close };
    let items = 0;
    for await (const chunk of readArrayItems(bytes())) items += chunk.length;
    return { sha256, lines_total: items, lines: () => readArrayItems(bytes()), close };
  } catch (error) {
    await close();
    throw error;
  }
}

const parquet_magic = Buffer.from('PAR1');

async function firstBytes(handle: FileHandle): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(4), 0, 4, 0);
  return buffer.subarray(0, bytesRead);
}

async function* openBytes(
  path: string,
  isGzip: boolean,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const plain = createReadStream(path, { highWaterMark: 256 * 1024, signal });
  if (!isGzip) {
    yield* plain;
    return;
  }
  const unpacked = createGunzip({ chunkSize: 256 * 1024 });
  // A failure of the pipeline also destroys `unpacked`, and the loop over it throws the same error.
  pipeline(plain, unpacked).catch(() => {});
  yield* unpacked;
}

async function survey(
  bytes: AsyncIterable<Buffer>,
): Promise<{ sha256: Buffer; lines: number; isArray: boolean }> {
  const hash = createHash('sha256');
  let feeds = 0;
  let lastByte = line_feed;
  let first: string | undefined;
  for await (const chunk of bytes) {
    hash.update(chunk);
    first ??= /\S/.exec(chunk.toString('utf8').replace(/^\uFEFF/, ''))?.[0];
    for (let at = chunk.indexOf(line_feed); at !== -1; at = chunk.indexOf(line_feed, at + 1))
      feeds += 1;
    lastByte = chunk.at(-1) ?? lastByte;
  }
  return {
    sha256: hash.digest(),
    lines: feeds + (lastByte === line_feed ? 0 : 1),
    isArray: first === '[',
  };
}
