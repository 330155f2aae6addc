import sql, { empty, join } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { keysetCondition, keysetOrder } from '../../../platform/http/lists/cursor.ts';
import type { Keyset } from '../../../platform/http/lists/cursor.ts';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { failed_attempt } from '../../../engine/exports/runs/progress.ts';
import { run_kind } from '../runs/fields.ts';
import type { TimelineEntry, entry_types } from './schema.ts';

/** Days of runs that one statement groups: in the first one, and at most in a later one. */
const window_days = { first: 8, most: 366 };

/** The export, the range and the entries of a timeline. */
export type TimelineWanted = {
  organization_id: string;
  export_id: string;
  created_at: string;
  now: string;
  after: string | undefined;
  before: string | undefined;
  types: readonly (typeof entry_types)[number][];
  sees_people: boolean;
};

type Entry = { id: string; at: string; type: TimelineEntry['type']; body: unknown };

/** Returns the entries of one page and one more, in the order of the keyset. */
export async function listTimeline(
  db: Queryable,
  wanted: TimelineWanted,
  keyset: Keyset,
): Promise<TimelineEntry[]> {
  const others = sourcesOf(wanted);
  const entries =
    others.length === 0
      ? []
      : await db.rows<Entry>(sql`
          SELECT id, at, type, body FROM (${join(others, ' UNION ALL ')}) entry
          WHERE ${keysetCondition(keyset)} AND ${inRange(wanted, sql`at`)} ${keysetOrder(keyset)}`);
  if (wanted.types.includes('runs')) entries.push(...(await listRunGroups(db, wanted, keyset)));
  const sign = keyset.descending === keyset.backwards ? 1 : -1;
  return entries
    .toSorted((one, other) => sign * compare(one, other))
    .slice(0, keyset.limit + 1)
    .map(shown);
}

// Instants on the wire have one length, so their texts sort by time.
function compare(one: Entry, other: Entry): number {
  const [left, right] = [`${one.at} ${one.id}`, `${other.at} ${other.id}`];
  return left < right ? -1 : left > right ? 1 : 0;
}

function shown({ id, at, type, body }: Entry): TimelineEntry {
  const field = type === 'pause' ? 'change' : type;
  return { id, at, type, runs: null, change: null, backfill: null, notice: null, [field]: body };
}

function inRange({ after, before }: TimelineWanted, at: Sql): Sql {
  return join(
    [
      sql`true`,
      ...(after === undefined ? [] : [sql`${at} >= ${after}::timestamptz`]),
      ...(before === undefined ? [] : [sql`${at} < ${before}::timestamptz`]),
    ],
    ' AND ',
  );
}

/** Sources of all entries except runs: few for each export, and each has an index by export. */
function sourcesOf({ organization_id, export_id, types, sees_people }: TimelineWanted): Sql[] {
  const changes = types.includes('change') || types.includes('pause');
  return [
    ...(changes
      ? [
          sql`SELECT * FROM (
            SELECT a.id, a.created_at AS at, CASE WHEN a.activity IN ('paused', 'unpaused')
              THEN 'pause' ELSE 'change' END AS type,
              jsonb_build_object('activity', a.activity, 'changes', a.changes, 'user',
                CASE WHEN ${sees_people}::boolean AND a.user_uuid IS NOT NULL
                  THEN jsonb_build_object('uuid', a.user_uuid, 'email', a.user_email) END) AS body
            FROM activity a WHERE a.chain_id = ${organization_id}::uuid
              AND a.item_id = ${export_id} AND a.scope = 'batch_export') change
            WHERE type = ANY (${types}::text[])`,
        ]
      : []),
    ...(types.includes('notice')
      ? [
          sql`SELECT n.id, n.created_at AS at, 'notice' AS type, jsonb_build_object('id', n.id,
            'event', n.event, 'detail', n.body::json #>> '{data,detail}') AS body
          FROM notices n WHERE n.batch_export_id = ${export_id}::uuid`,
        ]
      : []),
    ...(types.includes('backfill')
      ? [
          sql`SELECT b.id, moment.at, 'backfill' AS type, jsonb_build_object('id', b.id,
            'has_ended', moment.has_ended, 'is_run_now', b.is_run_now,
            'status', b.status, 'start_at', wire_instant(b.start_at),
            'end_at', wire_instant(b.end_at), 'total_runs', b.total_runs) AS body
          FROM batch_export_backfills b CROSS JOIN LATERAL (
            VALUES (b.created_at, false), (b.finished_at, true)) AS moment (at, has_ended)
          WHERE b.batch_export_id = ${export_id}::uuid AND moment.at IS NOT NULL`,
        ]
      : []),
  ];
}

/**
 * Lists the groups of runs for a page and one more: first of a few days, then of more
 * days by the density of groups, until there are enough. So the cost depends on the page, not on
 * the number of runs in a year. Uses batch_export_runs_by_export.
 */
async function listRunGroups(
  db: Queryable,
  wanted: TimelineWanted,
  keyset: Keyset,
): Promise<Entry[]> {
  const isDown = keyset.descending !== keyset.backwards;
  const { after, before, now, created_at } = wanted;
  const begin =
    keyset.from !== undefined
      ? sql`${keyset.from.value}::timestamptz`
      : isDown
        ? sql`least(${before ?? null}::timestamptz, ${now}::timestamptz)`
        : sql`greatest(${after ?? null}::timestamptz, ${created_at}::timestamptz)`;
  const groups: Entry[] = [];
  let days = 0;
  while (groups.length <= keyset.limit) {
    const next = days + daysAfter(days, groups.length, keyset.limit);
    // Whole days, so that no group is split.
    const edge = (count: number) => sql`(date_trunc('day', ${begin})
      + ${isDown ? 1 : 0}::integer * interval '1 day'
      + ${(isDown ? -1 : 1) * count}::integer * interval '1 day')`;
    const [from, to] = isDown ? [edge(next), edge(days)] : [edge(days), edge(next)];
    days = next;
    const found = await db.rows<Entry & { has_more: boolean }>(
      groupsBetween(wanted, keyset, from, to),
    );
    groups.push(...found.filter(({ id }) => id !== null));
    if (found[0]?.has_more !== true) break;
  }
  return groups;
}

/** Returns the number of days that the next statement groups, from the number of groups before. */
function daysAfter(days: number, groups: number, limit: number): number {
  if (days === 0) return window_days.first;
  const wanted = groups === 0 ? days * 4 : Math.ceil(((limit + 1 - groups) * days) / groups);
  return Math.min(window_days.most, Math.max(window_days.first, wanted));
}

/** Returns one row without an id if the window has no group; `has_more`: older runs exist. */
function groupsBetween(wanted: TimelineWanted, keyset: Keyset, from: Sql, to: Sql): Sql {
  const { export_id } = wanted;
  const isDown = keyset.descending !== keyset.backwards;
  const run = (at: Sql, order: Sql) => sql`(SELECT r.id, r.latest_error FROM batch_export_runs r
    WHERE ${ofSchedule(export_id)} AND r.created_at = ${at} AND r.status = g.status
      AND ${run_kind} = g.kind AND r.error_code IS NOT DISTINCT FROM g.error_code
      AND (${needed_retries}) = (g.outage IS NOT NULL)
    ORDER BY r.created_at ${order}, r.id ${order} LIMIT 1)`;
  const in_window = sql`${ofSchedule(export_id)} AND r.created_at >= ${from}
    AND r.created_at < ${to} AND ${inRange(wanted, sql`r.created_at`)}`;
  return sql`
    WITH retried AS MATERIALIZED (
      SELECT id, failures, sum(begins) OVER (ORDER BY started_at, id) AS outage FROM (
        SELECT r.id, r.failures, r.started_at, CASE WHEN r.started_at > max(r.finished_at) OVER (
          ORDER BY r.started_at, r.id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
          THEN 1 ELSE 0 END AS begins
        FROM batch_export_runs r WHERE ${in_window} AND ${needed_retries}) run
    ), grouped AS (
      SELECT r.status, ${run_kind} AS kind, r.error_code, retried.outage, count(*) AS count,
        min(r.created_at) AS begun, max(r.created_at) AS at,
        -- Runs that write a delivery once more bring no new rows.
        coalesce(sum(r.records_completed) FILTER (WHERE r.replaces IS NULL), 0)
          AS records_completed,
        coalesce(sum(r.bytes_completed) FILTER (WHERE r.replaces IS NULL), 0) AS bytes_completed,
        min(r.data_interval_start) AS data_interval_start,
        max(r.data_interval_end) AS data_interval_end, min(r.started_at) AS began_at,
        max(r.finished_at) AS delivered_at, sum(retried.failures) AS failed_attempts
      FROM batch_export_runs r LEFT JOIN retried ON retried.id = r.id
      WHERE ${in_window}
      GROUP BY date_trunc('day', r.created_at), r.status, ${run_kind}, r.error_code, retried.outage
    ), page AS (
      -- The ends are looked up: sorting the runs of each group for them takes longer than all else.
      SELECT last.id, g.at, 'runs' AS type, jsonb_build_object('status', g.status, 'kind', g.kind,
        'count', g.count, 'records_completed', g.records_completed,
        'bytes_completed', g.bytes_completed,
        'data_interval_start', wire_instant(g.data_interval_start),
        'data_interval_end', wire_instant(g.data_interval_end),
        'first_run', (SELECT one.id FROM ${run(sql`g.begun`, empty)} one), 'last_run', last.id,
        'error_code', g.error_code, 'latest_error', last.latest_error,
        'outage', CASE WHEN g.outage IS NOT NULL THEN jsonb_build_object(
          'began_at', wire_instant(g.began_at), 'delivered_at', wire_instant(g.delivered_at),
          'failed_attempts', g.failed_attempts, 'cause', ${causeOf(sql`last.id`)}) END) AS body
      FROM grouped g CROSS JOIN LATERAL ${run(sql`g.at`, sql`DESC`)} last
      WHERE ${keysetCondition(keyset)} ${keysetOrder(keyset)}
    )
    -- By the order of the index: EXISTS alone is looked for in the whole table where runs are many,
    -- and where there is none, to its end.
    SELECT page.id, page.at, page.type, page.body, (SELECT r.id FROM batch_export_runs r
      WHERE r.batch_export_id = ${export_id}::uuid AND ${inRange(wanted, sql`r.created_at`)}
        AND ${isDown ? sql`r.created_at < ${from}` : sql`r.created_at >= ${to}`}
      ORDER BY r.created_at ${isDown ? sql`DESC, r.id DESC` : sql`, r.id`} LIMIT 1) IS NOT NULL
        AS has_more
    FROM (SELECT 1) one LEFT JOIN page ON true`;
}

/** Run `r` was delivered, but not at its first attempt. */
const needed_retries = sql`r.status = 'Completed' AND r.failures > 0`;

/** Returns the error of a run's latest failed attempt. Uses batch_export_logs_by_run. */
function causeOf(run: Sql): Sql {
  return sql`(SELECT regexp_replace(line.message, ${failed_attempt}, '')
    FROM batch_export_logs line WHERE line.run_id = ${run} AND line.message ~ ${failed_attempt}
    ORDER BY line.id DESC LIMIT 1)`;
}

function ofSchedule(export_id: string): Sql {
  return sql`r.batch_export_id = ${export_id}::uuid AND r.backfill_id IS NULL`;
}
