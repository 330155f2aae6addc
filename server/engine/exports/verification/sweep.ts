import sql from 'sql-template-tag';
import { isoInstant } from '../../../platform/clock.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/postgres/database.ts';

const kept_ms = 400 * 24 * 3_600_000;
const kept_of_export = 100;
/** Number of verifications that one statement removes, with their findings. */
const lot = 20;

/**
 * Removes verifications that ended more than 400 days ago, and all but the newest hundred of each
 * export, until none is left or `signal` stops it. The newest complete one stays: it shows up to
 * when the export is verified.
 */
export async function sweepVerifications(
  { db, clock }: { db: Database; clock: Clock },
  signal?: AbortSignal,
): Promise<void> {
  const before = isoInstant(clock.now() - kept_ms);
  let removed = lot;
  while (removed > 0 && signal?.aborted !== true)
    removed = await db.run(sql`
      DELETE FROM batch_export_verifications WHERE id IN (
        SELECT id FROM (SELECT id, finished_at, status,
            row_number() OVER (PARTITION BY batch_export_id
              ORDER BY created_at DESC, id DESC) AS place,
            row_number() OVER (PARTITION BY batch_export_id, status
              ORDER BY created_at DESC, id DESC) AS place_of_status
          FROM batch_export_verifications) ranked
        WHERE finished_at IS NOT NULL AND (status <> 'Completed' OR place_of_status > 1)
          AND (finished_at < ${before}::timestamptz OR place > ${kept_of_export})
        LIMIT ${lot})`);
}
