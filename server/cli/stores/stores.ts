import {
  chmodSync,
  existsSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Config } from '../../config/config.ts';
import { commandLine } from '../../platform/command_line.ts';
import {
  FolderUnusableError,
  findFolderHolder,
  lockDataFolder,
} from '../../platform/folders/data_folder.ts';
import { openEmbeddedClickHouse } from '../../platform/embedded/clickhouse/clickhouse.ts';
import { openEmbeddedPostgres } from '../../platform/embedded/postgres/postgres.ts';
import type { Logger } from '../../platform/log.ts';
import { UserError } from '../user_error.ts';
import { findLostFolder } from './missing_rows.ts';

/** Addresses of the two stores, and the way to close them. */
export type Stores = {
  database_url: string;
  clickhouse_url: string;
  /** The memory limit of the analytics store; undefined if this process did not start the store. */
  clickhouse_memory_bytes: number | undefined;
  /**
   * Resolves when the addresses are outdated: the server that owns the stores has ended or
   * restarted. Never resolves for stores of this process or of configured URLs.
   */
  lost: Promise<void>;
  close(): Promise<void>;
};

/** Facts that a running server gives to other commands on the same data folder. */
type Running = { pid: number; database_url: string; clickhouse_url: string };

/** A command needs a store, and none runs. The message says what to do. */
export class NoStoreError extends Error {
  constructor(folder: string, has_data: boolean) {
    const none = has_data
      ? `No server is running on ${folder}.`
      : `${folder} has no Sluice data, and no server is running on it.`;
    super(
      `${none} Start one with \`${commandLine('start')}\`, name its folder with ` +
        'SLUICE_DATA_DIR, or set SLUICE_DATABASE_URL and SLUICE_CLICKHOUSE_URL.',
    );
    this.name = 'NoStoreError';
  }
}

/** A file in the data folder while a restore into the folder is incomplete. */
export const restoring_name = 'restoring';

/** The data in the folder is incomplete; the message says what to do. */
export class RestoreUnfinishedError extends Error {
  constructor(folder: string) {
    super(
      `A restore into ${folder} has not ended, so the data there is incomplete. Run ` +
        `\`${commandLine('restore <place>')}\` again, with the same options; it starts over.`,
    );
    this.name = 'RestoreUnfinishedError';
  }
}

const watch_ms = 1_000;
const wait_ms_max = 30_000;
const pause_ms = 50;

const runningFile = (config: Config) => join(config.data_dir, 'running.json');

/**
 * Opens the stores of a server process: by the configured URLs, and embedded ones for stores
 * without a URL. Refuses a folder with an incomplete restore, except for the restore itself.
 * Guarantee: one server at a time runs on a data folder with embedded stores (else
 * `FolderInUseError`). It first repairs the leftovers of a killed server. Calls `begun` when it
 * only waits for the stores to answer.
 */
export async function openStores(
  config: Config,
  log: Logger,
  { is_restoring = false, begun = () => {} }: { is_restoring?: boolean; begun?: () => void } = {},
): Promise<Stores> {
  if (!is_restoring) refuseUnfinished(config);
  if (config.database_url !== undefined && config.clickhouse_url !== undefined) {
    begun();
    return {
      database_url: config.database_url,
      clickhouse_url: config.clickhouse_url,
      clickhouse_memory_bytes: undefined,
      lost: never(),
      close: async () => {},
    };
  }
  if (config.database_url === undefined) refuseForeign(join(config.data_dir, 'postgres'));
  const unlock = lockDataFolder(config.data_dir);
  const opened = await Promise.allSettled(openEmbedded(config, log, begun));
  const close = async () => {
    rmSync(runningFile(config), { force: true });
    const running = opened.flatMap((store) => (store.status === 'fulfilled' ? [store.value] : []));
    await Promise.allSettled(
      running.map(async (store) => ('stop' in store ? store.stop() : undefined)),
    );
    unlock();
  };
  const [postgres, clickhouse] = opened;
  if (postgres.status === 'rejected' || clickhouse.status === 'rejected') {
    await close();
    throw postgres.status === 'rejected'
      ? postgres.reason
      : (clickhouse as PromiseRejectedResult).reason;
  }
  const urls = { database_url: postgres.value.url, clickhouse_url: clickhouse.value.url };
  try {
    writeRunning(config, { pid: process.pid, ...urls });
  } catch (error) {
    // Otherwise the stores would keep running, and the process would not end.
    await close();
    throw error;
  }
  return {
    ...urls,
    clickhouse_memory_bytes: clickhouse.value.memory_bytes_max,
    lost: never(),
    close,
  };
}

function refuseUnfinished({ data_dir }: Config): void {
  if (existsSync(join(data_dir, restoring_name))) throw new RestoreUnfinishedError(data_dir);
}

/**
 * Throws a `UserError` if the PostgreSQL of the folder belongs to another user. As root, the
 * command could read the folder, but PostgreSQL would not start. Other users cannot read the
 * folder, which is a `FolderUnusableError`.
 */
export function refuseForeign(folder: string, uid = process.getuid?.()): void {
  const owner = ownerOf(folder);
  if (owner === undefined || uid === undefined || owner === uid) return;
  throw new UserError(
    `The PostgreSQL in ${folder} belongs to the user ${owner}, and runs only for that user. ` +
      `Run this command as that user (sudo -u '#${owner}' ...), or while the server runs.`,
  );
}

function ownerOf(folder: string): number | undefined {
  try {
    return statSync(folder, { throwIfNoEntry: false })?.uid;
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw new FolderUnusableError(dirname(folder), code);
  }
}

/** PostgreSQL and ClickHouse, each by its URL or embedded. */
function openEmbedded(
  { data_dir, database_url, clickhouse_url }: Config,
  log: Logger,
  begun: () => void,
) {
  const unspawned = new Set<string>();
  const optionsOf = (name: string) => {
    unspawned.add(name);
    const spawned = () => {
      if (unspawned.delete(name) && unspawned.size === 0) begun();
    };
    return { folder: join(data_dir, name), log, spawned };
  };
  return [
    database_url === undefined
      ? openEmbeddedPostgres(optionsOf('postgres'))
      : Promise.resolve({ url: database_url }),
    clickhouse_url === undefined
      ? openEmbeddedClickHouse(optionsOf('clickhouse'))
      : Promise.resolve({ url: clickhouse_url, memory_bytes_max: undefined }),
  ] as const;
}

/**
 * Returns the stores for a worker process or a short command: the configured stores, or the stores
 * of the server that runs on the data folder. Otherwise it starts embedded stores until the command
 * ends: always, only on a folder that has them, or never. Throws `NoStoreError` if no store exists,
 * a `UserError` if one of two is lost, and `RestoreUnfinishedError` while a restore is incomplete.
 */
export async function joinStores(
  config: Config,
  log: Logger,
  options: { start: 'never' | 'existing' | 'always' },
): Promise<Stores> {
  // A running restore looks like a running server, but its stores are incomplete.
  refuseUnfinished(config);
  if (config.database_url !== undefined && config.clickhouse_url !== undefined)
    return openStores(config, log);
  requireReadable(config.data_dir);
  const running = await waitForRunning(config);
  if (running !== undefined) return joined(config, running);
  if (options.start === 'always') return openStores(config, log);
  const [missing, ...others] = missingStores(config);
  if (missing !== undefined && others.length === 0) {
    const lost = await findLostFolder(config, missing);
    if (lost !== undefined) throw new UserError(lost);
  }
  if (missing !== undefined || options.start === 'never')
    throw new NoStoreError(config.data_dir, missing === undefined);
  return openStores(config, log);
}

/** Throws a `UserError` for a folder that this user may not look into: it would seem empty. */
function requireReadable(folder: string): void {
  try {
    readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') return;
    throw new UserError(
      `This user may not read the data folder ${folder}. Run this command as the user of the ` +
        'server, or name another folder with SLUICE_DATA_DIR.',
    );
  }
}

/** Returns the stores that have no URL and are missing in the data folder. */
function missingStores({ data_dir, database_url, clickhouse_url }: Config) {
  const stores = [
    ['postgres', database_url],
    ['clickhouse', clickhouse_url],
  ] as const;
  return stores.flatMap(([name, url]) =>
    url === undefined && !existsSync(join(data_dir, name)) ? [name] : [],
  );
}

function joined(config: Config, running: Running): Stores {
  let timer: NodeJS.Timeout | undefined;
  const lost = new Promise<void>((resolve) => {
    const isSame = () => JSON.stringify(findRunning(config)) === JSON.stringify(running);
    timer = setInterval(() => (isSame() ? undefined : resolve()), watch_ms);
    timer.unref();
  });
  const { database_url, clickhouse_url } = running;
  return {
    database_url,
    clickhouse_url,
    clickhouse_memory_bytes: undefined,
    lost,
    close: async () => clearInterval(timer),
  };
}

function never(): Promise<void> {
  return new Promise(() => {});
}

/**
 * Like `findRunning`. A server that starts or stops holds the folder but publishes no stores; this
 * waits up to 30 s.
 */
async function waitForRunning(config: Config): Promise<Running | undefined> {
  const end = performance.now() + wait_ms_max;
  for (;;) {
    const running = findRunning(config);
    const isOver = performance.now() > end || findFolderHolder(config.data_dir) === undefined;
    if (running !== undefined || isOver) return running;
    await pause(pause_ms);
  }
}

/**
 * Finds the stores of the server that runs on the data folder; undefined if none runs or it is
 * still starting.
 */
export function findRunning(config: Config): Running | undefined {
  const holder = findFolderHolder(config.data_dir);
  if (holder === undefined) return undefined;
  try {
    const running = JSON.parse(readFileSync(runningFile(config), 'utf8')) as Running;
    return running.pid === holder ? running : undefined;
  } catch {
    return undefined;
  }
}

function writeRunning(config: Config, running: Running): void {
  writeFileSync(runningFile(config), JSON.stringify(running), { mode: 0o600 });
  // An older file would keep its mode, and the file contains the stores' passwords.
  chmodSync(runningFile(config), 0o600);
}
