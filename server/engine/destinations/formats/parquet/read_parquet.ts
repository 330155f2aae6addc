import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Worker } from 'node:worker_threads';
import { compiledModules } from '../../../../platform/processes/compiled.ts';
import { moduleBeside } from '../../../../platform/processes/module_beside.ts';
import { newScratchFolder } from '../../../../platform/folders/scratch_folders.ts';
import type { ValueRow } from '../../../model/destination/content_source.ts';
import type { Column } from '../../../model/models/column.ts';
import { FileBoundError, beyondBound } from './parquet_bounds.ts';
import type { ParquetFile, ParquetQuestion, ParquetReply } from './parquet_worker.ts';

/** For the values of one row group, 50,000 rows. */
const usual_memory_mb_max = 1_024;

/** A file to read: its bytes, and the names of the columns; null: one that it lacks. */
export type ParquetInput = { bytes: AsyncIterable<Buffer>; names: (string | null)[] };

/**
 * Yields the rows of a Parquet file, in the memory of one row group. Reading starts at its end, so
 * its bytes first go to a temporary file. A thread with a memory limit reads it, because a few
 * bytes of such a file can request any amount. Throws for an invalid file, a FileBoundError if it
 * needs more than files of exports.
 */
export async function* readParquet(
  bytes: AsyncIterable<Buffer>,
  columns: Pick<Column, 'name'>[],
  memory_mb_max = usual_memory_mb_max,
): AsyncGenerator<ValueRow> {
  const names = columns.map(({ name }) => name);
  for await (const { rows } of readParquets([{ bytes, names }], memory_mb_max)) yield* rows;
}

/**
 * Does the same as `readParquet` for several files, one after the other; `file` is their position
 * in the list.
 */
export async function* readParquets(
  inputs: Iterable<ParquetInput> | AsyncIterable<ParquetInput>,
  memory_mb_max = usual_memory_mb_max,
): AsyncGenerator<{ rows: ValueRow[]; file: number }> {
  const folder = await newScratchFolder('verify');
  try {
    const files: ParquetFile[] = [];
    for await (const { bytes, names } of inputs) {
      const path = join(folder, `${files.length}.parquet`);
      await pipeline(bytes, createWriteStream(path, { mode: 0o600 }));
      files.push({ path, names });
    }
    yield* rowsOf({ files }, memory_mb_max);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function* rowsOf(
  workerData: ParquetQuestion,
  memory_mb_max: number,
): AsyncGenerator<{ rows: ValueRow[]; file: number }> {
  const worker = new Worker(moduleBeside(import.meta, 'parquet_worker'), {
    workerData,
    env: compiledModules(),
    resourceLimits: { maxOldGenerationSizeMb: memory_mb_max },
  });
  try {
    for (;;) {
      const reply = await next(worker, memory_mb_max);
      if ('bound' in reply) throw new FileBoundError(reply.bound);
      if ('damage' in reply) throw new Error(reply.damage);
      if (reply.rows.length === 0) return;
      yield reply;
    }
  } finally {
    await worker.terminate();
  }
}

async function next(worker: Worker, memory_mb_max: number): Promise<ParquetReply> {
  const replied = once(worker, 'message') as Promise<[ParquetReply]>;
  worker.postMessage('next', []);
  try {
    return (await replied)[0];
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_WORKER_OUT_OF_MEMORY') throw error;
    throw beyondBound(`It asks for more than ${memory_mb_max} MiB of memory`);
  }
}
