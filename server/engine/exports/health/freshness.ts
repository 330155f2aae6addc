import sql, { join } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { isoInstant } from '../../../platform/clock.ts';
import type { Engine } from '../engine.ts';
import { intervals, nominalLength } from '../planning/interval.ts';
import type { Interval } from '../planning/interval.ts';
import type { Notice } from '../../notices/notice.ts';
import { writeNotice } from '../../notices/write_notice.ts';
import { deliveredSentence } from './health.ts';
import { getHealth, putHealth } from './store.ts';

/** Default time for a run, after which its export is late: 10 minutes. */
const run_seconds = 600;
const exports_per_call_max = 500;

/** The parts that a check of lateness needs. */
export type FreshnessRule = Pick<Engine, 'clock' | 'settle_seconds'>;
type Judge = FreshnessRule & Pick<Engine, 'db' | 'log'>;

/**
 * Returns the default limit for the age of an export's newest delivered interval, in seconds: two
 * intervals, the settling time of the store, and ten minutes for the run.
 */
function freshnessLimit(interval: Interval, settle_seconds: number): number {
  return (2 * nominalLength(interval)) / 1000 + settle_seconds + run_seconds;
}

/** Returns SQL for the limit of export `e` in seconds: its own, or the default of its interval. */
function limitOf(judge: FreshnessRule): Sql {
  const limits = intervals.map(
    (interval) =>
      sql`WHEN ${interval} THEN ${freshnessLimit(interval, judge.settle_seconds)}::float8`,
  );
  return sql`coalesce(e.freshness_seconds, CASE e."interval" ${join(limits, ' ')} END)`;
}

/**
 * Since when export `e` with health `h` has been waiting for a delivery; greatest() ignores nulls.
 */
const fresh_since = sql`greatest(h.delivered_until, e.schedule_changed_at, e.start_at)`;
/** An export without planned runs has nothing to deliver. */
const is_watched = sql`(NOT e.paused AND e.next_run_at IS NOT NULL)`;

/**
 * Returns SQL about export `e` with health `h` at this moment: whether it is late, and since when.
 */
export function lateness(judge: FreshnessRule): { is_late: Sql; late_since: Sql } {
  const now = isoInstant(judge.clock.now());
  const late_since = sql`(${fresh_since} + make_interval(secs => ${limitOf(judge)}))`;
  const is_late = sql`(${is_watched} AND ${late_since} < ${now}::timestamptz)`;
  return { is_late, late_since };
}

/**
 * Finds the exports that have become late or are late no longer, notifies once about each, and
 * returns their number. An active export is late if its newest delivered interval ended longer ago
 * than its limit. The time restarts when it is unpaused or its schedule changes. A paused or ended
 * export is no longer late; no notice is sent. Several processes may do this at the same time.
 */
export async function judgeFreshness(judge: Judge): Promise<number> {
  const { is_late: isLate } = lateness(judge);
  // MATERIALIZED, because PostgreSQL overestimates the changes: with the LIMIT it would read both
  // tables row by row through their indexes, and mostly to the end.
  const changed = await judge.db.rows<{ id: string }>(sql`
    WITH changed AS MATERIALIZED (
      SELECT e.id FROM batch_exports e LEFT JOIN batch_export_health h ON h.batch_export_id = e.id
      WHERE e.deleted_at IS NULL AND ${isLate} <> coalesce(h.is_late, false)
    )
    SELECT id FROM changed LIMIT ${exports_per_call_max}`);
  let told = 0;
  for (const { id } of changed) {
    try {
      if (await judgeOne(judge, id, isLate)) told += 1;
    } catch (error) {
      judge.log.warn(
        { err: error, batch_export_id: id },
        'the freshness of an export could not be judged; it is tried again',
      );
    }
  }
  return told;
}

type Freshness = { revision: number; is_watched: boolean; is_late: boolean; limit_seconds: number };

async function judgeOne(judge: Judge, id: string, isLate: Sql): Promise<boolean> {
  return judge.db.transaction(async (tx) => {
    // Locks first and reads afterwards: a read in the same statement would still see the old
    // health. SKIP LOCKED: somebody is changing the row, so the next round checks it again.
    const locked = await tx.row(
      sql`SELECT 1 FROM batch_exports WHERE id = ${id} AND deleted_at IS NULL
        FOR UPDATE SKIP LOCKED`,
    );
    if (locked === undefined) return false;
    const row = (await tx.row<Freshness>(sql`
      SELECT e.revision, ${is_watched} AS is_watched, ${isLate} AS is_late,
        ${limitOf(judge)} AS limit_seconds
      FROM batch_exports e LEFT JOIN batch_export_health h ON h.batch_export_id = e.id
        WHERE e.id = ${id}`))!;
    const health = await getHealth(tx, id, row.revision);
    if (health.is_late === row.is_late) return false;
    await putHealth(tx, id, { ...health, is_late: row.is_late });
    if (!row.is_watched) return false;
    await writeNotice(tx, judge.clock, id, noticeOf(row, health.delivered_until));
    return true;
  });
}

function noticeOf(
  { is_late, limit_seconds: freshness_seconds }: Freshness,
  delivered_until: string | null,
): Notice {
  const facts = { delivered_until, freshness_seconds };
  const state = deliveredSentence(delivered_until);
  if (!is_late)
    return {
      event: 'recovered',
      detail: `No longer late. ${state}`,
      run: null,
      facts: { recovered_from: 'late', ...facts },
    };
  const detail =
    `Late. ${state} It may be ${freshness_seconds} seconds old. Look at the latest runs and at ` +
    'the workers.';
  return { event: 'late', detail, run: null, facts };
}
