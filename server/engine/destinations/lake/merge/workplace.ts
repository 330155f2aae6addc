import { createReadStream, createWriteStream } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parquetMetadataAsync } from 'hyparquet';
import type { DestinationDeps } from '../../../model/destination/destination.ts';
import { RetryableError } from '../../../model/destination/errors.ts';
import { isEngineInstalled } from '../../../../platform/embedded/clickhouse/addon.ts';
import { openScratchEngine } from '../../../../platform/embedded/clickhouse/scratch.ts';
import type { ScratchEngine } from '../../../../platform/embedded/clickhouse/scratch.ts';
import { newScratchFolder } from '../../../../platform/folders/scratch_folders.ts';
import type { MergedColumn, MergedFile } from './merge_query.ts';

/** Memory of the engine, for any file size: it sorts on disk. */
const memory_bytes_max = 1_000_000_000;
/** A query over one partition is abandoned after this time. */
const query_milliseconds_max = 3_600_000;
const progress_milliseconds = 5_000;

/** A folder of this machine for the merge of one delivery, and its engine. */
export type Workplace = {
  path(name: string): string;
  /** Writes bytes to a file of the folder. */
  save(name: string, bytes: Readable): Promise<void>;
  read(name: string): Readable;
  remove(name: string): Promise<void>;
  run(sql: string): Promise<string>;
  close(): Promise<void>;
};

/** Opens a folder; the engine starts with the first query. Nobody else may read the folder. */
export async function openWorkplace({
  signal,
  noteProgress,
}: Pick<DestinationDeps, 'signal' | 'noteProgress'>): Promise<Workplace> {
  const folder = await newScratchFolder('merge');
  let engine: Promise<ScratchEngine> | undefined;
  const path = (name: string) => join(folder, name);
  return {
    path,
    save: (name, bytes) => pipeline(bytes, createWriteStream(path(name), { mode: 0o600 })),
    read: (name) => createReadStream(path(name)),
    remove: (name) => rm(path(name), { force: true }),
    run: async (sql) => {
      const ending = AbortSignal.any([signal, AbortSignal.timeout(query_milliseconds_max)]);
      if (!isEngineInstalled())
        throw new RetryableError(
          'package_missing',
          'This worker has no embedded ClickHouse, which merges the files of a table. Run a ' +
            'worker from an installation or an image with stores.',
        );
      engine ??= openScratchEngine(path('engine'), memory_bytes_max, signal);
      const timer = setInterval(() => noteProgress?.(), progress_milliseconds);
      try {
        return await (await engine).run(sql, ending);
      } finally {
        clearInterval(timer);
      }
    },
    close: async () => {
      await (await engine?.catch(() => undefined))?.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/**
 * Copies a data file of the table to the folder, and finds the names of its columns by their ids: a
 * column may have been renamed since. Files without ids are read by the names of the table, and so
 * are all with `by_name`.
 */
export async function fetchFile(
  place: Workplace,
  bytes: Readable,
  name: string,
  columns: readonly MergedColumn[],
  { by_name = false } = {},
): Promise<MergedFile> {
  await place.save(name, bytes);
  const path = place.path(name);
  const found = await columnsIn(path);
  const hasIds = !by_name && found.some(({ id }) => id !== undefined);
  const names = columns.flatMap(({ id, name: own }): [number, string][] => {
    const same = found.find((one) => (hasIds ? one.id === id : one.name === own));
    return same === undefined ? [] : [[id, same.name]];
  });
  return { path, names: new Map(names) };
}

async function columnsIn(path: string): Promise<{ id: number | undefined; name: string }[]> {
  const handle = await open(path);
  try {
    const byteLength = (await handle.stat()).size;
    const slice = async (from: number, to = byteLength) => {
      const { buffer } = await handle.read(new Uint8Array(to - from), 0, to - from, from);
      return buffer.buffer;
    };
    const { schema } = await parquetMetadataAsync({ byteLength, slice }, { geoparquet: false });
    return schema.slice(1).map(({ field_id, name }) => ({ id: field_id, name }));
  } finally {
    await handle.close();
  }
}
