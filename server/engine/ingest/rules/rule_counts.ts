import sql from 'sql-template-tag';
import { isoInstant } from '../../../platform/clock.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Logger } from '../../../platform/log.ts';
import { openDelayed } from '../../../platform/pacing/delayed.ts';
import type { Database, Queryable } from '../../../platform/postgres/database.ts';

/** One process's writer of the table of counts. */
export type RuleCounts = {
  /** Adds events that a rule or another source changed or dropped: cheap, never throws. */
  note(team_id: number, source: string, events: number): void;
  /** Stores the counts so far. Never throws: counts that could not be stored are retried. */
  store(): Promise<void>;
};

type Count = { team_id: number; hour: string; source: string; events: number };
type Parts = { db: Database; clock: Clock; log: Logger };

const hour_ms = 3_600_000;
const kept_ms = 90 * 24 * hour_ms;
/** Most counts that wait while the control store is unreachable. */
const waiting_max = 20_000;

const opened = new WeakMap<Database, RuleCounts>();

/**
 * The counts of one process: held in memory, and added to the table once a second in one statement,
 * for any number of events. A kill loses the counts of the last second, but no event.
 */
export function sharedRuleCounts({ db, clock, log }: Parts): RuleCounts {
  const known = opened.get(db);
  if (known !== undefined) return known;
  let waiting = new Map<string, Count>();
  const add = (count: Count) => {
    const key = `${count.team_id} ${count.hour} ${count.source}`;
    const before = waiting.get(key);
    if (before !== undefined) before.events += count.events;
    else if (waiting.size < waiting_max) waiting.set(key, count);
  };
  const delayed = openDelayed(async () => {
    const counts = [...waiting.values()];
    waiting = new Map();
    try {
      if (counts.length > 0) await storeCounts(db, counts);
    } catch (error) {
      log.warn({ err: error }, 'counts of ingestion rules could not be stored; Sluice retries');
      counts.forEach(add);
      delayed.plan();
    }
  });
  const counts: RuleCounts = {
    note: (team_id, source, events) => {
      const now = clock.now();
      add({ team_id, hour: isoInstant(now - (now % hour_ms)), source, events });
      delayed.plan();
    },
    store: delayed.store,
  };
  opened.set(db, counts);
  return counts;
}

/**
 * Adds the counts in one statement; skips deleted projects. Every process writes rows in the same
 * order, which avoids deadlocks; the locks on the projects keep a deletion from interfering.
 */
async function storeCounts(db: Database, counts: Count[]): Promise<void> {
  await db.run(sql`
    WITH noted AS (
      SELECT * FROM jsonb_to_recordset(${JSON.stringify(counts)}::jsonb)
        AS n (team_id integer, hour timestamptz, source text, events bigint)),
    present AS (SELECT id FROM projects WHERE id IN (SELECT team_id FROM noted) ORDER BY id
      FOR KEY SHARE)
    INSERT INTO ingestion_rule_counts AS c (team_id, hour, source, events)
    SELECT n.* FROM noted AS n JOIN present ON present.id = n.team_id ORDER BY 1, 2, 3
    ON CONFLICT (team_id, hour, source) DO UPDATE SET events = c.events + excluded.events`);
}

/** Removes counts older than 90 days. Uses ingestion_rule_counts_by_age. */
export async function sweepRuleCounts(db: Queryable, now_ms: number): Promise<void> {
  await db.run(sql`DELETE FROM ingestion_rule_counts
    WHERE hour < ${isoInstant(now_ms - kept_ms)}::timestamptz`);
}
