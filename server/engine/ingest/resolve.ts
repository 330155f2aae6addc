import sql from 'sql-template-tag';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import type { Logger } from '../../platform/log.ts';
import { isDatabaseError } from '../../platform/postgres/database.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { clearBatch, is_batch_elsewhere, lockForWriting } from './lock.ts';
import { settleBatch } from './settle_batch.ts';

const batches_per_call_max = 20;
/** PostgreSQL's code for a lock timeout. */
const lock_not_available = '55P03';

/**
 * Ends overdue batches with an unknown end, so that they no longer delay the exports of their
 * projects. Otherwise only the project's next batch would end them. At most 20 per call, one after
 * the other; waits at most two seconds for a project's lock: its holder ends the batch first. A
 * batch that cannot be ended now stays unchanged and is logged.
 */
export async function resolveBatches(
  db: Database,
  clickhouse: ClickHouse,
  log: Logger,
): Promise<void> {
  // In random order, so that batches that cannot be ended do not block the others. The partial
  // index ingestion_states_open has few rows.
  const open = await db.rows<{ team_id: number }>(sql`
    SELECT team_id FROM ingestion_states s WHERE batch_id IS NOT NULL
      AND batch_ends_at < clock_timestamp() AND NOT ${is_batch_elsewhere}
    ORDER BY random() LIMIT ${batches_per_call_max}`);
  for (const { team_id } of open) await resolveBatch(db, clickhouse, log, team_id);
}

async function resolveBatch(
  db: Database,
  clickhouse: ClickHouse,
  log: Logger,
  teamId: number,
): Promise<void> {
  try {
    await db.transaction(async (tx) => {
      await tx.run(sql`SET LOCAL lock_timeout = '2s'`);
      await lockForWriting(tx, teamId);
      // Read again under the lock: the project's next batch may have ended it, or it may be a new
      // one whose writer lost the lock and may still send.
      const state = await tx.row<{ batch_id: string; last_inserted_at: string }>(
        sql`SELECT batch_id, last_inserted_at FROM ingestion_states s
          WHERE team_id = ${teamId} AND batch_id IS NOT NULL
            AND batch_ends_at < clock_timestamp() AND NOT ${is_batch_elsewhere}`,
      );
      if (state === undefined) return;
      if (await settleBatch(clickhouse, teamId, state))
        await clearBatch(tx, teamId, state.batch_id);
      else
        log.warn(
          { team_id: teamId, batch_id: state.batch_id },
          'the store did not say whether a batch has ended; Sluice asks it again',
        );
    });
  } catch (error) {
    if (isDatabaseError(error) && error.code === lock_not_available) return;
    log.warn(
      { err: error, team_id: teamId },
      'a batch with an unknown outcome could not be settled; Sluice retries it',
    );
  }
}
