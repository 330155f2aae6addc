import sql from 'sql-template-tag';
import { isoInstant } from '../../platform/clock.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Queryable } from '../../platform/postgres/database.ts';

/** Retention of notices, delivered or not: 30 days. */
const kept_ms = 30 * 24 * 3_600_000;
/**
 * Number of notices that one statement removes with their results: few enough to hold its locks
 * only for milliseconds.
 */
const lot_notices = 500;

/**
 * Removes notices and their results after 30 days, in batches, until none is left or `signal` stops
 * it.
 */
export async function sweepNotices(
  { db, clock }: { db: Queryable; clock: Clock },
  signal?: AbortSignal,
): Promise<void> {
  const before = isoInstant(clock.now() - kept_ms);
  let removed = lot_notices;
  while (removed === lot_notices && signal?.aborted !== true) {
    // Uses notices_by_age. SKIP LOCKED: two processes remove different notices, and the deletion of
    // an export removes its own.
    removed = await db.run(sql`
      DELETE FROM notices WHERE id IN (
        SELECT id FROM notices WHERE created_at < ${before}::timestamptz ORDER BY created_at
          LIMIT ${lot_notices} FOR UPDATE SKIP LOCKED)`);
  }
}
