import sql, { empty, join, raw } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import type { QuerySchema } from '../../engine/query/custom_query.ts';
import type { RejectedRowsPolicy } from '../../engine/model/destination/rejected_rows.ts';
import type { WriteRule } from '../../engine/model/destination/write_mode.ts';
import type { StoredConfig } from '../../engine/model/destination/stored_config.ts';
import { lineOfEach } from '../../engine/model/run_log.ts';
import type { PauseReason } from '../../engine/exports/health/pause_automatically.ts';
import type { RecordPlace } from '../../platform/http/caller/access.ts';
import type { Page } from '../../platform/http/lists/pagination.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import { instant_column } from '../../platform/postgres/instant.ts';
import { locking } from '../../platform/postgres/locking.ts';
import { changed_at } from './changed_at.ts';
import { isInPlace, pageOfPlace } from './place.ts';
import type { Place } from '../../platform/http/caller/mount.ts';
import type { OwnRhythm } from './rhythm.ts';
import type { BatchExport } from './schema.ts';
import { newest_schema } from './typed_columns.ts';
import type { OfProject, TypedFields } from './typed_columns.ts';
import { wireOf } from './wire.ts';
import type { ModelName } from '../../engine/model/models/model.ts';

const selectExports = wireOf(sql`batch_exports`);

/** An export in a list; its runs are JSON text. */
export type ListedExport = Omit<BatchExport, 'latest_runs'> & { latest_runs: string };

/**
 * Selects one page of the exports of a place, newest first (ties by id): `ListedExport`. It first
 * chooses the page by batch_exports_by_project, then reads the runs of these exports only.
 */
export function listBatchExports(place: Place, page: Page): Sql {
  const order = sql`e.created_at DESC, e.id DESC`;
  const chosen = pageOfPlace(
    place,
    { fields: sql`e.*`, joined: empty, condition: sql`true`, order, order_of_fields: order },
    page,
  );
  return sql`${wireOf(sql`(${chosen})`, sql`latest.runs`)} ORDER BY ${order}`;
}

/** Selects the wire form of an export in an organization or project. */
export function selectBatchExport({ organization_id, team_id, id }: RecordPlace): Sql {
  return sql`${selectExports} JOIN projects p ON p.id = e.team_id
    WHERE e.id = ${id} AND e.deleted_at IS NULL AND p.organization_id = ${organization_id}
      AND (${team_id} IS NULL OR e.team_id = ${team_id})`;
}

/** Returns the export in its wire form. */
export function findBatchExport(
  db: Queryable,
  place: Place,
  id: string,
): Promise<BatchExport | undefined> {
  return db.row<BatchExport>(sql`${selectExports} WHERE e.id = ${id} AND ${isInPlace(place)}`);
}

/** Returns the creation time of the export, without its fields and runs. */
export function findPresence(
  db: Queryable,
  place: Place,
  id: string,
): Promise<Pick<BatchExport, 'id' | 'created_at'> | undefined> {
  return db.row(
    sql`SELECT e.id, e.created_at FROM batch_exports e WHERE e.id = ${id} AND ${isInPlace(place)}`,
  );
}

/** Fields of an export that users and the planner set. Instants are ISO 8601 text. */
export type ExportFields = StoredConfig &
  RejectedRowsPolicy &
  OwnRhythm &
  TypedFields & {
    name: string;
    model: ModelName;
    custom_query: string | null;
    schema: QuerySchema | null;
    destination_type: string;
    connection_id: string | null;
    write_rule: WriteRule | null;
    paused: boolean;
    last_paused_at: string | null;
    pause_reason: PauseReason | null;
    start_at: string | null;
    end_at: string | null;
    freshness_seconds: number | null;
    tags: string[];
    revision: number;
    planned_until: string;
    next_run_at: string | null;
  };

/** The columns of `ExportFields` with their types, for statements that name all of them. */
const field_types = {
  name: 'text',
  model: 'text',
  custom_query: 'text',
  schema: 'jsonb',
  destination_type: 'text',
  destination_config: 'jsonb',
  destination_secrets: 'bytea',
  connection_id: 'uuid',
  write_rule: 'jsonb',
  columns: 'text',
  new_columns: 'text',
  schema_number: 'integer',
  interval: 'text',
  timezone: 'text',
  has_own_timezone: 'boolean',
  offset_minutes: 'integer',
  paused: 'boolean',
  last_paused_at: 'timestamptz',
  pause_reason: 'jsonb',
  start_at: 'timestamptz',
  end_at: 'timestamptz',
  freshness_seconds: 'integer',
  rejected_rows: 'text',
  rejected_rows_max: 'integer',
  rejected_percent_max: 'integer',
  tags: 'text[]',
  revision: 'integer',
  planned_until: 'timestamptz',
  next_run_at: 'timestamptz',
} as const satisfies Record<keyof ExportFields, string>;
const fields = Object.keys(field_types) as (keyof ExportFields)[];

const listed = (prefix: 'e.' | 'n.' | '') =>
  raw(fields.map((name) => `${prefix}"${name}"`).join(', '));

/** Returns the values of the fields, in order and each with its type. */
function valuesOf(row: ExportFields): Sql {
  const values = fields.map((name) => {
    const [value, type] = [row[name], field_types[name]];
    const isJson = type === 'jsonb' && value !== null;
    return sql`${isJson ? JSON.stringify(value) : value}::${raw(type)}`;
  });
  return join(values, ', ');
}

/** A statement that writes rows of `e` and returns their wire form. */
const writtenOnWire = (statement: Sql, also: Sql = empty) => sql`
  WITH written AS (${statement}
    RETURNING e.id, e.team_id, e.created_at, e.last_updated_at, ${listed('e.')})${also}
  ${wireOf(sql`written`)}`;

/** An export, as actions read it. */
export type LockedExport = ExportFields & OfProject & { id: string; team_id: number };

/**
 * Locks the export until the transaction ends. Plans, ledger and runs of an export change only
 * under this lock. Take it before any other lock on its rows.
 */
export function lockBatchExport(
  tx: Transaction,
  place: Place,
  id: string,
): Promise<LockedExport | undefined> {
  return tx.row<LockedExport>(sql`
    SELECT e.id, e.team_id, ${listed('e.')}, (SELECT p.timezone FROM projects p
      WHERE p.id = e.team_id) AS project_timezone,
      (SELECT ${newest_schema} FROM projects p WHERE p.id = e.team_id) AS project_schema
    FROM batch_exports e WHERE e.id = ${id} AND ${isInPlace(place)} FOR UPDATE OF e`);
}

/** Fields of an export that people set, and its place. */
export type ExportSettings = Omit<
  ExportFields,
  | 'schema'
  | 'has_own_timezone'
  | 'last_paused_at'
  | 'pause_reason'
  | 'planned_until'
  | 'next_run_at'
> & { id: string; team_id: number };

/** Lists the settings of all exports of an organization, oldest first. */
export function listExportSettings(
  db: Queryable,
  organization_id: string,
): Promise<ExportSettings[]> {
  return db.rows<ExportSettings>(sql`
    SELECT e.id, e.team_id, e.name, e.model, e."interval", e.timezone, e.offset_minutes,
      e.paused, e.start_at, e.end_at, e.freshness_seconds, e.rejected_rows, e.rejected_rows_max,
      e.rejected_percent_max, e.tags, e.custom_query, e.destination_type, e.destination_config,
      e.destination_secrets, e.connection_id, e.write_rule, e.columns, e.new_columns,
      e.schema_number, e.revision
    FROM batch_exports e WHERE ${isInPlace({ organization_id })} ORDER BY e.created_at, e.id`);
}

/** Counts of deliveries in current revisions; `revisions` is the sum over the exports. */
export type Delivered = Record<'exports' | 'revisions' | 'delivered_records' | 'open_runs', number>;

/** Counts the deliveries of these exports in their current revisions. */
export async function countDelivered(db: Queryable, ids: readonly string[]): Promise<Delivered> {
  const counts = await db.row<Delivered>(sql`
    SELECT count(*) AS exports, coalesce(sum(e.revision), 0)::bigint AS revisions,
      coalesce(sum(r.delivered_records), 0)::bigint AS delivered_records,
      coalesce(sum(r.open_runs), 0)::bigint AS open_runs
    FROM batch_exports e CROSS JOIN LATERAL (
      SELECT sum(records_completed) FILTER (WHERE status = 'Completed') AS delivered_records,
        count(*) FILTER (WHERE status IN ('Starting', 'Running') AND committing_at IS NULL)
          AS open_runs
      FROM batch_export_runs WHERE batch_export_id = e.id AND revision = e.revision) r
    WHERE e.id = ANY (${ids}::uuid[])`);
  return counts!;
}

/** Returns the ids of a project's exports. */
export async function listExportIds(db: Queryable, team_id: number): Promise<string[]> {
  const rows = await db.rows<{ id: string }>(
    sql`SELECT id FROM batch_exports WHERE team_id = ${team_id} AND deleted_at IS NULL`,
  );
  return rows.map(({ id }) => id);
}

/** An export before it is stored. */
export type NewRow = ExportFields & { id: string; team_id: number; created_by: number | null };

/** Adds an export with the first line of its log, and returns its wire form. */
export async function insertBatchExport(
  tx: Transaction,
  row: NewRow,
  line: string,
): Promise<BatchExport> {
  const added = await tx.row<BatchExport>(
    writtenOnWire(
      sql`
        INSERT INTO batch_exports AS e (id, team_id, created_by, ${listed('')})
        VALUES (${row.id}, ${row.team_id}, ${row.created_by}, ${valuesOf(row)})`,
      sql`, line AS (${lineOfEach(sql`written`, 'INFO', line)})`,
    ),
  );
  return added!;
}

/**
 * Stores changed fields under the caller's lock, and returns the new wire form of the export. If
 * nothing differs, returns undefined and changes no row, so `last_updated_at` stays.
 */
export function updateBatchExport(
  tx: Transaction,
  id: string,
  next: ExportFields,
): Promise<BatchExport | undefined> {
  return tx.row<BatchExport>(
    writtenOnWire(sql`
      UPDATE batch_exports e SET (${listed('')}) = (${listed('n.')}), last_updated_at = now(),
        ${changed_at}
      FROM (VALUES (${valuesOf(next)})) n (${listed('')})
      WHERE e.id = ${id} AND (${listed('e.')}) IS DISTINCT FROM (${listed('n.')})`),
  );
}

/** The project of a new export, and the clock of the control store in milliseconds. */
export type TargetProject = { id: number; timezone: string; instant: number };

/**
 * Returns the wanted project, or the oldest one, and the control store's clock in milliseconds. The
 * project is undefined if the organization has none or not this one. With `lock`, nobody can delete
 * the project until the transaction ends.
 */
export function findTargetProject(
  db: Queryable,
  place: Place,
  wanted: number | undefined,
  lock?: 'lock',
): Promise<TargetProject | undefined> {
  const team = place.team_id ?? wanted ?? null;
  // PostgreSQL would refuse such a number as invalid input.
  if (team !== null && !Number.isSafeInteger(team)) return Promise.resolve(undefined);
  return db.row(sql`
    SELECT p.id, p.timezone, ${instant_column} FROM projects p
    WHERE p.organization_id = ${place.organization_id}
      AND (${team}::bigint IS NULL OR p.id = ${team}::bigint)
    ORDER BY p.created_at, p.id LIMIT 1 ${locking(lock, 'FOR SHARE')}`);
}
