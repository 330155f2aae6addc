import sql from 'sql-template-tag';
import { isoInstant } from '../clock.ts';
import type { Clock } from '../clock.ts';
import type { Queryable } from '../postgres/database.ts';

/** Time for which a mail's row is stored after its end: 7 days. */
const kept_ms = 7 * 24 * 3_600_000;
/**
 * Number of mails that one statement removes: few enough to hold its locks only for milliseconds.
 */
const lot_mails = 500;

/** Removes mails 7 days after their end, in batches, until none is left or `signal` stops it. */
export async function sweepMails(
  { db, clock }: { db: Queryable; clock: Clock },
  signal?: AbortSignal,
): Promise<void> {
  const before = isoInstant(clock.now() - kept_ms);
  let removed = lot_mails;
  while (removed === lot_mails && signal?.aborted !== true) {
    // Uses mails_by_end. SKIP LOCKED: two processes remove different ones.
    removed = await db.run(sql`
      DELETE FROM mails WHERE id IN (
        SELECT id FROM mails WHERE expires_at < ${before}::timestamptz ORDER BY expires_at
          LIMIT ${lot_mails} FOR UPDATE SKIP LOCKED)`);
  }
}
