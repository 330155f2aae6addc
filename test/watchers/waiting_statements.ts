import sql from 'sql-template-tag';
import type { Queryable } from '../../server/platform/postgres/database.ts';

/** Counts the statements on the test's control store that wait for another transaction. */
export async function countWaiting(db: Queryable): Promise<number> {
  const row = await db.row<{ waiting: number }>(
    sql`SELECT count(*) AS waiting FROM pg_stat_activity WHERE datname = current_database()
      AND wait_event_type = 'Lock'`,
  );
  return row!.waiting;
}
