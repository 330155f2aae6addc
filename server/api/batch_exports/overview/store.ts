import sql, { empty, join } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import type { FreshnessRule } from '../../../engine/exports/health/freshness.ts';
import type { PauseReason } from '../../../engine/exports/health/pause_automatically.ts';
import { open_from } from '../../../engine/exports/health/delivered_through.ts';
import { countStates, health_codes, stateOf } from '../../../engine/exports/health/state.ts';
import type { HealthCode } from '../../../engine/exports/health/state.ts';
import { isoInstant } from '../../../platform/clock.ts';
import type { Page } from '../../../platform/http/lists/pagination.ts';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { verified_columns } from '../verified.ts';
import { managedBy } from '../../managed/store.ts';
import { isInPlace, next_run, pageOfPlace } from '../place.ts';
import type { Place } from '../../../platform/http/caller/mount.ts';
import { rhythm_columns } from '../rhythm.ts';
import { hasTag } from '../tags.ts';
import type { ExportOverview } from './schema.ts';

/** Filters and order of the overview. */
export type OverviewWanted = {
  health: string[] | undefined;
  search: string | undefined;
  model: string | undefined;
  destination_type: string | undefined;
  tag: string | undefined;
  batch_export: string | undefined;
  ordering: '-created_at' | 'created_at' | 'name' | '-name' | 'health';
  slots: number;
};

/** The waiting run, and the end of its latest attempt. */
type Retrying = NonNullable<ExportOverview['retrying']> & {
  attempt: number;
  /** Null while a worker has the run. */
  next_try_at: string | null;
  tried_at: string;
};

/** An export with the facts that determine its state. */
export type OverviewRow = Omit<
  ExportOverview,
  'health' | 'next_run' | 'failed_interval' | 'retrying'
> & {
  code: HealthCode;
  since: string | null;
  revision: number;
  next_run: Omit<NonNullable<ExportOverview['next_run']>, 'due_at'> | null;
  pause_reason: PauseReason | null;
  retrying: Retrying | null;
  /** Intervals of the schedule with open runs, and their rows if all were counted. */
  open_intervals: number;
  open_rows: number | null;
  /** Its latest failed run; the run of a backfill if only that is missing. */
  failed_at: string | null;
  latest_error: string | null;
  delivery_changed_at: string | null;
  lacks_since: string | null;
  lacks_rows: number | null;
  lacks_from: string | null;
  lacks_until: string | null;
  /** Rows are missing, and a backfill is in progress. */
  is_backfilled: boolean;
  backfill_failed_since: string | null;
  records_rejected: number | null;
};

const day_ms = 24 * 3_600_000;

/** The first two orders use batch_exports_by_project, the others batch_exports_by_name. */
const orders: Record<OverviewWanted['ordering'], (code: Sql) => Sql> = {
  '-created_at': () => sql`e.created_at DESC, e.id DESC`,
  created_at: () => sql`e.created_at, e.id`,
  name: () => sql`lower(e.name), e.id`,
  '-name': () => sql`lower(e.name) DESC, e.id DESC`,
  health: (of) => sql`array_position(${[...health_codes]}::text[], ${of}), lower(e.name), e.id`,
};

/**
 * Returns the number of matching exports if the counts by health tell it; undefined if another
 * filter narrows them.
 */
export function countByHealth(
  { health: codes = [...health_codes], ...wanted }: OverviewWanted,
  counts: Record<HealthCode, number>,
): number | undefined {
  const { search, model, destination_type, tag, batch_export } = wanted;
  if ([search, model, destination_type, tag, batch_export].some((one) => one !== undefined))
    return undefined;
  return health_codes.reduce((sum, one) => sum + (codes.includes(one) ? counts[one] : 0), 0);
}

/**
 * Selects the exports of a page that starts with the worst, from the counts of `countByHealth`:
 * which health codes the page contains, and its offset among them. Only these exports have to be
 * sorted.
 */
export function worstOf(
  { health: codes = [...health_codes] }: OverviewWanted,
  counts: Record<HealthCode, number>,
  { limit, offset }: Page,
): { health: HealthCode[]; page: Page } {
  let [end, skipped] = [0, 0];
  const health = health_codes.filter((one) => {
    const begin = end;
    if (codes.includes(one)) end += counts[one];
    if (end <= offset) skipped = end;
    return end > Math.max(begin, offset) && begin < offset + limit;
  });
  return { health, page: { limit, offset: offset - skipped } };
}

function conditions(code: Sql, { health: codes, ...wanted }: OverviewWanted): Sql {
  const { search, model, destination_type, tag, batch_export } = wanted;
  return join(
    [
      sql`true`,
      codes === undefined ? empty : sql`${code} = ANY (${codes}::text[])`,
      search === undefined ? empty : sql`position(lower(${search}) IN lower(e.name)) > 0`,
      model === undefined ? empty : sql`e.model = ${model}`,
      destination_type === undefined ? empty : sql`e.destination_type = ${destination_type}`,
      hasTag(tag),
      batch_export === undefined ? empty : sql`e.id = ${batch_export}::uuid`,
    ].filter((one) => one !== empty),
    ' AND ',
  );
}

/** The latest, open, retried and failed runs of export `e` of the page. */
const runs_beside = sql`
  LEFT JOIN LATERAL (
    SELECT json_build_object('id', r.id, 'status', r.status, 'created_at',
      wire_instant(r.created_at), 'finished_at', wire_instant(r.finished_at)) AS run
    FROM batch_export_runs r WHERE r.batch_export_id = e.id
    ORDER BY r.created_at DESC, r.id DESC LIMIT 1) latest ON true
  CROSS JOIN LATERAL (
    SELECT count(*) AS runs, count(DISTINCT r.data_interval_end) FILTER (WHERE of_schedule)
        AS intervals,
      CASE WHEN bool_and(r.records_total_count IS NOT NULL) FILTER (WHERE of_schedule)
        THEN sum(r.records_total_count) FILTER (WHERE of_schedule)::bigint END AS rows,
      (SELECT ${open_from} FROM batch_export_runs r WHERE r.batch_export_id = e.id
        AND r.revision = e.revision AND r.status IN ('Starting', 'Running')) AS from_at
    FROM batch_export_runs r CROSS JOIN LATERAL (SELECT r.backfill_id IS NULL
      AND r.replaces IS NULL AND NOT r.is_make_up AND r.revision = e.revision) kind (of_schedule)
    WHERE r.batch_export_id = e.id AND r.status IN ('Starting', 'Running')) open
  LEFT JOIN LATERAL (
    SELECT json_build_object('run_id', r.id, 'data_interval_start',
      wire_instant(r.data_interval_start), 'data_interval_end',
      wire_instant(r.data_interval_end), 'since',
      wire_instant(coalesce(r.started_at, r.created_at)), 'latest_error', r.latest_error,
      'attempt', r.failures, 'tried_at', wire_instant(r.last_updated_at),
      -- Of several runs that wait, another one may be tried before the earliest.
      'next_try_at', CASE WHEN r.worker_id IS NULL
        THEN wire_instant(min(r.due_at) FILTER (WHERE r.worker_id IS NULL) OVER ()) END) AS run
    FROM batch_export_runs r WHERE r.batch_export_id = e.id
      AND r.status IN ('Starting', 'Running') AND r.latest_error IS NOT NULL
    ORDER BY r.data_interval_start, r.id LIMIT 1) retrying ON true
  LEFT JOIN LATERAL (
    SELECT r.finished_at AS failed_at, r.latest_error FROM batch_export_runs r
    WHERE r.batch_export_id = e.id AND r.status IN ('Failed', 'FailedRetryable')
      AND CASE WHEN e.code = 'failing' THEN r.backfill_id IS NULL
        ELSE e.backfill_failed_since IS NOT NULL AND r.backfill_id IS NOT NULL END
    ORDER BY r.created_at DESC, r.id DESC LIMIT 1) failed ON true`;

/** The health of an export in its current revision. */
const health_fields = sql`h.delivered_until, h.lacks_since, h.lacks_rows, h.lacks_from,
  h.lacks_until,
  CASE WHEN h.revision = e.revision THEN h.backfill_failed_since END AS backfill_failed_since,
  CASE WHEN h.revision = e.revision THEN h.oldest_row_seconds END AS oldest_row_seconds,
  CASE WHEN h.revision = e.revision THEN h.newest_row_seconds END AS newest_row_seconds,
  coalesce(h.is_rejecting AND h.revision = e.revision, false) AS is_rejecting`;

/**
 * Selects one page of exports. It first chooses the page, by an index unless the order is by
 * health. Then it reads only the runs of these exports: the latest from
 * batch_export_runs_by_export, open and waiting ones from batch_export_runs_taken, and rows from
 * batch_export_runs_compared.
 */
export function listOverview(
  rule: FreshnessRule,
  place: Place,
  wanted: OverviewWanted,
  page: Page,
): Sql {
  const { joined, joined_to_many, code, since } = stateOf(rule);
  const isOfMany = wanted.ordering === 'health' || wanted.health !== undefined;
  const order = orders[wanted.ordering](code);
  const order_of_fields = orders[wanted.ordering](sql`e.code`);
  const fields = sql`e.*, ${code} AS code, ${since} AS since, ${health_fields}`;
  const condition = conditions(code, wanted);
  const chosen = {
    fields,
    // Each project of an organization is read apart.
    joined: isOfMany && place.team_id !== undefined ? joined_to_many : joined,
    condition,
    order,
    order_of_fields,
  };
  const day_ago = isoInstant(rule.clock.now() - day_ms);
  return sql`
    WITH page AS MATERIALIZED (${pageOfPlace(place, chosen, page)})
    SELECT e.id, e.team_id, e.revision, e.name, e.model, e.destination_type, e."interval",
      ${rhythm_columns}, e.paused, e.created_at, to_jsonb(e.tags) AS tags, e.code, e.since,
      e.delivered_until, CASE WHEN e.delivered_until IS NOT NULL
        THEN least(e.delivered_until, open.from_at) END AS delivered_through,
      e.oldest_row_seconds, e.newest_row_seconds, e.pause_reason, e.delivery_changed_at,
      e.lacks_since, e.lacks_rows, e.lacks_from, e.lacks_until, e.backfill_failed_since,
      ${verified_columns},
      CASE WHEN e.delivered_until IS NULL THEN (
        SELECT coalesce(sum(r.records_completed), 0)::bigint FROM batch_export_runs r
        WHERE r.batch_export_id = e.id AND r.revision = e.revision AND r.status = 'Completed'
          AND r.backfill_id IS NOT NULL) END AS records_by_backfills,
      e.lacks_since IS NOT NULL AND EXISTS (SELECT FROM batch_export_backfills b
        WHERE b.batch_export_id = e.id AND b.finished_at IS NULL) AS is_backfilled,
      ${next_run} AS next_run,
      open.runs AS open_runs, open.intervals AS open_intervals, open.rows AS open_rows,
      latest.run AS latest_run, retrying.run AS retrying, failed.failed_at, failed.latest_error,
      CASE WHEN e.is_rejecting THEN (
        SELECT r.records_rejected FROM batch_export_runs r
        WHERE r.batch_export_id = e.id AND r.revision = e.revision AND r.status = 'Completed'
          AND r.backfill_id IS NULL AND r.records_rejected > 0
        ORDER BY r.created_at DESC, r.id DESC LIMIT 1) END AS records_rejected,
      to_jsonb(ARRAY(SELECT newest.records FROM (
        SELECT coalesce(r.records_completed, 0) AS records, r.data_interval_start
        FROM batch_export_runs r WHERE r.batch_export_id = e.id AND r.revision = e.revision
          AND r.status = 'Completed' AND r.backfill_id IS NULL AND r.id = r.delivery_id
        ORDER BY r.data_interval_start DESC LIMIT ${wanted.slots}) newest
        ORDER BY newest.data_interval_start)) AS records,
      CASE WHEN ${wanted.slots} > 0 THEN (
        SELECT coalesce(sum(r.records_completed), 0)::bigint FROM batch_export_runs r
        WHERE r.batch_export_id = e.id AND r.created_at > ${day_ago}::timestamptz
          AND r.status = 'Completed' AND r.replaces IS NULL) END AS records_day,
      ${managedBy('batch_export', sql`e.id`)} AS managed_by
    FROM page e
    ${runs_beside}
    ORDER BY ${order_of_fields}`;
}

/** Counts the matching exports. */
export function countOverview(rule: FreshnessRule, place: Place, wanted: OverviewWanted): Sql {
  const { joined_to_many, code } = stateOf(rule);
  return sql`SELECT count(*) AS count FROM batch_exports e ${joined_to_many}
    WHERE ${isInPlace(place)} AND ${conditions(code, wanted)}`;
}

/** Counts the place's exports by state. */
export function countHealth(
  db: Queryable,
  rule: FreshnessRule,
  place: Place,
): Promise<Record<HealthCode, number>> {
  return countStates(db, rule, isInPlace(place));
}
