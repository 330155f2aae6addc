import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import type { StoredSlice } from '../../../engine/model/run.ts';
import type { ClickHouse } from '../../../platform/clickhouse/client.ts';
import type { Queryable } from '../../../platform/postgres/database.ts';
import type { BatchExportRun } from '../runs/schema.ts';
import { exports_max, records_max } from './schema.ts';
import { models } from '../../../engine/model/models/index.ts';
import { isMadeOfEvents } from '../../../engine/model/models/model.ts';
import type { ModelName } from '../../../engine/model/models/model.ts';
import { run_days_max } from '../../../engine/exports/planning/interval.ts';

const look_seconds_max = 10;

/** A stored event, or a version of a row of another model; instants in microseconds. */
export type StoredRecord = {
  model: ModelName;
  uuid: string | null;
  event: string | null;
  distinct_id: string;
  session_id: string | null;
  group_id: string | null;
  person_version: number | null;
  happened_us: number | null;
  inserted_us: number;
};

type Row = Omit<StoredRecord, 'model' | 'happened_us' | 'inserted_us' | 'person_version'> & {
  person_version: string | null;
  happened_us: string | null;
  inserted_us: string;
};

const event_columns =
  'uuid, event, distinct_id, NULL AS session_id, NULL AS group_id, NULL AS person_version, ' +
  'toString(toUnixTimestamp64Micro(timestamp)) AS happened_us, ' +
  'toString(toUnixTimestamp64Micro(inserted_at)) AS inserted_us';

/** Returns the event with a uuid, or undefined. Uses the projection `uuids`. */
export function findEvent(
  clickhouse: ClickHouse,
  team_id: number,
  uuid: string,
): Promise<StoredRecord[]> {
  return ask(clickhouse, 'events', {
    query: `SELECT ${event_columns} FROM events WHERE team_id = {team_id:Int64}
      AND toUInt128(uuid) = toUInt128(toUUID({uuid:String})) LIMIT 1`,
    query_params: { team_id, uuid },
  });
}

/** A day in a project on which a distinct id is searched, milliseconds, half open. */
export type Day = { team_id: number; distinct_id: string; from: number; to: number };

/** Lists the events of a distinct id on the day, oldest first, one more than an answer has. */
export function listEvents(clickhouse: ClickHouse, day: Day): Promise<StoredRecord[]> {
  return ask(clickhouse, 'events', {
    query: `SELECT ${event_columns} FROM events WHERE team_id = {team_id:Int64}
      AND distinct_id = {distinct_id:String}
      AND timestamp >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')
      AND timestamp < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
      ORDER BY timestamp, uuid LIMIT ${records_max + 1}`,
    query_params: day,
  });
}

/** The column with the version of a record. */
const version_of = { persons: 'person_version', person_distinct_ids: 'version' } as const;

/** Lists the versions stored on the day, oldest first, one more than an answer has. */
export function listVersions(
  clickhouse: ClickHouse,
  model: keyof typeof version_of,
  day: Day,
): Promise<StoredRecord[]> {
  const version = version_of[model];
  return ask(clickhouse, model, {
    query: `SELECT NULL AS uuid, NULL AS event, distinct_id, NULL AS session_id,
        NULL AS group_id, toString(${version}) AS person_version, NULL AS happened_us,
        toString(toUnixTimestamp64Micro(inserted_at)) AS inserted_us
      FROM ${model} WHERE team_id = {team_id:Int64} AND distinct_id = {distinct_id:String}
        AND inserted_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')
        AND inserted_at < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
      ORDER BY inserted_at, ${version} LIMIT ${records_max + 1}`,
    query_params: day,
  });
}

/** ${column === key ? '{id:String}' : 'NULL'} AS ${column} */
export function listChanges(
  clickhouse: ClickHouse,
  model: 'sessions' | 'groups',
  team_id: number,
  id: string,
): Promise<StoredRecord[]> {
  const { key } = models[model];
  const removals = model === 'sessions' ? 'session_removals' : 'group_removals';
  const isIts = `team_id = {team_id:Int64} AND ${key} = {id:String}`;
  const at = 'toString(toUnixTimestamp64Micro(inserted_at))';
  const id_of = (column: string) => `${column === key ? '{id:String}' : 'NULL'} AS ${column}`;
  return ask(clickhouse, model, {
    query: `SELECT NULL AS uuid, NULL AS event, argMax(distinct_id, timestamp) AS distinct_id,
        ${id_of('session_id')}, ${id_of('group_id')}, ${at} AS person_version,
        NULL AS happened_us, ${at} AS inserted_us
      FROM (SELECT distinct_id, timestamp, inserted_at FROM events WHERE ${isIts}
        UNION ALL SELECT '', inserted_at, inserted_at FROM ${removals} WHERE ${isIts})
      GROUP BY inserted_at ORDER BY inserted_at LIMIT ${records_max + 1}`,
    query_params: { team_id, id },
  });
}

/** Returns the key of a record, as text. */
export function keyOf({ uuid, session_id, group_id, distinct_id }: StoredRecord): string {
  return uuid ?? session_id ?? group_id ?? distinct_id;
}

async function ask(
  clickhouse: ClickHouse,
  model: StoredRecord['model'],
  question: { query: string; query_params: Record<string, unknown> },
): Promise<StoredRecord[]> {
  const result = await clickhouse.rows<Row>({
    ...question,
    clickhouse_settings: { max_execution_time: look_seconds_max },
  });
  return result.map(({ person_version, happened_us, inserted_us, ...row }) => ({
    ...row,
    model,
    person_version: person_version === null ? null : Number(person_version),
    happened_us: happened_us === null ? null : Number(happened_us),
    inserted_us: Number(inserted_us),
  }));
}

/** The fields of an export that the search needs. */
export type SearchedExport = {
  id: string;
  team_id: number;
  name: string;
  model: ModelName;
  custom_query: string | null;
  destination_type: string;
  destination_config: Record<string, unknown> | null;
  revision: number;
};

/** Returns the newest exports of the project, or the named one, and their total number. */
export async function listSearched(
  db: Queryable,
  team_id: number,
  only: string | undefined,
): Promise<{ exports: SearchedExport[]; count: number }> {
  const rows = await db.rows<SearchedExport & { count: number }>(sql`
    SELECT e.id, e.team_id, e.name, e.model, e.custom_query, e.destination_type,
      e.destination_config, e.revision, count(*) OVER () AS count
    FROM batch_exports e WHERE e.team_id = ${team_id} AND e.deleted_at IS NULL
      AND (${only ?? null}::uuid IS NULL OR e.id = ${only ?? null}::uuid)
    ORDER BY e.created_at DESC, e.id DESC LIMIT ${exports_max}`);
  return {
    exports: rows.map(({ count: _count, ...row }) => row),
    count: rows[0]?.count ?? 0,
  };
}

/** A run that selects a record. */
export type SelectingRun = Pick<
  BatchExportRun,
  | 'id'
  | 'status'
  | 'latest_error'
  | 'delivery_id'
  | 'backfill'
  | 'data_interval_start'
  | 'data_interval_end'
> & { has_begun_to_commit: boolean; has_receipt: boolean; inserted_to: number | null };

/**
 * Finds the run that has the record among the current revision's runs that select it: a completed
 * one, else an open one, else the latest. Uses batch_export_runs_by_interval: a run selects rows
 * that were inserted, or events that happened, in its data interval.
 */
export function findSelectingRun(
  db: Queryable,
  { id, revision }: SearchedExport,
  { happened_us, inserted_us }: StoredRecord,
): Promise<SelectingRun | undefined> {
  const runs = (near: Sql) => sql`
    SELECT r.id, r.status, r.latest_error, r.delivery_id, r.backfill_id AS backfill,
      r.data_interval_start, r.data_interval_end, r.created_at,
      r.committing_at IS NOT NULL AS has_begun_to_commit, r.receipt IS NOT NULL AS has_receipt,
      coalesce(r.generation = 'stands', false) AS stands, side.inserted_to
    FROM (SELECT * FROM batch_export_runs r WHERE r.batch_export_id = ${id}
      AND r.revision = ${revision} AND ${near}) r
    CROSS JOIN LATERAL (
      SELECT max(s.inserted_to) AS inserted_to, count(*) AS sides
      FROM jsonb_to_recordset(r.selection) s (event_from bigint, event_to bigint,
        inserted_from bigint, inserted_to bigint)
      WHERE (s.inserted_from IS NULL OR s.inserted_from * 1000 <= ${inserted_us}::bigint)
        AND (s.inserted_to IS NULL OR s.inserted_to * 1000 > ${inserted_us}::bigint)
        AND (s.event_from IS NULL OR s.event_from * 1000 <= ${happened_us}::bigint)
        AND (s.event_to IS NULL OR s.event_to * 1000 > ${happened_us}::bigint)) side
    WHERE side.sides > 0`;
  const around = (at_us: number) => {
    const at = sql`('1970-01-01Z'::timestamptz + ${at_us}::bigint * interval '1 microsecond')`;
    return runs(sql`r.data_interval_start <= ${at} AND r.data_interval_end > ${at}
      AND r.data_interval_start > ${at} - make_interval(days => ${run_days_max})`);
  };
  // A generation also contains rows of all earlier intervals.
  const standing = runs(sql`r.generation = 'stands'`);
  return db.row<SelectingRun>(sql`
    SELECT id, status, latest_error, delivery_id, backfill, data_interval_start, data_interval_end,
      has_begun_to_commit, has_receipt, inserted_to
    FROM (${around(inserted_us)} UNION ALL ${around(happened_us ?? inserted_us)}
      UNION ALL ${standing}) run
    ORDER BY stands DESC, status = 'Completed' DESC, status IN ('Starting', 'Running') DESC,
      created_at DESC LIMIT 1`);
}

/** Lists the slices of a run, in order. */
export function listRunSlices(db: Queryable, run_id: string): Promise<StoredSlice[]> {
  return db.rows<StoredSlice>(sql`
    SELECT number, inserted_from, inserted_to, key_from, key_to, partition, records, outcome
    FROM batch_export_slices WHERE run_id = ${run_id} ORDER BY number`);
}

/** Returns the file into which a slice's file was merged, if it was. */
export async function findMovedSlice(
  db: Queryable,
  batch_export_id: string,
  name: string,
): Promise<string | undefined> {
  const row = await db.row<{ successor: string }>(sql`
    SELECT moved.successor FROM lake_tables t JOIN lake_replaced_files moved
      ON moved.table_id = t.id
      AND moved.path = t.location || regexp_replace(${name}, '^.*/data/', '/data/')
    WHERE t.batch_export_id = ${batch_export_id}::uuid AND moved.successor IS NOT NULL LIMIT 1`);
  return row?.successor;
}

/** Returns true if the run that delivers a version also has a later version of the same key. */
export async function hasLaterVersion(
  clickhouse: ClickHouse,
  team_id: number,
  record: StoredRecord,
  inserted_to: number | null,
): Promise<boolean> {
  const { model, person_version } = record;
  if (model === 'events' || inserted_to === null) return false;
  const [changes, key, version] = isMadeOfEvents(model)
    ? [
        models[model].changes(`team_id = {team_id:Int64} AND ${models[model].key} = {key:String}`),
        models[model].key,
        'toUnixTimestamp64Micro(inserted_at)',
      ]
    : [model, 'distinct_id', version_of[model]];
  const result = await clickhouse.rows({
    query: `SELECT 1 FROM ${changes} WHERE team_id = {team_id:Int64}
      AND ${key} = {key:String} AND ${version} > {version:Int64}
      AND inserted_at < fromUnixTimestamp64Milli({to:Int64}, 'UTC') LIMIT 1`,
    query_params: { team_id, key: keyOf(record), version: person_version, to: inserted_to },
    clickhouse_settings: { max_execution_time: look_seconds_max },
  });
  return result.length > 0;
}
