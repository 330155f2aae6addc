import sql, { empty, join } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import type { PauseReason } from '../../../engine/exports/health/pause_automatically.ts';
import type { Page } from '../../../platform/http/lists/pagination.ts';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { managedBy } from '../../managed/store.ts';
import { isInPlace, next_run, pageOfPlace } from '../place.ts';
import type { Place } from '../../../platform/http/caller/mount.ts';
import { health_codes } from './schema.ts';
import type { ExportOverview, HealthCode } from './schema.ts';

/** Filters and order of the overview. */
export type OverviewWanted = {
  health: string[] | undefined;
  search: string | undefined;
  model: string | undefined;
  destination_type: string | undefined;
  batch_export: string | undefined;
  ordering: '-created_at' | 'created_at' | 'name' | '-name' | 'health';
  slots: number;
};

/** An export with what its sentence is made of. */
export type OverviewRow = Omit<ExportOverview, 'health' | 'next_run' | 'failed_interval'> & {
  code: HealthCode;
  revision: number;
  next_run: Omit<NonNullable<ExportOverview['next_run']>, 'due_at'> | null;
  last_paused_at: string | null;
  pause_reason: PauseReason | null;
  failed_at: string | null;
  latest_error: string | null;
};

/** SQL for the state of export `e` with health `h`; one of `health_codes`. */
const code = sql`CASE
  WHEN e.paused AND e.pause_reason IS NOT NULL THEN 'paused_automatically'
  WHEN e.paused THEN 'paused'
  WHEN h.is_failing THEN 'failing'
  WHEN h.is_late THEN 'late'
  WHEN h.is_incomplete AND h.revision = e.revision THEN 'incomplete'
  WHEN h.is_volume_unusual THEN 'unusual_volume'
  WHEN e.next_run_at IS NULL THEN 'ended'
  WHEN h.delivered_until IS NULL THEN 'waiting'
  ELSE 'up_to_date' END`;

const health = sql`LEFT JOIN batch_export_health h ON h.batch_export_id = e.id`;
const with_health = sql`batch_exports e ${health}`;

/** The first two are read from batch_exports_by_project, the next from batch_exports_by_name. */
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
  const { search, model, destination_type, batch_export } = wanted;
  if ([search, model, destination_type, batch_export].some((one) => one !== undefined))
    return undefined;
  return health_codes.reduce((sum, one) => sum + (codes.includes(one) ? counts[one] : 0), 0);
}

/**
 * The exports of a page that begins with the worst, by the counts that `countByHealth` added: of
 * what health they are, and where the page begins among those. Only they have to be put in order.
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

function conditions({ health: codes, ...wanted }: OverviewWanted): Sql {
  const { search, model, destination_type, batch_export } = wanted;
  return join(
    [
      sql`true`,
      codes === undefined ? empty : sql`${code} = ANY (${codes}::text[])`,
      search === undefined ? empty : sql`position(lower(${search}) IN lower(e.name)) > 0`,
      model === undefined ? empty : sql`e.model = ${model}`,
      destination_type === undefined ? empty : sql`e.destination_type = ${destination_type}`,
      batch_export === undefined ? empty : sql`e.id = ${batch_export}::uuid`,
    ].filter((one) => one !== empty),
    ' AND ',
  );
}

/**
 * One page of exports. The page is chosen first, by an index unless the order is that of health;
 * only of its exports the runs are looked at: the latest from batch_export_runs_by_export, the open
 * ones and what is tried again from batch_export_runs_taken, the rows from
 * batch_export_runs_compared.
 */
export function listOverview(place: Place, wanted: OverviewWanted, page: Page): Sql {
  const order = orders[wanted.ordering](code);
  const order_of_fields = orders[wanted.ordering](sql`e.code`);
  const fields = sql`e.*, ${code} AS code, h.delivered_until`;
  const condition = conditions(wanted);
  const chosen = { fields, joined: health, condition, order, order_of_fields };
  return sql`
    WITH page AS MATERIALIZED (${pageOfPlace(place, chosen, page)})
    SELECT e.id, e.team_id, e.revision, e.name, e.model, e.destination_type, e."interval", e.paused,
      e.created_at, e.code, e.delivered_until, e.last_paused_at, e.pause_reason,
      CASE WHEN e.delivered_until IS NULL THEN (
        SELECT coalesce(sum(r.records_completed), 0)::bigint FROM batch_export_runs r
        WHERE r.batch_export_id = e.id AND r.revision = e.revision AND r.status = 'Completed'
          AND r.backfill_id IS NOT NULL) END AS records_by_backfills,
      ${next_run} AS next_run,
      (SELECT count(*) FROM batch_export_runs r WHERE r.batch_export_id = e.id
        AND r.status IN ('Starting', 'Running')) AS open_runs,
      latest.run AS latest_run, retrying.run AS retrying, failed.failed_at, failed.latest_error,
      to_jsonb(ARRAY(SELECT newest.records FROM (
        SELECT coalesce(r.records_completed, 0) AS records, r.data_interval_start
        FROM batch_export_runs r WHERE r.batch_export_id = e.id AND r.revision = e.revision
          AND r.status = 'Completed' AND r.backfill_id IS NULL AND r.id = r.delivery_id
        ORDER BY r.data_interval_start DESC LIMIT ${wanted.slots}) newest
        ORDER BY newest.data_interval_start)) AS records,
      ${managedBy('batch_export', sql`e.id`)} AS managed_by
    FROM page e
    LEFT JOIN LATERAL (
      SELECT json_build_object('id', r.id, 'status', r.status, 'created_at',
        wire_instant(r.created_at), 'finished_at', wire_instant(r.finished_at)) AS run
      FROM batch_export_runs r WHERE r.batch_export_id = e.id
      ORDER BY r.created_at DESC, r.id DESC LIMIT 1) latest ON true
    LEFT JOIN LATERAL (
      SELECT json_build_object('run_id', r.id, 'data_interval_start',
        wire_instant(r.data_interval_start), 'data_interval_end',
        wire_instant(r.data_interval_end), 'since',
        wire_instant(coalesce(r.started_at, r.created_at)), 'latest_error', r.latest_error) AS run
      FROM batch_export_runs r WHERE r.batch_export_id = e.id AND r.revision = e.revision
        AND r.status IN ('Starting', 'Running') AND r.backfill_id IS NULL AND r.replaces IS NULL
        AND r.latest_error IS NOT NULL
      ORDER BY r.data_interval_start, r.id LIMIT 1) retrying ON true
    LEFT JOIN LATERAL (
      SELECT r.finished_at AS failed_at, r.latest_error FROM batch_export_runs r
      WHERE e.code = 'failing' AND r.batch_export_id = e.id
        AND r.status IN ('Failed', 'FailedRetryable')
      ORDER BY r.created_at DESC, r.id DESC LIMIT 1) failed ON true
    ORDER BY ${order_of_fields}`;
}

/** The number of the exports that fit. */
export function countOverview(place: Place, wanted: OverviewWanted): Sql {
  return sql`SELECT count(*) AS count FROM ${with_health}
    WHERE ${isInPlace(place)} AND ${conditions(wanted)}`;
}

/** Counts the place's exports by state. */
export async function countHealth(
  db: Queryable,
  place: Place,
): Promise<Record<HealthCode, number>> {
  const rows = await db.rows<{ code: HealthCode; count: number }>(sql`
    SELECT ${code} AS code, count(*) AS count FROM ${with_health} WHERE ${isInPlace(place)}
    GROUP BY 1`);
  const none = Object.fromEntries(health_codes.map((one) => [one, 0]));
  return Object.assign(
    none,
    Object.fromEntries(rows.map((row) => [row.code, row.count])),
  ) as Record<HealthCode, number>;
}
