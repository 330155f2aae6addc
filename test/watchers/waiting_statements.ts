import sql from 'sql-template-tag';
import type { Queryable } from '../../server/platform/postgres/database.ts';

/** How many statements on the control store of the test wait for a lock of another transaction. */
export async function countWaiting(db: Queryable): Promise<number> {
  const row = await db.row<{ waiting: number }>(
    sql`SELECT count(*) AS waiting FROM pg_stat_activity WHERE datname = current_database()
      AND wait_event_type = 'Lock'`,
  );
  return row!.waiting;
}
