import sql from 'sql-template-tag';
import { row_tables } from '../../engine/model/removals/delete_rows.ts';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { UserError } from '../user_error.ts';

/**
 * Throws if the database of the control store has a table, because an external store may belong to
 * somebody.
 */
export async function requireEmptyControl(db: Database): Promise<void> {
  const found = await db.row<{ relname: string }>(sql`
    SELECT relname FROM pg_class
    WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace LIMIT 1`);
  if (found !== undefined)
    throw new UserError(
      `The database of SLUICE_DATABASE_URL is not empty: it has the table ${found.relname}. ` +
        'Restore into an empty one.',
    );
}

/** Throws if the database of the analytics store has one of our tables. */
export async function requireEmptyAnalytics(clickhouse: ClickHouse): Promise<void> {
  const [table] = await clickhouse.rows<{ name: string }>({
    query: `SELECT name FROM system.tables WHERE database = currentDatabase()
      AND name IN {names:Array(String)} LIMIT 1`,
    query_params: { names: ['migrations', ...row_tables] },
  });
  if (table !== undefined)
    throw new UserError(
      `The database of SLUICE_CLICKHOUSE_URL is not empty: it has the table ${table.name}. ` +
        'Restore into an empty one.',
    );
}
