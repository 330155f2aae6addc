import { counted } from '../../platform/counted.ts';
import { caughtUp } from '../../platform/clickhouse/topology/caught_up.ts';
import { row_tables } from '../../engine/removals/delete_rows.ts';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import { isoInstant, systemClock } from '../../platform/clock.ts';
import { openCopySession } from '../../platform/postgres/copy.ts';
import type { CopySession } from '../../platform/postgres/copy.ts';
import { openDatabase } from '../../platform/postgres/database.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { openServerSecrets } from '../../platform/secrets/server_keys.ts';
import { version } from '../../platform/version.ts';
import { openAnalytics } from '../stores/analytics_store.ts';
import type { CommandContext } from '../command_context.ts';
import { secretKeysOf } from '../process/process.ts';
import { findLostAnalytics } from '../stores/missing_rows.ts';
import { joinStores } from '../stores/stores.ts';
import type { Stores } from '../stores/stores.ts';
import { UserError } from '../user_error.ts';
import { waitForStores } from '../stores/wait_for_stores.ts';
import { copyAnalytics, findCut, rows_per_file } from './analytics_copy.ts';
import { copyControl } from './control_copy.ts';
import {
  filesOf,
  findUnfinished,
  forgetUnfinished,
  keepUnfinished,
  listBackups,
  nameOf,
  openBackupKeys,
  readManifest,
  writeManifest,
} from './manifest.ts';
import type { Manifest, Stretch } from './manifest.ts';
import { readPassphrase } from './passphrase.ts';
import { openPlace } from './open_place.ts';
import type { BackupPlace } from './place.ts';
import { prune } from './prune.ts';

/** One process creates a backup at a time: they would write the same place. */
const backup_lock = 7_301_004;
/** A copy that took longer is followed by one of what came in meanwhile. */
const long_copy_ms = 20_000;
const copies_max = 4;
/** After a kill so much is written again at most. */
const keep_ms = 2_000;

/** The options of `sluice backup`. */
export type BackupFlags = { passphraseFile?: string; keep?: string; rowsPerFile?: string };

/** A backup that was created, and what of it was new. */
export type CreatedBackup = { manifest: Manifest; new_files: number; new_bytes: number };

/**
 * `sluice backup`: copies both stores and the secret keys into a place while the server goes on,
 * and prints what it is. Exit code 0: the backup is whole, and was read back.
 */
export async function backup(
  context: CommandContext,
  address: string,
  flags: BackupFlags,
): Promise<number> {
  const passphrase = readPassphrase(context.config, flags.passphraseFile);
  const keep = wholeOf(flags.keep, '--keep');
  const place = openPlace(address);
  const began = performance.now();
  await createBackup(context, place, {
    passphrase,
    rows_per_file: wholeOf(flags.rowsPerFile, '--rows-per-file') ?? rows_per_file,
    finish: async (created) => {
      tellCreated(context, place, created, began);
      if (keep !== undefined) context.say(await prune(place, keep));
    },
  });
  return 0;
}

function tellCreated(
  context: CommandContext,
  place: BackupPlace,
  { manifest, new_files, new_bytes }: CreatedBackup,
  began: number,
): void {
  const rows = (table: string) => counted(rowsOf(manifest, table), 'row');
  context.say(
    `Backup ${nameOf(manifest.taken_at)} is in ${place.name}: ${rows('events')} of events, ` +
      `${rows('persons')} of persons, ${manifest.tables.length} tables of the control store; ` +
      `${counted(new_files, 'new file')}, ${new_bytes} bytes, in ` +
      `${((performance.now() - began) / 1_000).toFixed(1)} s.`,
  );
  context.say(
    `It has what was taken in before ${manifest.taken_at}. Files of File exports are not in it.`,
  );
  for (const sentence of ownStores(context)) context.say(sentence);
}

/** The rows of one of the analytics store's tables in a backup. */
export function rowsOf({ stretches }: Manifest, table: string): number {
  return stretches.reduce((sum, one) => sum + (one.table === table ? one.rows : 0), 0);
}

/**
 * Creates a backup. Guarantees: what was decided (the control store) is never older in it than what
 * happened (the analytics store); it is there when its manifest is, which is written last; what
 * earlier backups, or one that was killed, have written is not written again. `finish` is done
 * before another backup may begin.
 */
export async function createBackup(
  { config, log }: Pick<CommandContext, 'config' | 'log'>,
  place: BackupPlace,
  {
    finish,
    ...options
  }: {
    passphrase: string;
    rows_per_file: number;
    finish?(created: CreatedBackup): Promise<void>;
  },
): Promise<CreatedBackup> {
  const stores = await joinStores(config, log, { start: 'existing' });
  const db = openDatabase(stores.database_url, {
    connections_max: 2,
    application_name: 'sluice-backup',
  });
  const clickhouse = openAnalytics(config, stores, { application: 'sluice-backup' });
  let lock: CopySession | undefined;
  try {
    await waitForStores(db, clickhouse, log);
    lock = await openCopySession(stores.database_url, 'load');
    await lockBackups(lock);
    const keys = secretKeysOf(config);
    // Proves that these are the keys of this database, before anything is written.
    const { public_key: server } = await openServerSecrets(db, () => keys);
    const lost = await findLostAnalytics(db, clickhouse);
    if (lost !== undefined) throw new UserError(lost);
    const known = await findKnown(place, server, options.passphrase);
    const writing = { config, place, stores, db, clickhouse, known, server, keys, ...options };
    const created = await write(writing);
    await finish?.(created);
    return created;
  } finally {
    await lock?.close();
    await clickhouse.close();
    await db.close();
    await stores.close();
  }
}

type Writing = {
  config: CommandContext['config'];
  place: BackupPlace;
  stores: Stores;
  db: Database;
  clickhouse: ClickHouse;
  known: Stretch[];
  server: string;
  keys: readonly string[];
  passphrase: string;
  rows_per_file: number;
};

async function write(writing: Writing): Promise<CreatedBackup> {
  const { place, stores, db, clickhouse, server } = writing;
  const tell = openTelling();
  const { rows_per_file: rows } = writing;
  let stretches = writing.known;
  let cut = 0;
  const copy = async () => {
    const keep = keeper(place, server, stretches);
    const orders = { clickhouse, place, rows_per_file: rows, tell, keep };
    stretches = await caughtUp(clickhouse, row_tables, () =>
      copyAnalytics(orders, stretches, cut * 1_000),
    );
  };
  for (let copies = 0; copies < copies_max; copies += 1) {
    const began = performance.now();
    cut = await findCut(db, writing.config.settle_seconds);
    await copy();
    if (performance.now() - began < long_copy_ms) break;
  }
  const taken_at = isoInstant(cut);
  const before = new Set(writing.known.flatMap(({ file }) => file?.name ?? []));
  const control = await copyControl(stores.database_url, place, nameOf(taken_at), tell);
  // What the control store says is removed must be removed from what was copied before.
  await copy();
  const manifest: Manifest = {
    version: 1,
    release: version,
    server,
    taken_at,
    finished_at: isoInstant(systemClock.now()),
    analytics_migrations: await analyticsMigrations(clickhouse),
    ...control,
    stretches,
  };
  await writeManifest(place, manifest, writing);
  await forgetUnfinished(place);
  const fresh = filesOf(manifest).filter(({ name }) => !before.has(name));
  return {
    manifest,
    new_files: fresh.length,
    new_bytes: fresh.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

/** Keeps word of what is written, with what was there before, every few seconds. */
function keeper(
  place: BackupPlace,
  server: string,
  known: Stretch[],
): (safe: Stretch[]) => Promise<void> {
  let kept_at = -Infinity;
  return async (safe) => {
    if (performance.now() - kept_at < keep_ms) return;
    // What was there is listed first: where both have a range, it is the one that counts.
    const files = new Set(safe.flatMap(({ file }) => file?.name ?? []));
    const others = known.filter(({ file }) => file !== null && !files.has(file.name));
    await keepUnfinished(place, server, [...others, ...safe]);
    kept_at = performance.now();
  };
}

/** What the newest backup, or one that was killed, has of this server. */
async function findKnown(
  place: BackupPlace,
  server: string,
  passphrase: string,
): Promise<Stretch[]> {
  const unfinished = await findUnfinished(place, server);
  const newest = (await listBackups(place)).at(-1);
  if (newest === undefined) return unfinished;
  const known = await readManifest(place, newest);
  if (known.manifest.server !== server)
    throw new UserError(
      `${place.name} holds backups of another server. Give this one a place of its own.`,
    );
  // A slip in the passphrase would be found when it is too late.
  await openBackupKeys(place, known, passphrase);
  return [...known.manifest.stretches, ...unfinished];
}

async function lockBackups(lock: CopySession): Promise<void> {
  const [row] = await lock.rows<{ is_ours: boolean }>(
    `SELECT pg_try_advisory_xact_lock(${backup_lock}) AS is_ours`,
  );
  if (row?.is_ours !== true)
    throw new UserError('Another backup of this server is under way. Wait until it has ended.');
}

async function analyticsMigrations(clickhouse: ClickHouse): Promise<string[]> {
  const found = await clickhouse.query({
    query: 'SELECT name FROM migrations ORDER BY name',
    format: 'JSONEachRow',
  });
  return (await found.json<{ name: string }>()).map(({ name }) => name);
}

/** What else the owner of stores of their own does, and in which order. */
function ownStores({ config }: CommandContext): string[] {
  return [
    ...(config.clickhouse_url === undefined
      ? []
      : [
          'ClickHouse is yours: to have its own backup too, run `BACKUP DATABASE <name> TO ...` ' +
            'there, and begin it before this command.',
        ]),
    ...(config.database_url === undefined
      ? []
      : [
          'PostgreSQL is yours: to have its own backup too, run `pg_dump --format=custom`, and ' +
            'begin it after that of ClickHouse has ended: what was decided may be newer than ' +
            'what happened, never older.',
        ]),
  ];
}

/** Lines of progress to standard error: one a second for who waits, few for a file of them. */
export function openTelling(): (line: string) => void {
  let told_at = performance.now();
  return (line) => {
    if (performance.now() - told_at < (process.stderr.isTTY ? 1_000 : 15_000)) return;
    told_at = performance.now();
    process.stderr.write(`${line}\n`);
  };
}

function wholeOf(text: string | undefined, flag: string): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new UserError(`${flag} takes a whole number from 1 on.`);
  return Number(text);
}
