import { join } from 'node:path';
import { WrongValue, urls } from '../../config/values.ts';
import { openClickHouse } from '../../platform/clickhouse/client.ts';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import { migrateClickHouse } from '../../platform/clickhouse/migrate.ts';
import { findFacts } from '../../platform/clickhouse/topology/detect.ts';
import { commandLine } from '../../platform/command_line.ts';
import { counted } from '../../platform/counted.ts';
import { openDatabase } from '../../platform/postgres/database.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { openServerSecrets } from '../../platform/secrets/server_keys.ts';
import { findCut } from '../backup/analytics_copy.ts';
import type { CommandContext } from '../command_context.ts';
import { migrations_folder, secretKeysOf } from '../process/process.ts';
import { joinStores } from '../stores/stores.ts';
import { UserError, WrongUsageError } from '../user_error.ts';
import { filled_by, waitForClickHouse } from '../stores/wait_for_stores.ts';
import { copyRows } from './copy_rows.ts';
import type { Move } from './copy_rows.ts';
import { claimTarget, markTarget } from './move_marks.ts';
import { giveBack, movedTables, switchStore } from './switch_store.ts';

/** The options of `sluice migrate-store`. */
type MigrateStoreFlags = {
  to?: string;
  toCluster?: string;
  switch?: boolean;
  undo?: boolean;
};

/** A shorter pass leaves little to copy. */
const short_pass_ms = 10_000;
const passes_max = 5;

/**
 * Moves events and persons from the server's store, which is one node, into another one. Without
 * `switch`, the server keeps using its store, and the other one catches up. With it, the server's
 * store is closed to writes and the last rows are copied. Guarantee: the switch happens only if
 * both stores have the same rows, counted and hashed. A kill at any point loses nothing, and the
 * same command continues.
 */
export async function migrateStore(
  context: CommandContext,
  flags: MigrateStoreFlags,
): Promise<number> {
  const { config, log } = context;
  const stores = await joinStores(config, log, { start: 'existing' });
  const db = openDatabase(stores.database_url, {
    connections_max: 2,
    application_name: 'sluice-migrate-store',
  });
  const source = openClickHouse(stores.clickhouse_url, { application: 'sluice-migrate-store' });
  try {
    await requireOneNode(source, config.clickhouse_cluster);
    if (flags.undo === true) return await undo(context, source);
    if (flags.to === undefined) throw new WrongUsageError('Name the other store with --to <url>.');
    const { public_key: server } = await openServerSecrets(db, () => secretKeysOf(config));
    const target = openClickHouse(addressOf(flags.to), {
      application: 'sluice-migrate-store',
      cluster: flags.toCluster,
    });
    try {
      await waitForClickHouse(target, log, 5_000, filled_by);
      return await move(context, { db, source, target, server, flags });
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
    await db.close();
    await stores.close();
  }
}

function addressOf(to: string): string {
  try {
    return urls('http:', 'https:')(to);
  } catch (error) {
    throw error instanceof WrongValue ? new WrongUsageError(`--to ${error.message}`) : error;
  }
}

type Moving = {
  db: Database;
  source: ClickHouse;
  target: ClickHouse;
  server: string;
  flags: MigrateStoreFlags;
};

async function move(
  { say }: CommandContext,
  { db, source, target, server, flags }: Moving,
): Promise<number> {
  await claimTarget(source, target, server);
  await migrateClickHouse(target, join(migrations_folder, 'clickhouse'));
  const open_from = new Date(await findCut(db, 0)).toISOString().slice(0, 10);
  const rows: Omit<Move, 'named'> = { source, target, tell: say, known: new Map(), open_from };
  if ((await movedTables(source)).size === 0) {
    for (let passes = 0; passes < passes_max; passes += 1) {
      const began = performance.now();
      const copied = await copyRows({ ...rows, named: (table) => table }, await findCut(db, 0));
      say(`${counted(copied, 'row')} copied`);
      if (performance.now() - began < short_pass_ms) break;
    }
  } else if (flags.switch !== true)
    throw new UserError(
      'A switch is in progress, and the server refuses events. Finish it with --switch, or ' +
        'give the server its store back with --undo.',
    );
  if (flags.switch !== true) {
    say(
      'The other store has caught up, and the server still uses this one. When you can restart ' +
        `every process: ${commandLine('migrate-store --switch')} with the same --to.`,
    );
    return 0;
  }
  say('From here on, events are answered with 503 until the server starts on the other store.');
  const copied = await switchStore(db, rows);
  await markTarget(target, server, { mark: '', is_ended: 1 });
  say(`${counted(copied, 'row')} copied. Both stores have the same rows.`);
  say(
    'Set SLUICE_CLICKHOUSE_URL to the address of --to' +
      (flags.toCluster === undefined ? '' : ` and SLUICE_CLICKHOUSE_CLUSTER=${flags.toCluster}`) +
      ', and restart every process.',
  );
  return 0;
}

async function undo({ say }: CommandContext, source: ClickHouse): Promise<number> {
  const { size } = await movedTables(source);
  await giveBack(source);
  say(
    size === 0
      ? 'The server was not switched away from the store of these settings.'
      : 'The server may continue with the store of these settings. Events ingested into another ' +
          'store since are not here.',
  );
  return 0;
}

async function requireOneNode(source: ClickHouse, cluster: string | undefined): Promise<void> {
  const { is_cloud, database_engine, tables } = await findFacts(source);
  const replicated = tables.some(
    ({ engine }) => !engine.endsWith('MergeTree') || /^R|^S/.test(engine),
  );
  if (is_cloud || cluster !== undefined || database_engine === 'Replicated' || replicated)
    throw new UserError(
      'The store of these settings has replicas. Only a store of one node can be moved.',
    );
}
