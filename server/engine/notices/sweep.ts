import sql from 'sql-template-tag';
import { isoInstant } from '../../platform/clock.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Queryable } from '../../platform/postgres/database.ts';

/** For how long notices are kept, delivered or not: 30 days. */
const kept_ms = 30 * 24 * 3_600_000;
/**
 * Number of notices that one statement removes with their results: few enough that its locks are
 * held for milliseconds.
 */
const lot_notices = 500;

/**
 * Removes notices after 30 days, with what became of them, a lot at a time, until none is left or
 * `signal` stops it.
 */
export async function sweepNotices(
  { db, clock }: { db: Queryable; clock: Clock },
  signal?: AbortSignal,
): Promise<void> {
  const before = isoInstant(clock.now() - kept_ms);
  let removed = lot_notices;
  while (removed === lot_notices && signal?.aborted !== true) {
    // Leans on notices_by_age. SKIP LOCKED: two processes remove different ones, and whoever
    // deletes an export removes its own.
    removed = await db.run(sql`
      DELETE FROM notices WHERE id IN (
        SELECT id FROM notices WHERE created_at < ${before}::timestamptz ORDER BY created_at
          LIMIT ${lot_notices} FOR UPDATE SKIP LOCKED)`);
  }
}
