import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { row_tables } from '../../engine/model/removals/delete_rows.ts';
import type { RowTable } from '../../engine/model/removals/delete_rows.ts';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import { caughtUp } from '../../platform/clickhouse/topology/caught_up.ts';
import { counted } from '../../platform/counted.ts';
import { openAnalyticsAsIs } from '../stores/analytics_store.ts';
import type { CommandContext } from '../command_context.ts';
import { joinStores, openStores } from '../stores/stores.ts';
import { rows_per_file } from './analytics_copy.ts';
import { createBackup } from './backup.ts';
import { openDrillFolder } from './drill_folder.ts';
import { listBackups, readManifest } from './manifest.ts';
import type { KnownBackup, Manifest } from './manifest.ts';
import { readPassphrase } from './passphrase.ts';
import { proxiesOf } from '../../config/outbound.ts';
import { openPlace } from './places/open_place.ts';
import { restoreBackup } from './restore.ts';
import { tellReconciled } from './tell_reconciled.ts';

/** The options of `sluice drill`. */
type DrillFlags = { from?: string; passphraseFile?: string };

/**
 * `sluice drill`: creates a backup, restores it into a temporary folder with its own stores, checks
 * the destinations like a restore, and compares every row. The server and the destinations stay
 * unchanged. The folder is deleted; after a kill, the next drill deletes it. Exit code 1 if
 * something differs.
 */
export async function drill(context: CommandContext, flags: DrillFlags): Promise<number> {
  const passphrase = readPassphrase(context.config, flags.passphraseFile);
  const folder = openDrillFolder();
  try {
    const place = openPlace(flags.from ?? join(folder, 'backup'), proxiesOf(context.config));
    const seconds = openWatch();
    if (flags.from === undefined) {
      await createBackup(context, place, { passphrase, rows_per_file });
      context.say(`backup   ${seconds()} s`);
    }
    const newest = (await listBackups(place)).at(-1);
    if (newest === undefined) return noBackup(context, place.name);
    const backup = await readManifest(place, newest);
    const restored = restoredContext(context, join(folder, 'data'));
    seconds();
    const { exports: found } = await restoreBackup(restored, place, backup, passphrase, {
      compares: true,
    });
    context.say(`restore  ${seconds()} s`);
    tellReconciled(found, context.say);
    if (found.some(({ is_waiting }) => is_waiting))
      context.say('A restore would ask you for this. At the server itself, no export waits.');
    context.say(
      `control store: ${counted(backup.manifest.tables.length, 'table')}, ` +
        `${counted(controlRows(backup.manifest), 'row')} compared, 0 differ`,
    );
    const differing = await compareAnalytics(context, restored, backup);
    return differing === 0 ? 0 : 1;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function noBackup({ say }: CommandContext, name: string): number {
  say(`There is no complete backup in ${name}.`);
  return 1;
}

/** Returns the same settings with other stores. */
function restoredContext({ config, log, say }: CommandContext, data_dir: string): CommandContext {
  const own = {
    database_url: undefined,
    clickhouse_url: undefined,
    clickhouse_cluster: undefined,
    secret_key: undefined,
  };
  return { log, say, config: { ...config, ...own, previous_secret_keys: [], data_dir } };
}

/** Returns a function that returns the seconds since its last call. */
function openWatch(): () => string {
  let last = performance.now();
  return () => {
    const passed = performance.now() - last;
    last = performance.now();
    return (passed / 1_000).toFixed(1);
  };
}

function controlRows({ tables }: Manifest): number {
  return tables.reduce((sum, { rows }) => sum + rows, 0);
}

/** Count and digest of a table's rows inserted before an instant. */
type Sum = { rows: number; digest: string };

async function compareAnalytics(
  context: CommandContext,
  restored: CommandContext,
  { manifest }: KnownBackup,
): Promise<number> {
  const server = await joinStores(context.config, context.log, { start: 'existing' });
  const copy = await openStores(restored.config, restored.log);
  const options = { application: 'sluice-drill' };
  const source = await openAnalyticsAsIs(context.config, server, options);
  const found = await openAnalyticsAsIs(restored.config, copy, options);
  let differing = 0;
  try {
    for (const table of row_tables) {
      const [wanted, there] = [
        await sumOf(source, table, manifest),
        await sumOf(found, table, manifest),
      ];
      const isSame = wanted.rows === there.rows && wanted.digest === there.digest;
      if (!isSame) differing += 1;
      context.say(
        `${table}: ${counted(wanted.rows, 'row')} compared, ` +
          (isSame ? '0 differ' : `they DIFFER: ${counted(there.rows, 'row')} in the copy`),
      );
    }
  } finally {
    await Promise.all([source.close(), found.close()]);
    await copy.close();
    await server.close();
  }
  return differing;
}

/** Each row counts with a hash of all its values, regardless of the order of rows. */
async function sumOf(
  clickhouse: ClickHouse,
  table: RowTable,
  { stretches, taken_at }: Manifest,
): Promise<Sum> {
  const columns = stretches.findLast((stretch) => stretch.table === table)?.columns ?? [];
  const [row] = await caughtUp(clickhouse, [table], async () => {
    return clickhouse.rows<{ rows: string; digest: string }>({
      query: `SELECT count() AS rows, toString(sum(cityHash64(${columns.join(', ')}))) AS digest
        FROM ${table} WHERE inserted_at < {taken_at:DateTime64(6, 'UTC')}`,
      query_params: { taken_at: taken_at.slice(0, -1).replace('T', ' ') },
      clickhouse_settings: { max_threads: 2 },
    });
  });
  return { rows: Number(row?.rows ?? 0), digest: row?.digest ?? '' };
}
