import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { lockDataFolder } from '../../platform/folders/data_folder.ts';
import { restoring_name } from '../stores/stores.ts';
import { UserError, WrongUsageError } from '../user_error.ts';

/** The store that was lost while the other one was kept. */
export type LostStore = 'postgres' | 'clickhouse';

const names = { postgres: 'PostgreSQL', clickhouse: 'ClickHouse' } as const;

/** Names a store in texts for people. */
export function storeName(store: LostStore): string {
  return names[store];
}

/** The other one. */
export function keptStore(lost: LostStore): LostStore {
  return lost === 'postgres' ? 'clickhouse' : 'postgres';
}

/** Reads `--lost`. */
export function lostStoreOf(text: string | undefined): LostStore | undefined {
  if (text === undefined || text === 'postgres' || text === 'clickhouse') return text;
  throw new WrongUsageError('--lost is postgres or clickhouse.');
}

/** Returns the kind of the unfinished restore in this folder; undefined without one. */
export function unfinishedRestore({ data_dir }: Config): LostStore | 'both' | undefined {
  const path = join(data_dir, restoring_name);
  if (!existsSync(path)) return undefined;
  return lostStoreOf(readFileSync(path, 'utf8').trim() || undefined) ?? 'both';
}

/**
 * Readies a data folder for the store that was lost, and marks it, so that nobody takes what is
 * half restored for a server's. Refuses where that store is there, or the one that is to be kept is
 * not.
 */
export async function prepareForLost(config: Config, lost: LostStore): Promise<void> {
  const { data_dir } = config;
  const unfinished = unfinishedRestore(config);
  if (unfinished !== undefined && unfinished !== lost)
    throw new UserError(
      `A restore of ${unfinished === 'both' ? 'both stores' : storeName(unfinished)} into ` +
        `${data_dir} has not ended. Finish that one first.`,
    );
  const isEmbedded = (store: LostStore) =>
    (store === 'postgres' ? config.database_url : config.clickhouse_url) === undefined;
  const kept = keptStore(lost);
  if (isEmbedded(kept) && !existsSync(join(data_dir, kept)))
    throw new UserError(
      `There is no ${storeName(kept)} in ${data_dir} that could be kept. Restore both, without ` +
        '--lost.',
    );
  await mkdir(data_dir, { recursive: true });
  lockDataFolder(data_dir)();
  if (isEmbedded(lost)) {
    const folder = join(data_dir, lost);
    if (unfinished === undefined && existsSync(folder) && readdirSync(folder).length > 0)
      throw new UserError(
        `There is a ${storeName(lost)} in ${folder}. Move it away if it is lost, then restore.`,
      );
    await rm(folder, { recursive: true, force: true });
  }
  await writeFile(join(data_dir, restoring_name), lost, { flush: true });
}

/** Takes away what a restore of a lost store created; the mark stays, so that nothing starts. */
export async function clearLost(config: Config, lost: LostStore): Promise<void> {
  const isOwn = lost === 'postgres' ? config.database_url : config.clickhouse_url;
  if (isOwn === undefined) await rm(join(config.data_dir, lost), { recursive: true, force: true });
}
