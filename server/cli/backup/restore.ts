import { readdirSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import type { Config } from '../../config/config.ts';
import { migrateClickHouse } from '../../platform/clickhouse/migrate.ts';
import { commandLine } from '../../platform/command_line.ts';
import { FolderInUseError, lockDataFolder } from '../../platform/folders/data_folder.ts';
import { freeBytes, isDiskFull } from '../../platform/disk/full_disk.ts';
import { openDatabase } from '../../platform/postgres/database.ts';
import { migratePostgres } from '../../platform/postgres/migrate.ts';
import { writeKeptSecretKeys } from '../../platform/secrets/kept_secret_keys.ts';
import { version } from '../../platform/version.ts';
import { openAnalytics } from '../stores/analytics_store.ts';
import type { CommandContext } from '../command_context.ts';
import { migrations_folder } from '../process/process.ts';
import { openStores, restoring_name } from '../stores/stores.ts';
import type { Stores } from '../stores/stores.ts';
import { UserError } from '../user_error.ts';
import { waitForStores } from '../stores/wait_for_stores.ts';
import { fillAnalytics } from './analytics_fill.ts';
import { damagedFile } from './backup_file.ts';
import { rowsOf } from './backup.ts';
import { fillControl } from './control_copy.ts';
import { requireKnownSchema } from './known_schema.ts';
import {
  clearLost,
  keptStore,
  lostStoreOf,
  prepareForLost,
  storeName,
  unfinishedRestore,
} from './lost_store.ts';
import type { LostStore } from './lost_store.ts';
import { chooseBackup, filesOf, openBackupKeys } from './manifest.ts';
import type { KnownBackup, Manifest } from './manifest.ts';
import { readPassphrase } from './passphrase.ts';
import { proxiesOf } from '../../config/outbound.ts';
import { openPlace } from './places/open_place.ts';
import { presentFiles } from './places/place.ts';
import { requireEmptyAnalytics, requireEmptyControl } from './require_empty.ts';
import type { BackupPlace } from './places/place.ts';
import { settleRestored } from './settle_restored.ts';
import type { Restored } from './settle_restored.ts';
import { openTelling } from './telling.ts';
import { tellReconciled } from './tell_reconciled.ts';
import { counted } from '../../platform/counted.ts';

/** With less disk space, PostgreSQL cannot create another WAL file. */
const room_bytes_min = 16 * 2 ** 20;

/** The options of `sluice restore`. */
type RestoreFlags = { passphraseFile?: string; to?: string; lost?: string; json?: boolean };

/**
 * `sluice restore`: restores a backup into empty stores, then asks the destinations for later
 * deliveries. Exit code 0: `sluice start` can continue; 1: some exports wait for
 * `sluice reconcile`.
 */
export async function restore(
  context: CommandContext,
  address: string,
  flags: RestoreFlags,
): Promise<number> {
  const place = openPlace(address, proxiesOf(context.config));
  const lost = lostStoreOf(flags.lost);
  const backup = await chooseBackup(place, flags.to);
  const passphrase = readPassphrase(context.config, flags.passphraseFile);
  const began = performance.now();
  const restored = await restoreBackup(context, place, backup, passphrase, { lost });
  const { manifest } = backup;
  if (flags.json === true) {
    const { exports, said } = restored;
    context.say(JSON.stringify({ taken_at: manifest.taken_at, exports, said }));
  } else {
    tellRestored(context, backup, restored, { lost, began });
  }
  return restored.exports.some(({ is_waiting }) => is_waiting) ? 1 : 0;
}

function tellRestored(
  { say }: CommandContext,
  { name, manifest }: KnownBackup,
  { exports, said }: Restored,
  { lost, began }: { lost: LostStore | undefined; began: number },
): void {
  const rows = (table: string) => rowsOf(manifest, table);
  const persons = counted(rows('persons'), 'person version');
  const analytics = `${counted(rows('events'), 'event')}, ${persons}`;
  const control = `${counted(manifest.tables.length, 'table')} of the control store`;
  const what = { postgres: control, clickhouse: analytics, both: `${analytics}, ${control}` };
  say(
    `Restored the backup ${name}: ${what[lost ?? 'both']}, in ` +
      `${((performance.now() - began) / 1_000).toFixed(1)} s.`,
  );
  if (lost !== undefined) say(`${storeName(keptStore(lost))} was kept unchanged.`);
  say(
    lost === 'postgres'
      ? `Changes since ${manifest.control_taken_at} are lost: make them again.`
      : `Events ingested since ${manifest.taken_at} are not in it. Those that were delivered are ` +
          'named below; the rest is lost, and their number is unknown.',
  );
  for (const sentence of said) say(sentence);
  tellReconciled(exports, say);
  say(`Now run \`${commandLine('start')}\`.`);
}

/**
 * Restores a backup and reconciles its exports. Checks backup, passphrase and stores before it
 * creates anything. Changed bytes are found later, and then everything created is deleted again.
 * With `compares`, reads the control store again and compares it with the backup. With `lost`,
 * restores only that store and keeps the other one.
 */
export async function restoreBackup(
  context: Pick<CommandContext, 'config' | 'log'>,
  place: BackupPlace,
  backup: KnownBackup,
  passphrase: string,
  { compares = false, lost }: { compares?: boolean; lost?: LostStore | undefined } = {},
): Promise<Restored> {
  const { config, log } = context;
  const keys = await openBackupKeys(place, backup, passphrase);
  requireKnownSchema(backup.manifest);
  await requireFiles(place, backup.manifest);
  // The keys of a kept control store may be newer than those in the backup.
  const isControlKept = lost === 'clickhouse';
  if (!isControlKept && config.secret_key !== undefined && !keys.includes(config.secret_key))
    throw new UserError(
      'SLUICE_SECRET_KEY is not the secret key of the backup. Set that one, or none: then it ' +
        'is stored in the data folder.',
    );
  await (lost === undefined ? prepareFolder(config) : prepareForLost(config, lost));
  let stores: Stores | undefined;
  try {
    stores = await openStores(config, log, { is_restoring: true });
    if (!isControlKept && config.secret_key === undefined)
      writeKeptSecretKeys(config.data_dir, keys);
    const { manifest } = backup;
    await fillStores(context, stores, { place, manifest, compares, lost });
    const restored = await settleRestored(context, stores, { place, backup, passphrase, lost });
    await stores.close();
    await rm(join(config.data_dir, restoring_name), { force: true });
    return restored;
  } catch (error) {
    // The folder's content belongs to another process then.
    if (error instanceof FolderInUseError) throw error;
    // Free space is checked before anything is deleted.
    const told = (await lacksRoom(config, error)) ? noRoom(config, backup.manifest) : error;
    await stores?.close();
    if (lost === undefined) {
      await clearFolder(config.data_dir);
      await rm(join(config.data_dir, restoring_name), { force: true });
    } else await clearLost(config, lost);
    throw told;
  }
}

/**
 * A store that ends because it cannot write only shows a broken connection, so the remaining disk
 * space explains it.
 */
async function lacksRoom(config: Config, error: unknown): Promise<boolean> {
  const isEmbedded = config.database_url === undefined || config.clickhouse_url === undefined;
  if (!isEmbedded || error instanceof UserError) return false;
  return isDiskFull(error) || ((await freeBytes(config.data_dir)) ?? Infinity) < room_bytes_min;
}

function noRoom({ data_dir }: Config, manifest: Manifest): UserError {
  const bytes = filesOf(manifest).reduce((sum, file) => sum + file.bytes, 0);
  return new UserError(
    `There is no room left in ${data_dir}: the files of the backup take ` +
      `${Math.ceil(bytes / 2 ** 20)} MiB compressed; the stores need several times as much, ` +
      'plus some 100 MiB. The ' +
      'restored part was removed again. Make room, or set SLUICE_DATA_DIR to another folder, ' +
      'then restore again.',
  );
}

async function requireFiles(place: BackupPlace, manifest: Manifest): Promise<void> {
  const files = filesOf(manifest);
  const present = await presentFiles(place, files);
  const missing = files.find(({ name }) => !present.has(name));
  if (missing !== undefined) throw damagedFile(place, missing.name);
}

/** Marks the folder, so that no server starts on a partial restore. */
async function prepareFolder(config: Config): Promise<void> {
  const { data_dir } = config;
  const unfinished = unfinishedRestore(config);
  if (unfinished !== undefined && unfinished !== 'both')
    throw new UserError(
      `A restore of ${storeName(unfinished)} alone into ${data_dir} is unfinished, and the ` +
        `other store there is intact. Restore again with --lost ${unfinished}.`,
    );
  lockDataFolder(data_dir)();
  const names = readdirSync(data_dir).filter((name) => name !== 'lost+found');
  if (names.length > 0 && !names.includes(restoring_name))
    throw new UserError(
      `The data folder ${data_dir} is not empty. Restore into an empty folder: set ` +
        'SLUICE_DATA_DIR, or move the files to another place.',
    );
  await clearFolder(data_dir);
  await writeFile(join(data_dir, restoring_name), '', { flush: true });
}

/**
 * Deletes what a restore has created, except the mark, which also identifies the leftover of a
 * kill.
 */
async function clearFolder(folder: string): Promise<void> {
  for (const name of readdirSync(folder))
    if (name !== 'lost+found' && name !== restoring_name)
      await rm(join(folder, name), { recursive: true, force: true });
}

async function fillStores(
  { config, log }: Pick<CommandContext, 'config' | 'log'>,
  stores: Stores,
  {
    place,
    manifest,
    compares,
    lost,
  }: { place: BackupPlace; manifest: Manifest; compares: boolean; lost: LostStore | undefined },
): Promise<void> {
  const tell = openTelling();
  const db = openDatabase(stores.database_url, {
    connections_max: 2,
    application_name: 'sluice-restore',
  });
  const clickhouse = openAnalytics(config, stores, { application: 'sluice-restore' });
  try {
    await waitForStores({ db, database_url: stores.database_url, clickhouse }, log);
    if (lost !== 'clickhouse') await requireEmptyControl(db);
    if (lost !== 'postgres') {
      await requireEmptyAnalytics(clickhouse);
      await migrateClickHouse(clickhouse, join(migrations_folder, 'clickhouse'), {
        only: new Set(manifest.analytics_migrations),
      });
      await fillAnalytics(clickhouse, place, manifest, tell);
    }
    if (lost === 'clickhouse') return;
    const only = new Set(manifest.migrations.map(({ name }) => name));
    await migratePostgres(db, migrations_folder, version, only);
    await fillControl(stores.database_url, place, manifest, { compares, tell });
    // It identifies the PostgreSQL of the copy.
    await db.run(sql`DELETE FROM server_facts WHERE name = 'control_store'`);
  } finally {
    await clickhouse.close();
    await db.close();
  }
}
