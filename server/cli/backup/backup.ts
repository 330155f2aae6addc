import { counted } from '../../platform/counted.ts';
import { requireUnmoved } from '../../platform/postgres/control_store.ts';
import { openCopySession } from '../../platform/postgres/copy.ts';
import type { CopySession } from '../../platform/postgres/copy.ts';
import { openDatabase } from '../../platform/postgres/database.ts';
import { openServerSecrets } from '../../platform/secrets/server_keys.ts';
import { openAnalytics } from '../stores/analytics_store.ts';
import type { CommandContext } from '../command_context.ts';
import { secretKeysOf } from '../process/process.ts';
import { findEmptyControl, findLostAnalytics } from '../stores/missing_rows.ts';
import { joinStores } from '../stores/stores.ts';
import { UserError, WrongUsageError } from '../user_error.ts';
import { waitForStores } from '../stores/wait_for_stores.ts';
import { rows_per_file } from './analytics_copy.ts';
import { checkBackup } from './check_backup.ts';
import type { CheckFlags } from './check_backup.ts';
import { listBackups, nameOf, openBackupKeys, readManifest } from './manifest.ts';
import type { Manifest, Stretch } from './manifest.ts';
import { readPassphrase } from './passphrase.ts';
import { proxiesOf } from '../../config/outbound.ts';
import { openPlace } from './places/open_place.ts';
import type { BackupPlace } from './places/place.ts';
import { prune } from './prune.ts';
import { findUnfinished, removeControl } from './unfinished.ts';
import { writeBackup } from './write_backup.ts';
import type { CreatedBackup, Writing } from './write_backup.ts';

/** One process at a time creates a backup, because all write to the same place. */
const backup_lock = 7_301_004;

/** The options of `sluice backup`. */
type BackupFlags = CheckFlags & { keep?: string; rowsPerFile?: string; check?: boolean };

/**
 * `sluice backup`: copies both stores and the secret keys to a place while the server runs, and
 * prints a summary. Exit code 0: the backup is complete, and was read back.
 */
export async function backup(
  context: CommandContext,
  address: string,
  flags: BackupFlags,
): Promise<number> {
  if (flags.check === true) return checkBackup(context, address, flags);
  if (flags.to !== undefined || flags.json === true)
    throw new WrongUsageError('--to and --json belong to --check. Add it, or leave them out.');
  const passphrase = readPassphrase(context.config, flags.passphraseFile);
  const keep = wholeOf(flags.keep, '--keep');
  const place = openPlace(address, proxiesOf(context.config));
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
    `It has everything ingested before ${manifest.taken_at}. It does not include files of ` +
      'File exports.',
  );
  for (const sentence of ownStores(context)) context.say(sentence);
}

/** Counts the rows of an analytics table in a backup. */
export function rowsOf({ stretches }: Manifest, table: string): number {
  return stretches.reduce((sum, one) => sum + (one.table === table ? one.rows : 0), 0);
}

/**
 * Creates a backup. Guarantees: the control store in it is never older than the analytics store.
 * The manifest is written last, and only then does the backup exist. Parts from earlier or
 * interrupted backups are not written again. `finish` runs before another backup may start.
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
    await waitForStores({ db, database_url: stores.database_url, clickhouse }, log);
    lock = await openCopySession(stores.database_url, 'load');
    await lockBackups(lock);
    const empty = await findEmptyControl(db, clickhouse);
    if (empty !== undefined) throw new UserError(empty);
    // Otherwise the newest backup would contain a store that the server has left.
    await requireUnmoved(db);
    const keys = secretKeysOf(config);
    // Checks that these are the keys of this database, before anything is written.
    const { public_key: server } = await openServerSecrets(db, () => keys);
    const lost = await findLostAnalytics(db, clickhouse);
    if (lost !== undefined) throw new UserError(lost);
    const known = await findKnown(place, server, options.passphrase);
    const writing: Writing = {
      config,
      place,
      stores,
      db,
      clickhouse,
      known,
      server,
      keys,
      ...options,
    };
    const created = await writeBackup(writing);
    await finish?.(created);
    return created;
  } finally {
    await lock?.close();
    await clickhouse.close();
    await db.close();
    await stores.close();
  }
}

/** Returns the parts of this server in the newest backup, complete or interrupted. */
async function findKnown(
  place: BackupPlace,
  server: string,
  passphrase: string,
): Promise<Stretch[]> {
  const unfinished = await findUnfinished(place, server);
  const newest = (await listBackups(place)).at(-1);
  if (newest === undefined) {
    await place.tidy();
    await removeControl(place, unfinished.control, undefined);
    return unfinished.stretches;
  }
  const known = await readManifest(place, newest);
  if (known.manifest.server !== server)
    throw new UserError(
      `${place.name} holds backups of another server. Use another place for this server.`,
    );
  // A mistyped passphrase would be noticed too late.
  await openBackupKeys(place, known, passphrase);
  await place.tidy();
  await removeControl(place, unfinished.control, known.manifest);
  return [...known.manifest.stretches, ...unfinished.stretches];
}

async function lockBackups(lock: CopySession): Promise<void> {
  const [row] = await lock.rows<{ is_ours: boolean }>(
    `SELECT pg_try_advisory_xact_lock(${backup_lock}) AS is_ours`,
  );
  if (row?.is_ours !== true)
    throw new UserError('Another backup of this server is in progress. Wait until it ends.');
}

/** Lists the remaining steps for an operator with external stores, in order. */
function ownStores({ config }: CommandContext): string[] {
  return [
    ...(config.clickhouse_url === undefined
      ? []
      : [
          'ClickHouse is yours: to back it up too, run `BACKUP DATABASE <name> TO ...` there, ' +
            'and start it before this command.',
        ]),
    ...(config.database_url === undefined
      ? []
      : [
          'You run PostgreSQL yourself. To back it up too, run `pg_dump --format=custom` after ' +
            'the backup of ClickHouse has ended: PostgreSQL may be newer than ClickHouse, never ' +
            'older.',
        ]),
  ];
}

function wholeOf(text: string | undefined, flag: string): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new WrongUsageError(`${flag} needs a whole number from 1 on.`);
  return Number(text);
}
