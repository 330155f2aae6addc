import sql from 'sql-template-tag';
import type { Database } from '../../../platform/postgres/database.ts';

/** Days for which an ended action is kept. */
const kept_days = 30;

/** Removes actions that ended 30 days ago, one at a time with its items. */
export async function sweepBulkActions(
  { db }: { db: Database },
  signal?: AbortSignal,
): Promise<void> {
  let removed = 1;
  while (removed > 0 && signal?.aborted !== true)
    removed = await db.run(sql`
      DELETE FROM bulk_actions WHERE id IN (SELECT id FROM bulk_actions
        WHERE finished_at < now() - make_interval(days => ${kept_days}) LIMIT 1)`);
}
