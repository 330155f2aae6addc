import sql from 'sql-template-tag';
import type { Queryable } from '../../../platform/postgres/database.ts';
import type { ModelName } from '../models/model.ts';
import type { TypedColumn } from './typed_relation.ts';

/**
 * SQL for the schema number of a run that begins now, for its `export`; null if properties are
 * JSON.
 */
export const schema_number = sql`CASE WHEN export.columns = 'typed' THEN
  coalesce(export.schema_number, (SELECT own.schema_number FROM projects own
    WHERE own.id = export.team_id)) END`;

/**
 * SQL fields of a `run` about its columns: the schema number, the columns, and those that the
 * newest typed delivery of its revision filled. Uses batch_export_runs_by_export.
 */
export const typed_fields = sql`run.schema_number,
  schema_columns_at(run.team_id, run.model, run.schema_number) AS typed_columns,
  CASE WHEN run.schema_number IS NOT NULL THEN (
    SELECT jsonb_path_query_array(schema_columns_at(run.team_id, run.model, known.schema_number),
      '$[*].column') FROM batch_export_runs known
    WHERE known.batch_export_id = run.batch_export_id AND known.revision = run.revision
      AND known.status = 'Completed' AND known.records_completed > 0
      AND known.schema_number IS NOT NULL
    ORDER BY known.created_at DESC, known.id DESC LIMIT 1) END AS known_columns`;

/**
 * SQL for the columns that deliveries may have added to the table of an `export`; null if
 * properties are JSON.
 */
export const delivered_columns = sql`CASE WHEN export.columns = 'typed' THEN
  schema_columns_until(export.team_id, export.model, coalesce((
    SELECT max(run.schema_number) FROM batch_export_runs run
    WHERE run.batch_export_id = export.id AND run.revision = export.revision
      AND run.status = 'Completed' AND run.records_completed > 0), 0)) END AS typed_columns`;

/** SQL for the columns that the project of an `export` ever had. */
export const all_columns = sql`CASE WHEN export.columns = 'typed' THEN
  schema_columns_until(export.team_id, export.model, 2147483647) END AS typed_columns`;

/** Finds the columns of a model at each of these schema numbers. */
export async function findColumnsAt(
  db: Queryable,
  of: { team_id: number; model: ModelName },
  numbers: number[],
): Promise<Map<number, TypedColumn[]>> {
  const rows = await db.rows<{ number: number; columns: TypedColumn[] }>(sql`
    SELECT number, schema_columns_at(${of.team_id}, ${of.model}, number) AS columns
    FROM unnest(${[...new Set(numbers)]}::integer[]) AS number`);
  return new Map(rows.map(({ number, columns }) => [number, columns]));
}

/** The same fields for code that never writes a row. */
export const no_typed_fields = sql`NULL::integer AS schema_number, NULL::jsonb AS typed_columns,
  NULL::jsonb AS known_columns`;
