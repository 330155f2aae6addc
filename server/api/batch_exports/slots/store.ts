import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { deliveredOf, inHandOf } from '../../../engine/model/ledger/ledger.ts';
import { coveredSpans, multirangeText } from '../../../engine/model/ledger/spans.ts';
import type { Span } from '../../../engine/model/ledger/spans.ts';
import { run_days_max } from '../../../engine/exports/planning/interval.ts';
import type { Rhythm } from '../../../engine/exports/planning/interval.ts';
import type { Database, Transaction } from '../../../platform/postgres/database.ts';
import { databaseInstant } from '../../../platform/postgres/instant.ts';

/** The schedule of an export. */
export type Schedule = Rhythm & {
  id: string;
  team_id: number;
  revision: number;
  created_at: string;
  start_at: string | null;
  end_at: string | null;
  paused: boolean;
  planned_until: string;
  schedule_changed_at: string;
  /** The present instant of the control store, ms. */
  now: number;
};

/** The schedule and the deliveries: all facts that decide the state of a slot. */
export type Scheduled = Schedule & {
  /** Insertion times that are fully delivered, and those that will be after the open runs. */
  delivered: Span[];
  taken: Span[];
  /** Times of its pauses. */
  pauses: Span[];
  /** Spans of runs of earlier revisions. */
  earlier: Span[];
};

/** Adjacent scheduled runs whose slots have the same state. */
export type RunRange = {
  state: 'delivered' | 'under_way' | 'in_doubt' | 'failed' | 'cancelled' | 'left_by_another_run';
  needed_retries: boolean;
  start_at: string;
  end_at: string;
  slots: number;
  first_run: string;
  last_run: string;
  records_completed: number;
  records_total_count: number;
};

/** Reads everything as of one instant, so that a run that ends meanwhile does not matter. */
export function inOneLook<Result>(
  db: Database,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  return db.transaction(async (tx) => {
    // PostgreSQL estimates that `id <> delivery_id` is true for nearly all runs, and would start
    // parallel workers, which takes longer than reading the few rows.
    await tx.text(`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY;
      SET LOCAL max_parallel_workers_per_gather = 0`);
    return work(tx);
  });
}

/** Returns the current schedule of an export; undefined if the export does not exist. */
export async function findSchedule(tx: Transaction, id: string): Promise<Schedule | undefined> {
  const row = await tx.row<Omit<Schedule, 'now'>>(sql`
    SELECT id, team_id, revision, "interval", timezone, offset_minutes, created_at, start_at,
      end_at, paused, planned_until, schedule_changed_at FROM batch_exports WHERE id = ${id}`);
  return row === undefined ? undefined : { ...row, now: await databaseInstant(tx) };
}

/**
 * Returns the schedule with the facts that decide its slots in the range (milliseconds) and next to
 * it.
 */
export async function withDelivered(
  tx: Transaction,
  organization_id: string,
  row: Schedule,
  { after, before }: { after: number; before: number },
): Promise<Scheduled> {
  const { id } = row;
  const near_ms = run_days_max * 24 * 3_600_000;
  const within = {
    event_from: -Infinity,
    event_to: Infinity,
    inserted_from: after - near_ms,
    inserted_to: before + near_ms,
  };
  const areas = (await deliveredOf(tx, [{ ...row, within: [within] }])).get(id) ?? [];
  const delivered = coveredSpans(areas);
  const in_hand = (await inHandOf(tx, [row])).get(id);
  return {
    ...row,
    delivered,
    taken: in_hand === undefined ? delivered : coveredSpans([...areas, ...in_hand]),
    pauses: await listPauses(tx, organization_id, row),
    earlier: row.revision === 1 ? [] : await listEarlier(tx, row),
  };
}

/** Reads the activity log, which has every pause by people, keys and the server. */
async function listPauses(
  tx: Transaction,
  organization_id: string,
  { id, created_at }: { id: string; created_at: string },
): Promise<Span[]> {
  // Uses activity_by_item.
  const rows = await tx.rows<{ at: string; paused: boolean }>(sql`
    SELECT a.created_at AS at, (change ->> 'after')::boolean AS paused FROM activity a
      CROSS JOIN LATERAL json_array_elements(a.changes) change
    WHERE a.chain_id = ${organization_id}::uuid AND a.item_id = ${id} AND a.scope = 'batch_export'
      AND change ->> 'field' = 'paused' AND change ->> 'after' IN ('true', 'false')
    ORDER BY a.number`);
  const pauses: Span[] = [];
  for (const { at, paused } of rows) {
    const open = pauses.at(-1);
    if (paused)
      pauses.push({ from: Math.max(Date.parse(at), Date.parse(created_at)), to: Infinity });
    else if (open !== undefined) open.to = Date.parse(at);
  }
  return pauses;
}

async function listEarlier(
  tx: Transaction,
  { id, revision }: { id: string; revision: number },
): Promise<Span[]> {
  const rows = await tx.rows<{ from_at: string; to_at: string }>(sql`
    SELECT lower(span) AS from_at, upper(span) AS to_at FROM unnest((
      SELECT range_agg(tstzrange(r.data_interval_start, r.data_interval_end))
      FROM batch_export_runs r WHERE r.batch_export_id = ${id} AND r.revision < ${revision}
        AND r.backfill_id IS NULL AND r.status = 'Completed')) span`);
  return rows.map(({ from_at, to_at }) => ({ from: Date.parse(from_at), to: Date.parse(to_at) }));
}

/** Ranges of runs, and the start of the first range beyond the limit; null if these are all. */
export type RunRanges = { ranges: RunRange[]; next_start: string | null };

/**
 * Groups the latest run of each slot in the range into ranges with the same state, ordered by their
 * ends, at most `limit` ranges.
 */
export async function listRunRanges(
  tx: Transaction,
  scheduled: Scheduled,
  wanted: { after: string; before: string; limit: number },
): Promise<RunRanges> {
  const edges = await tx.rows<RunEdge>(runEdges(scheduled, wanted));
  const ranges: RunRange[] = [];
  let begun: RunEdge | undefined;
  for (const edge of edges) {
    if (edge.begins) {
      if (begun !== undefined) ranges.push(rangeBetween(begun, before(edge)));
      if (ranges.length === wanted.limit) return { ranges, next_start: edge.start_at };
      begun = edge;
    }
    if (edge.is_last) ranges.push(rangeBetween(begun!, edge));
  }
  return { ranges, next_start: null };
}

/**
 * The first run of a range, or the last run; `completed` and `total` are sums up to and including
 * it.
 */
type RunEdge = Omit<RunRange, 'slots' | 'first_run' | 'last_run'> &
  RangeEnd & { begins: boolean; is_last: boolean; end_before: string; id_before: string };

/** Two instants: selects intervals that end after the first and start before the second. */
type RunSpan = { after: string; before: string };

/** The last run of a range: its position among all runs, and their sums up to and including it. */
type RangeEnd = { id: string; end_at: string; number: number; completed: number; total: number };

/** Returns the spans without an equal span among the others. */
function beyond(others: Span[], spans: Span[]): Span[] {
  const known = new Map(others.map(({ from, to }) => [from, to]));
  return spans.filter(({ from, to }) => known.get(from) !== to);
}

/** Returns the end before this edge. */
function before(edge: RunEdge): RangeEnd {
  return {
    id: edge.id_before,
    end_at: edge.end_before,
    number: edge.number - 1,
    completed: edge.completed - edge.records_completed,
    total: edge.total - edge.records_total_count,
  };
}

function rangeBetween(begun: RunEdge, end: RangeEnd): RunRange {
  const earlier = before(begun);
  return {
    state: begun.state,
    needed_retries: begun.needed_retries,
    start_at: begun.start_at,
    end_at: end.end_at,
    slots: end.number - earlier.number,
    first_run: begun.id,
    last_run: end.id,
    records_completed: end.completed - earlier.completed,
    records_total_count: end.total - earlier.total,
  };
}

/**
 * Selects the edges of the ranges. It passes over the runs once and stops when it has enough;
 * grouping would have to sort and sum all runs first. First tries come from
 * batch_export_runs_scheduled_unique in the order of their ends, retries from
 * batch_export_runs_repeats, so no run of a backfill is read.
 */
function runEdges(scheduled: Scheduled, { limit, ...span }: RunSpan & { limit: number }): Sql {
  const { delivered, taken } = scheduled;
  const range = sql`tstzrange(latest.start_at, latest.end_at)`;
  return sql`
    WITH areas AS MATERIALIZED (
      -- Read once: in the conditions below the texts would be read for each row.
      SELECT delivered, CASE WHEN isempty(more) THEN delivered ELSE delivered + more END AS taken
      FROM (SELECT ${multirangeText(delivered)}::tstzmultirange AS delivered,
        ${multirangeText(beyond(delivered, taken))}::tstzmultirange AS more) read
    ), latest AS (${latestRuns(scheduled, span)}),
    judged AS (
      SELECT latest.*, CASE
        WHEN ${range} <@ (SELECT delivered FROM areas) THEN 'delivered'
        WHEN latest.status IN ('Starting', 'Running') THEN 'under_way'
        WHEN latest.status <> 'Completed' AND latest.has_begun_to_commit THEN 'in_doubt'
        WHEN ${range} <@ (SELECT taken FROM areas) THEN 'under_way'
        WHEN latest.status = 'Completed' THEN 'left_by_another_run'
        WHEN latest.status = 'Cancelled' THEN 'cancelled' ELSE 'failed' END AS state
      -- With an offset each is judged once, and not wherever its state is asked for.
      FROM latest ORDER BY latest.end_at, latest.start_at OFFSET 0
    ), marked AS (
      -- Sums as floating point are exact up to 2^53, and ten times as fast as numeric.
      SELECT run.*, row_number() OVER side AS number, lead(true) OVER side IS NULL AS is_last,
        lag(end_at) OVER side AS end_before, lag(id) OVER side AS id_before,
        (state, needed_retries, start_at) IS DISTINCT FROM (lag(state) OVER side,
          lag(needed_retries) OVER side, lag(end_at) OVER side) AS begins,
        sum(records_completed::float8) OVER side AS completed,
        sum(records_total_count::float8) OVER side AS total
      FROM (SELECT judged.*, CASE state WHEN 'delivered' THEN was_tried OR status <> 'Completed'
        WHEN 'under_way' THEN was_tried ELSE false END AS needed_retries FROM judged) run
      WINDOW side AS (ORDER BY end_at, start_at)
    )
    SELECT id, state, needed_retries, start_at, end_at, begins, is_last, number, end_before,
      id_before, completed, total, records_completed, records_total_count
    FROM marked WHERE begins OR is_last ORDER BY end_at, start_at LIMIT ${limit + 1}`;
}

/** Returns the last try of each interval of the schedule between two instants. */
function latestRuns({ id, revision }: Scheduled, { after, before: until }: RunSpan): Sql {
  const ends_near = sql`r.data_interval_end > ${after}::timestamptz
    AND r.data_interval_end < ${until}::timestamptz + make_interval(days => ${run_days_max})`;
  return sql`
    SELECT DISTINCT ON (r.data_interval_end, r.data_interval_start) r.id, r.status,
      r.data_interval_start AS start_at, r.data_interval_end AS end_at,
      r.committing_at IS NOT NULL AS has_begun_to_commit,
      r.failures > 0 OR (r.id <> r.delivery_id AND r.replaces IS NULL) AS was_tried,
      coalesce(r.records_completed, 0) AS records_completed,
      coalesce(r.records_total_count, 0) AS records_total_count
    FROM (
      SELECT * FROM batch_export_runs r WHERE r.batch_export_id = ${id}
        AND r.revision = ${revision} AND r.backfill_id IS NULL AND r.id = r.delivery_id
        AND r.data_interval_start < ${until}::timestamptz AND ${ends_near}
      UNION ALL
      -- A sum, so that the index by this column is not taken, in which all runs are.
      SELECT * FROM batch_export_runs r WHERE r.batch_export_id = ${id}
        AND r.revision = ${revision} AND r.backfill_id IS NULL AND r.id <> r.delivery_id
        AND NOT r.is_make_up
        -- A run that writes the files of a backfill again is none of the schedule's.
        AND NOT (r.replaces IS NOT NULL AND EXISTS (SELECT 1 FROM batch_export_runs own
          WHERE own.id = r.delivery_id AND own.backfill_id IS NOT NULL))
        AND r.data_interval_start + interval '0' < ${until}::timestamptz AND ${ends_near}
    ) r
    ORDER BY r.data_interval_end, r.data_interval_start, r.created_at DESC, r.id DESC`;
}
