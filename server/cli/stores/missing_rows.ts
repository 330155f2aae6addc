import sql from 'sql-template-tag';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import { commandLine } from '../../platform/command_line.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { hasTable } from './ask.ts';

/**
 * A sentence where the control store is empty and the analytics store has events: a start would
 * give the number of the project that they are of to a new one, and its owner the events. Changes
 * nothing.
 */
export async function findLostControl(
  db: Database,
  clickhouse: ClickHouse,
): Promise<string | undefined> {
  if (!(await isEmpty(db))) return undefined;
  if (!(await hasTable(clickhouse, 'events'))) return undefined;
  const found = await clickhouse.rows({ query: 'SELECT 1 FROM events LIMIT 1' });
  // Once more: a server that starts at the same time creates its tables before it takes events.
  if (found.length === 0 || !(await isEmpty(db))) return undefined;
  return (
    'The control store is empty, and the analytics store has events. If it is the wrong one, set ' +
    'SLUICE_DATABASE_URL, or SLUICE_DATA_DIR, to where people and exports are. If they are lost, ' +
    `bring them back with \`${commandLine('restore <place> --lost postgres')}\`. If there is ` +
    'nothing to bring back, name an empty ClickHouse too.'
  );
}

/** A sentence where the control store is empty, so that nothing can be backed up. */
export async function findEmptyControl(
  db: Database,
  clickhouse: ClickHouse,
): Promise<string | undefined> {
  const lost = await findLostControl(db, clickhouse);
  if (lost !== undefined || !(await isEmpty(db))) return lost;
  return (
    'The control store is empty: no server was started on it, so there is nothing to back up. If ' +
    'it is the wrong one, set SLUICE_DATABASE_URL, or SLUICE_DATA_DIR, to where people and ' +
    'exports are.'
  );
}

async function isEmpty(db: Database): Promise<boolean> {
  return (await db.row(sql`SELECT 1 WHERE to_regclass('migrations') IS NULL`)) !== undefined;
}

/**
 * A sentence where events were taken, and the analytics store has never been one of ours: their
 * rows are lost, or it is not the store that has them. A start would fill it anew, and the exports
 * would go on as if nothing were missing. Changes nothing; the control store has its tables.
 */
export async function findLostAnalytics(
  db: Database,
  clickhouse: ClickHouse,
): Promise<string | undefined> {
  // In this order: a server that starts at the same time creates the tables before it takes events.
  const taken = await db.row(
    sql`SELECT 1 FROM ingestion_states WHERE last_inserted_at IS NOT NULL LIMIT 1`,
  );
  if (taken === undefined) return undefined;
  if (await hasTable(clickhouse, 'migrations')) return undefined;
  return (
    'The analytics store is empty, and events were taken into one. If it is the wrong one, set ' +
    'SLUICE_CLICKHOUSE_URL, or SLUICE_DATA_DIR, to where their rows are. If they are lost, bring ' +
    `them back with \`${commandLine('restore <place> --lost clickhouse')}\`. If there is nothing ` +
    `to bring back, say so once with \`${commandLine('migrate --accept-store clickhouse')}\`.`
  );
}
