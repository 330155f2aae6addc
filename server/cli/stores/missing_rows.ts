import { existsSync } from 'node:fs';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import type { Config } from '../../config/config.ts';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import { commandLine } from '../../platform/command_line.ts';
import { openDatabase } from '../../platform/postgres/database.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { openAnalytics } from './analytics_store.ts';
import { hasTable } from './ask.ts';

/**
 * Returns a warning if the control store is empty and the analytics store has events. A start would
 * give their project's number to a new project, whose owner would then see the events. Changes
 * nothing.
 */
export async function findLostControl(
  db: Database,
  clickhouse: ClickHouse,
): Promise<string | undefined> {
  if (!(await isEmpty(db))) return undefined;
  if (!(await hasTable(clickhouse, 'events'))) return undefined;
  // Checks again: a server that starts at the same time creates its tables before it ingests
  // events.
  if (!(await hasEvents(clickhouse)) || !(await isEmpty(db))) return undefined;
  return lostControl();
}

async function hasEvents(clickhouse: ClickHouse): Promise<boolean> {
  return (await clickhouse.rows({ query: 'SELECT 1 FROM events LIMIT 1' })).length > 0;
}

function lostControl(): string {
  return (
    'The control store is empty, and the analytics store has events. If it is the wrong one, set ' +
    'SLUICE_DATABASE_URL, or SLUICE_DATA_DIR, to the store with your people and exports. If ' +
    `they are lost, bring them back with \`${commandLine('restore <place> --lost postgres')}\`. ` +
    'If there is nothing to restore, name an empty ClickHouse too.'
  );
}

/** Returns a warning if the control store is empty, so a backup would have no content. */
export async function findEmptyControl(
  db: Database,
  clickhouse: ClickHouse,
): Promise<string | undefined> {
  const lost = await findLostControl(db, clickhouse);
  if (lost !== undefined || !(await isEmpty(db))) return lost;
  return (
    'The control store is empty: no server was started on it, so there is nothing to back up. If ' +
    'it is the wrong one, set SLUICE_DATABASE_URL, or SLUICE_DATA_DIR, to the store with your ' +
    'people and exports.'
  );
}

async function isEmpty(db: Database): Promise<boolean> {
  return (await db.row(sql`SELECT 1 WHERE to_regclass('migrations') IS NULL`)) !== undefined;
}

/**
 * Returns a warning if events were ingested, but the analytics store never had our tables: the rows
 * are lost, or this is another store. A start would create it empty, and the exports would continue
 * as if no rows were missing. Changes nothing; the control store has its tables.
 */
export async function findLostAnalytics(
  db: Database,
  clickhouse: ClickHouse,
): Promise<string | undefined> {
  // The order matters: a server that starts at the same time creates the tables before it ingests
  // events.
  if (!(await hasTaken(db)) || (await hasTable(clickhouse, 'migrations'))) return undefined;
  return lostAnalytics();
}

async function hasTaken(db: Database): Promise<boolean> {
  const taken = sql`SELECT 1 FROM ingestion_states WHERE last_inserted_at IS NOT NULL LIMIT 1`;
  return (await db.row(taken)) !== undefined;
}

function lostAnalytics(): string {
  return (
    'The analytics store is empty, but this server has ingested events. If it is the wrong ' +
    'store, set SLUICE_CLICKHOUSE_URL, or SLUICE_DATA_DIR, to the right one. If the rows are ' +
    `lost, bring them back with \`${commandLine('restore <place> --lost clickhouse')}\`. If ` +
    'there is no backup, confirm that once with ' +
    `\`${commandLine('migrate --accept-store clickhouse')}\`.`
  );
}

/**
 * Returns a warning if the data folder has only one of the two stores: opening the folder would
 * create the other empty. If a setting names the other store, asks that store for data; if it does
 * not answer, its user reports that. Creates nothing.
 */
export async function findLostFolder(
  config: Config,
  lost: 'postgres' | 'clickhouse',
): Promise<string | undefined> {
  const { database_url, clickhouse_url, data_dir } = config;
  if (database_url !== undefined) {
    const db = openDatabase(database_url, { connections_max: 1, application_name: 'sluice-look' });
    const isLost = await hasTaken(db).catch(() => false);
    await db.close();
    return isLost ? lostAnalytics() : undefined;
  }
  if (clickhouse_url !== undefined) {
    const clickhouse = openAnalytics(config, { clickhouse_url }, { application: 'sluice-look' });
    const isLost = await hasEvents(clickhouse).catch(() => false);
    await clickhouse.close();
    return isLost ? lostControl() : undefined;
  }
  const kept = lost === 'postgres' ? 'clickhouse' : 'postgres';
  if (!existsSync(join(data_dir, kept))) return undefined;
  return (
    `${data_dir} has the folder ${kept}, but no folder ${lost}. If it is the wrong one, set ` +
    `SLUICE_DATA_DIR. If the store is lost, bring it back with \`${commandLine(
      `restore <place> --lost ${lost}`,
    )}\`. If no event has been ingested yet, ` +
    `\`${commandLine('start')}\` creates it.`
  );
}
