import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { delivery_key } from '../../engine/destinations/iceberg/catalogs/catalog.ts';
import type { List } from '../../platform/http/lists/pagination.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { LakeTable, Maintenance } from './schema.ts';

/** A number in a snapshot's summary, which writers may omit or misspell. */
const told = (summary: Sql, key: string) =>
  sql`substring(${summary} ->> ${key} FROM '^\\d{1,15}$')::bigint`;

/** Other writers may give any number as a time. */
const instant = (milliseconds: Sql) =>
  sql`to_timestamp(greatest(0, least(${milliseconds}, 253402300799999)) / 1000.0)`;

const columns = sql`t.id, array_to_string(n.levels, '.') AS namespace, t.name,
  CASE WHEN b.id IS NOT NULL THEN json_build_object('id', b.id, 'name', b.name) END AS batch_export,
  t.location, (m.metadata ->> 'format-version')::integer AS format_version,
  ${told(sql`s.summary`, 'total-records')} AS rows,
  ${told(sql`s.summary`, 'total-data-files')} AS data_files,
  ${told(sql`s.summary`, 'total-delete-files')} AS delete_files,
  ${told(sql`s.summary`, 'total-files-size')} AS bytes,
  (SELECT count(*) FROM lake_snapshots one WHERE one.table_id = t.id) AS snapshots,
  ${instant(sql`s.timestamp_ms`)} AS committed_at, t.created_at`;

/** Selects the tables of a project, each with its current snapshot. */
const from = (team_id: number) => sql`FROM lake_tables t
  JOIN lake_namespaces n ON n.id = t.namespace_id
  CROSS JOIN LATERAL (SELECT t.metadata::jsonb AS metadata) m
  LEFT JOIN batch_exports b ON b.id = t.batch_export_id AND b.deleted_at IS NULL
  LEFT JOIN LATERAL (
    SELECT snapshot::jsonb -> 'summary' AS summary, timestamp_ms FROM lake_snapshots
    WHERE table_id = t.id AND snapshot_id = (m.metadata ->> 'current-snapshot-id')::bigint
  ) s ON true
  WHERE t.team_id = ${team_id}`;

/** Lists the tables of a project by name; with `batch_export`, only the tables of this export. */
export function listLakeTables(team_id: number, batch_export: string | undefined): List {
  const narrowed = sql`(${batch_export ?? null}::uuid IS NULL
    OR t.batch_export_id = ${batch_export ?? null}::uuid)`;
  return {
    rows: (page) => sql`SELECT ${columns} ${from(team_id)} AND ${narrowed}
      ORDER BY n.levels, t.name LIMIT ${page.limit} OFFSET ${page.offset}`,
    count: sql`SELECT count(*) AS count FROM lake_tables t
      WHERE t.team_id = ${team_id} AND ${narrowed}`,
  };
}

/** Returns a table of the project by its id. */
export function findLakeTable(
  db: Queryable,
  team_id: number,
  id: string,
): Promise<LakeTable | undefined> {
  return db.row<LakeTable>(sql`SELECT ${columns} ${from(team_id)} AND t.id = ${id}::uuid`);
}

/** Returns the maintenance rounds of a table; `is_on` comes from its properties. */
export function findMaintenance(
  db: Queryable,
  table_id: string,
): Promise<Omit<Maintenance, 'is_on'> | undefined> {
  return db.row(sql`SELECT coalesce(m.due_at, now()) AS due_at, m.finished_at, m.changed_at,
      coalesce(m.result, '{}') AS changes, m.detail
    FROM lake_tables t LEFT JOIN lake_maintenance m ON m.table_id = t.id
    WHERE t.id = ${table_id}::uuid`);
}

/** Lets the next round of a table start now, with the removal of old files. */
export async function maintainNow(db: Queryable, table_id: string): Promise<void> {
  await db.run(sql`INSERT INTO lake_maintenance (table_id) VALUES (${table_id}::uuid)
    ON CONFLICT (table_id) DO UPDATE SET due_at = now(), cleaned_at = NULL`);
}

const uuid_form = '^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$';
const uuidIn = (key: string) => sql`substring(s.summary ->> ${key} FROM ${uuid_form})::uuid`;

/**
 * Lists the snapshots of a table, newest first. Parses only the snapshots of the page. Finds a run
 * by the delivery in the summary, within the project: by the primary key, and by
 * batch_export_runs_repeats for a retry.
 */
export function listSnapshots(team_id: number, table_id: string): List {
  return {
    rows: (page) => sql`SELECT chosen.snapshot_id::text AS id,
        chosen.whole ->> 'parent-snapshot-id' AS parent,
        coalesce(s.summary ->> 'operation', 'append') AS operation,
        ${instant(sql`chosen.timestamp_ms`)} AS committed_at,
        ${told(sql`s.summary`, 'added-records')} AS added_rows,
        ${told(sql`s.summary`, 'deleted-records')} AS deleted_rows,
        ${told(sql`s.summary`, 'added-data-files')} AS added_files,
        ${told(sql`s.summary`, 'deleted-data-files')} AS deleted_files,
        ${told(sql`s.summary`, 'total-records')} AS total_rows, run.run,
        substring(s.summary ->> 'sluice.maintenance' FROM '^(?:compaction|manifests|erasure)$')
          AS maintenance
      FROM (SELECT number, snapshot_id, timestamp_ms, snapshot::jsonb AS whole
        FROM lake_snapshots WHERE table_id = ${table_id}::uuid
        ORDER BY number DESC LIMIT ${page.limit} OFFSET ${page.offset}) chosen
      CROSS JOIN LATERAL (SELECT chosen.whole -> 'summary' AS summary) s
      LEFT JOIN LATERAL (
        SELECT json_build_object('id', r.id, 'batch_export', b.id) AS run
        FROM batch_export_runs r JOIN batch_exports b ON b.id = r.batch_export_id
        WHERE b.id = ${uuidIn('sluice.export-id')} AND b.team_id = ${team_id}
          AND b.deleted_at IS NULL
          AND (r.id = ${uuidIn(delivery_key)}
            OR r.id <> r.delivery_id AND r.delivery_id = ${uuidIn(delivery_key)})
        ORDER BY r.status = 'Completed' DESC LIMIT 1
      ) run ON true
      ORDER BY chosen.number DESC`,
    count: sql`SELECT count(*) AS count FROM lake_snapshots WHERE table_id = ${table_id}::uuid`,
  };
}
