import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import type { QuerySchema } from '../../engine/query/custom_query.ts';
import type { StoredConfig } from '../../engine/destination/stored_config.ts';
import type { PauseReason } from '../../engine/health/pause_automatically.ts';
import type { Interval } from '../../engine/planning/interval.ts';
import type { Page } from '../../platform/http/lists/pagination.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import { isInPlace } from './place.ts';
import type { Place } from './place.ts';
import { runColumns } from './runs/store.ts';
import type { BatchExport } from './schema.ts';

/** How many of an export's newest runs stand in `latest_runs`. */
const latest_runs_max = 10;

// The lateral join reads the newest runs of every export of a page in the one statement, from
// batch_export_runs_by_export. Columns are named: nothing secret can slip in.
const selectExports = sql`
  SELECT e.id, e.team_id, e.name, e.model, json_build_object('type', e.destination_type, 'config',
    e.destination_config) AS destination, e."interval", e.paused,
    e.created_at, e.last_updated_at, e.last_paused_at, e.pause_reason, e.start_at, e.end_at,
      e.freshness_seconds,
    CASE WHEN NOT e.paused AND e.next_run_at IS NOT NULL
      THEN json_build_object('data_interval_start', wire_instant(e.planned_until),
        'data_interval_end', wire_instant(e.next_run_at)) END AS next_run,
        latest.runs AS latest_runs, e.custom_query, e.schema
  FROM batch_exports e CROSS JOIN LATERAL (
    SELECT coalesce(json_agg(run), '[]') AS runs FROM (
      SELECT ${runColumns((column) => sql`wire_instant(${column})`)} FROM batch_export_runs r
      WHERE r.batch_export_id = e.id ORDER BY r.created_at DESC, r.id DESC
        LIMIT ${latest_runs_max}) run) latest`;

/** One page of the exports of a place, newest first (ties by id). */
export function listBatchExports(place: Place, page: Page): Sql {
  return sql`${selectExports} WHERE ${isInPlace(place)} ORDER BY e.created_at DESC, e.id DESC
    LIMIT ${page.limit} OFFSET ${page.offset}`;
}

/** The number of the exports of a place. */
export function countBatchExports(place: Place): Sql {
  return sql`SELECT count(*) AS count FROM batch_exports e WHERE ${isInPlace(place)}`;
}

/** The export as it is on the wire. */
export function findBatchExport(
  db: Queryable,
  place: Place,
  id: string,
): Promise<BatchExport | undefined> {
  return db.row<BatchExport>(sql`${selectExports} WHERE e.id = ${id} AND ${isInPlace(place)}`);
}

/** What users and the planner set of an export. Instants are ISO 8601 text. */
export type ExportFields = StoredConfig & {
  name: string;
  model: 'events' | 'persons';
  custom_query: string | null;
  schema: QuerySchema | null;
  destination_type: string;
  interval: Interval;
  timezone: string;
  paused: boolean;
  last_paused_at: string | null;
  pause_reason: PauseReason | null;
  start_at: string | null;
  end_at: string | null;
  freshness_seconds: number | null;
  revision: number;
  planned_until: string;
  next_run_at: string | null;
};

/** An export as the actions on it see it. */
export type LockedExport = ExportFields & { id: string; team_id: number; project_timezone: string };

/**
 * The export, locked until the transaction ends: plans, ledger and runs of an export change only
 * under this lock, which is taken before any other of its rows.
 */
export function lockBatchExport(
  tx: Transaction,
  place: Place,
  id: string,
): Promise<LockedExport | undefined> {
  return tx.row<LockedExport>(sql`
    SELECT e.id, e.team_id, e.name, e.model, e.custom_query, e.schema, e.destination_type,
      e.destination_config, e.destination_secrets, e."interval", e.timezone, e.paused,
      e.last_paused_at,
      e.pause_reason, e.start_at, e.end_at, e.freshness_seconds, e.revision, e.planned_until,
        e.next_run_at, (SELECT p.timezone FROM projects p
        WHERE p.id = e.team_id) AS project_timezone
    FROM batch_exports e WHERE e.id = ${id} AND ${isInPlace(place)} FOR UPDATE OF e`);
}

/** Adds an export. */
export async function insertBatchExport(
  tx: Transaction,
  row: ExportFields & { id: string; team_id: number; created_by: number },
): Promise<void> {
  await tx.run(sql`
    INSERT INTO batch_exports (id, team_id, name, model, custom_query, schema, destination_type,
      destination_config, destination_secrets, "interval", timezone, paused, last_paused_at,
      pause_reason, start_at, end_at, freshness_seconds, revision, planned_until, next_run_at,
        created_by)
    VALUES (${row.id}, ${row.team_id}, ${row.name}, ${row.model}, ${row.custom_query},
      ${jsonText(row.schema)}::jsonb, ${row.destination_type},
      ${JSON.stringify(row.destination_config)}::jsonb, ${row.destination_secrets},
      ${row.interval}, ${row.timezone}, ${row.paused}, ${row.last_paused_at},
        ${jsonText(row.pause_reason)}::jsonb, ${row.start_at}, ${row.end_at},
        ${row.freshness_seconds}, ${row.revision}, ${row.planned_until}, ${row.next_run_at},
        ${row.created_by})`);
}

/**
 * Stores changed fields under the caller's lock. When nothing differs the row stays as it is,
 * `last_updated_at` too.
 */
export async function updateBatchExport(
  tx: Transaction,
  id: string,
  next: ExportFields,
): Promise<void> {
  await tx.run(sql`
    UPDATE batch_exports e SET name = n.name, model = n.model, custom_query = n.custom_query,
      schema = n.schema, destination_type = n.destination_type,
      destination_config = n.destination_config,
      destination_secrets = n.destination_secrets, "interval" = n."interval", timezone = n.timezone,
        paused = n.paused, last_paused_at = n.last_paused_at,
      pause_reason = n.pause_reason, start_at = n.start_at, end_at = n.end_at,
        freshness_seconds = n.freshness_seconds, revision = n.revision,
        planned_until = n.planned_until,
      next_run_at = n.next_run_at, last_updated_at = now(),
      schedule_changed_at = CASE WHEN (e."interval", e.paused, e.start_at, e.end_at,
        e.revision) IS DISTINCT FROM (n."interval", n.paused, n.start_at, n.end_at, n.revision)
        THEN now() ELSE e.schedule_changed_at END
    FROM (SELECT ${next.name}::text AS name, ${next.model}::text AS model,
      ${next.custom_query}::text AS custom_query, ${jsonText(next.schema)}::jsonb AS schema,
        ${next.destination_type}::text AS destination_type,
        ${JSON.stringify(next.destination_config)}::jsonb AS destination_config,
          ${next.destination_secrets}::bytea AS destination_secrets,
          ${next.interval}::text AS "interval",
        ${next.timezone}::text AS timezone, ${next.paused}::boolean AS paused,
          ${next.last_paused_at}::timestamptz AS last_paused_at,
          ${jsonText(next.pause_reason)}::jsonb AS pause_reason,
        ${next.start_at}::timestamptz AS start_at,
          ${next.freshness_seconds}::integer AS freshness_seconds,
        ${next.end_at}::timestamptz AS end_at, ${next.revision}::integer AS revision,
          ${next.planned_until}::timestamptz AS planned_until,
          ${next.next_run_at}::timestamptz AS next_run_at) n
    WHERE e.id = ${id} AND (e.name, e.model, e.custom_query, e.schema, e.destination_type,
      e.destination_config, e.destination_secrets, e."interval", e.timezone, e.paused,
      e.last_paused_at, e.pause_reason,
        e.start_at, e.end_at, e.freshness_seconds, e.revision, e.planned_until, e.next_run_at)
      IS DISTINCT FROM (n.name, n.model, n.custom_query, n.schema, n.destination_type,
        n.destination_config, n.destination_secrets, n."interval", n.timezone, n.paused,
        n.last_paused_at, n.pause_reason,
        n.start_at, n.end_at, n.freshness_seconds, n.revision, n.planned_until, n.next_run_at)`);
}

function jsonText(value: object | null): string | null {
  return value === null ? null : JSON.stringify(value);
}

/** Marks the export as deleted; no statement here finds it any more. */
export async function markDeleted(tx: Transaction, id: string): Promise<void> {
  await tx.run(
    sql`UPDATE batch_exports SET deleted_at = now(), last_updated_at = now() WHERE id = ${id}`,
  );
}

/**
 * The project that a new export goes to: the wanted one, else the oldest; undefined when the
 * organization has no such project. It is locked, so it cannot be deleted meanwhile.
 */
export function findTargetProject(
  tx: Transaction,
  place: Place,
  wanted: number | undefined,
): Promise<{ id: number; timezone: string } | undefined> {
  const team = place.team_id ?? wanted ?? null;
  return tx.row(sql`
    SELECT p.id, p.timezone FROM projects p WHERE p.organization_id = ${place.organization_id}
      AND (${team}::bigint IS NULL OR p.id = ${team}::bigint)
    ORDER BY p.created_at, p.id LIMIT 1 FOR SHARE`);
}
