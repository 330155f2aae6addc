import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { lateness } from './freshness.ts';
import type { FreshnessRule } from './freshness.ts';
import type { Engine } from '../engine.ts';

/** States of an export, the worst first. */
export const health_codes = [
  'failing',
  'paused_automatically',
  'retrying',
  'late',
  'partly_delivered',
  'unusual_volume',
  'running',
  'waiting',
  'paused',
  'up_to_date',
  'ended',
] as const;
/** One of `health_codes`. */
export type HealthCode = (typeof health_codes)[number];

/** SQL about export `e`: the joins, its state, and the start of that state. */
export type StateSql = {
  joined: Sql;
  /** The same for a query over very many exports. */
  joined_to_many: Sql;
  code: Sql;
  since: Sql;
};

/**
 * Defines the state of an export in one place: the worst state that applies, but a pause before all
 * others. Words, filters, order, counts, notices in the console and metrics derive from it.
 */
export function stateOf(rule: FreshnessRule): StateSql {
  const { is_late, late_since } = lateness(rule);
  const is_present = sql`h.revision = e.revision`;
  const states: [when: Sql, code: HealthCode, since: Sql][] = [
    [
      sql`e.paused AND e.pause_reason IS NOT NULL`,
      'paused_automatically',
      sql`coalesce((e.pause_reason ->> 'at')::timestamptz, e.last_paused_at)`,
    ],
    [sql`e.paused`, 'paused', sql`e.last_paused_at`],
    [sql`h.is_failing`, 'failing', sql`h.failing_since`],
    [sql`open.retrying_since IS NOT NULL`, 'retrying', sql`open.retrying_since`],
    [is_late, 'late', late_since],
    [
      sql`h.lacks_since IS NOT NULL OR (${is_present} AND (h.is_incomplete OR h.is_rejecting
        OR h.backfill_failed_since IS NOT NULL))`,
      'partly_delivered',
      sql`least(h.lacks_since, CASE WHEN ${is_present} THEN least(h.incomplete_since,
        h.rejecting_since, h.backfill_failed_since) END)`,
    ],
    [sql`${is_present} AND h.is_volume_unusual`, 'unusual_volume', sql`h.unusual_since`],
    [sql`open.since IS NOT NULL`, 'running', sql`open.since`],
    [sql`e.next_run_at IS NULL`, 'ended', sql`e.end_at`],
    [
      sql`h.delivered_until IS NULL OR NOT ${is_present}`,
      'waiting',
      sql`CASE WHEN e.revision = 1 THEN e.created_at ELSE e.delivery_changed_at END`,
    ],
  ];
  const cases = (value: (state: (typeof states)[number]) => Sql) =>
    states.reduce((all, state) => sql`${all} WHEN ${state[0]} THEN ${value(state)}`, sql``);
  return {
    joined,
    joined_to_many,
    code: sql`CASE ${cases(([, code]) => sql`${code}::text`)} ELSE 'up_to_date' END`,
    since: sql`CASE ${cases(([, , since]) => since)} END`,
  };
}

const health = sql`LEFT JOIN batch_export_health h ON h.batch_export_id = e.id`;
const open_runs = sql`min(coalesce(r.started_at, r.created_at)) AS since,
  min(coalesce(r.started_at, r.created_at)) FILTER (WHERE r.latest_error IS NOT NULL)
    AS retrying_since
  FROM batch_export_runs r WHERE r.status IN ('Starting', 'Running')`;
/** Finds open runs by batch_export_runs_taken, however long the history of the export is. */
const joined = sql`${health}
  CROSS JOIN LATERAL (SELECT ${open_runs} AND r.batch_export_id = e.id) open`;
/** Reads the open runs of all exports once, which takes half as long for 10,000 exports. */
const joined_to_many = sql`${health}
  LEFT JOIN (SELECT r.batch_export_id, ${open_runs} GROUP BY 1) open
    ON open.batch_export_id = e.id`;

/** Counts the exports `e` that meet the condition, by state. */
export async function countStates(
  db: Queryable,
  rule: FreshnessRule,
  condition: Sql,
): Promise<Record<HealthCode, number>> {
  const { code } = stateOf(rule);
  const rows = await db.rows<{ code: HealthCode; count: number }>(sql`
    SELECT ${code} AS code, count(*) AS count FROM batch_exports e ${joined_to_many}
    WHERE ${condition} GROUP BY 1`);
  const none = Object.fromEntries(health_codes.map((one) => [one, 0]));
  const counts = Object.fromEntries(rows.map((row) => [row.code, row.count]));
  return { ...none, ...counts } as Record<HealthCode, number>;
}

/** Sets the metric that counts the server's exports by state. */
export async function noteStates(engine: Engine): Promise<void> {
  const counts = await countStates(engine.db, engine, sql`e.deleted_at IS NULL`);
  for (const state of health_codes) engine.metrics.batch_exports.set({ state }, counts[state]);
}
