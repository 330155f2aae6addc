import sql from 'sql-template-tag';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import { commandLine } from '../../platform/command_line.ts';
import type { Database } from '../../platform/postgres/database.ts';

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
  const found = await clickhouse.query({
    query: `SELECT 1 FROM system.tables WHERE database = currentDatabase()
      AND name = 'migrations'`,
    format: 'JSONEachRow',
  });
  if ((await found.json()).length > 0) return undefined;
  return (
    'The analytics store is empty, and events were taken into one. If it is the wrong one, set ' +
    'SLUICE_CLICKHOUSE_URL, or SLUICE_DATA_DIR, to where their rows are. If they are lost, bring ' +
    `them back with \`${commandLine('restore <place> --lost clickhouse')}\`. If there is nothing ` +
    `to bring back, say so once with \`${commandLine('migrate --accept-store')}\`.`
  );
}
