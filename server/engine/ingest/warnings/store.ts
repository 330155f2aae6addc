import sql from 'sql-template-tag';
import type { Database, Queryable } from '../../../platform/postgres/database.ts';
import { isoInstant } from '../../../platform/clock.ts';
import type { PendingWarning } from './warning.ts';

/** Number of examples for each hour and reason. */
export const examples_max = 5;
const kept_ms = 90 * 24 * 3_600_000;

/**
 * Adds the counts in one statement; skips deleted projects. Every process writes rows in the same
 * order, which avoids deadlocks; the locks on the projects keep a deletion from interfering.
 */
export async function storeWarnings(db: Database, warnings: PendingWarning[]): Promise<void> {
  await db.run(sql`
    WITH noted AS (
      SELECT * FROM jsonb_to_recordset(${JSON.stringify(warnings)}::jsonb) AS n (team_id integer,
        hour timestamptz, reason text, events bigint, last_at timestamptz, examples jsonb)),
    present AS (SELECT id FROM projects WHERE id IN (SELECT team_id FROM noted) ORDER BY id
      FOR KEY SHARE)
    INSERT INTO ingestion_warnings AS w (team_id, hour, reason, events, last_at, examples)
    SELECT n.* FROM noted AS n JOIN present ON present.id = n.team_id ORDER BY 1, 2, 3
    ON CONFLICT (team_id, hour, reason) DO UPDATE SET
      events = w.events + excluded.events,
      last_at = greatest(w.last_at, excluded.last_at),
      examples = (SELECT jsonb_agg(one ORDER BY place)
        FROM jsonb_array_elements(excluded.examples || w.examples) WITH ORDINALITY AS e (one, place)
        WHERE place <= ${examples_max}::bigint)`);
}

/** Removes warnings older than 90 days. Uses ingestion_warnings_by_age. */
export async function sweepWarnings(db: Queryable, now_ms: number): Promise<void> {
  await db.run(sql`DELETE FROM ingestion_warnings
    WHERE hour < ${isoInstant(now_ms - kept_ms)}::timestamptz`);
}
