import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { lockDataFolder } from '../../platform/folders/data_folder.ts';
import { restoring_name } from '../stores/stores.ts';
import { UserError, WrongUsageError } from '../user_error.ts';

/** The lost store, while the other one was kept. */
export type LostStore = 'postgres' | 'clickhouse';

const names = { postgres: 'PostgreSQL', clickhouse: 'ClickHouse' } as const;

/** Names a store in texts for people. */
export function storeName(store: LostStore): string {
  return names[store];
}

/** Returns the kept store. */
export function keptStore(lost: LostStore): LostStore {
  return lost === 'postgres' ? 'clickhouse' : 'postgres';
}

/** Reads `--lost`. */
export function lostStoreOf(text: string | undefined): LostStore | undefined {
  if (text === undefined || text === 'postgres' || text === 'clickhouse') return text;
  throw new WrongUsageError('--lost must be postgres or clickhouse.');
}

/** Returns the kind of the unfinished restore in this folder; undefined if there is none. */
export function unfinishedRestore({ data_dir }: Config): LostStore | 'both' | undefined {
  const path = join(data_dir, restoring_name);
  if (!existsSync(path)) return undefined;
  return lostStoreOf(readFileSync(path, 'utf8').trim() || undefined) ?? 'both';
}

/**
 * Prepares a data folder for the lost store, and marks it, so that no server starts on a partial
 * restore. Throws if the lost store exists, or the kept one does not.
 */
export async function prepareForLost(config: Config, lost: LostStore): Promise<void> {
  const { data_dir } = config;
  const unfinished = unfinishedRestore(config);
  if (unfinished !== undefined && unfinished !== lost)
    throw new UserError(
      `A restore of ${unfinished === 'both' ? 'both stores' : storeName(unfinished)} into ` +
        `${data_dir} is unfinished. Finish it first.`,
    );
  const isEmbedded = (store: LostStore) =>
    (store === 'postgres' ? config.database_url : config.clickhouse_url) === undefined;
  const kept = keptStore(lost);
  if (isEmbedded(kept) && !existsSync(join(data_dir, kept)))
    throw new UserError(
      `${data_dir} has no ${storeName(kept)} to keep. Restore both, without --lost.`,
    );
  await mkdir(data_dir, { recursive: true });
  lockDataFolder(data_dir)();
  if (isEmbedded(lost)) {
    const folder = join(data_dir, lost);
    if (unfinished === undefined && existsSync(folder) && readdirSync(folder).length > 0)
      throw new UserError(
        `There is a ${storeName(lost)} in ${folder}. Move it to another place if it is lost, ` +
          'then restore.',
      );
    await rm(folder, { recursive: true, force: true });
  }
  await writeFile(join(data_dir, restoring_name), lost, { flush: true });
}

/** Deletes what the restore of a lost store created; the mark stays, so that no server starts. */
export async function clearLost(config: Config, lost: LostStore): Promise<void> {
  const isOwn = lost === 'postgres' ? config.database_url : config.clickhouse_url;
  if (isOwn === undefined) await rm(join(config.data_dir, lost), { recursive: true, force: true });
}
