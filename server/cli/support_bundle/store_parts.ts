import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { inJson } from './machine_parts.ts';
import type { Part } from './machine_parts.ts';

const runs_max = 500;
const lines_max = 5_000;

/**
 * Lists the control store's parts: versions, sizes, and recent activity of exports and their runs.
 */
export function postgresParts(db: Database): Part[] {
  const asked = (name: string, about: string, statement: Sql): Part => ({
    name: `postgres/${name}.json`,
    about,
    read: async () => inJson(await db.rows(statement)),
  });
  return [
    asked('version', 'its version', sql`SELECT version() AS version`),
    asked(
      'settings',
      'settings that are not the default',
      sql`SELECT name, setting, unit FROM pg_settings WHERE source NOT IN ('default', 'override')
        AND vartype <> 'string' ORDER BY name`,
    ),
    asked(
      'migrations',
      'the schema, and the release that created it',
      sql`SELECT to_jsonb(m) - 'sha256' AS migration FROM migrations m ORDER BY name`,
    ),
    asked(
      'background_migrations',
      'background migrations of ClickHouse, and their progress',
      sql`SELECT to_jsonb(m) - 'sha256' AS migration, (SELECT jsonb_agg(to_jsonb(p) - 'name'
          ORDER BY p.partition) FROM background_migration_partitions p WHERE p.name = m.name)
          AS partitions
        FROM background_migrations m ORDER BY m.name`,
    ),
    asked(
      'tables',
      "sizes of tables, and rows by the planner's estimate",
      sql`SELECT relname AS name, reltuples::bigint AS rows, pg_table_size(oid) AS bytes,
        pg_indexes_size(oid) AS index_bytes FROM pg_class WHERE relkind = 'r'
        AND relnamespace = current_schema()::regnamespace
        ORDER BY pg_total_relation_size(oid) DESC`,
    ),
    asked(
      'connections',
      'connections, what they wait for, and for how long',
      sql`SELECT application_name, state, wait_event_type, wait_event,
        extract(epoch FROM now() - xact_start)::int AS transaction_seconds FROM pg_stat_activity
        WHERE datname = current_database() ORDER BY xact_start LIMIT 200`,
    ),
    ...exportParts(asked),
  ];
}

function exportParts(asked: (name: string, about: string, statement: Sql) => Part): Part[] {
  const latest = sql`SELECT id FROM batch_export_runs ORDER BY last_updated_at DESC
    LIMIT ${runs_max}`;
  return [
    asked(
      'exports',
      'exports, without names, queries and configs',
      sql`SELECT id, team_id, model, interval, timezone, destination_type, paused, pause_reason,
        revision, next_run_at, planned_until, created_at, deleted_at FROM batch_exports
        ORDER BY created_at DESC LIMIT 1000`,
    ),
    asked(
      'runs',
      `the last ${runs_max} runs, with their errors`,
      sql`SELECT id, batch_export_id, team_id, revision, status, attempt, failures, error_code,
        latest_error, data_interval_start, data_interval_end, records_total_count,
        records_completed, bytes_completed, created_at, started_at, committing_at, finished_at,
        last_updated_at, worker_id FROM batch_export_runs WHERE id IN (${latest})
        ORDER BY last_updated_at DESC`,
    ),
    asked(
      'run_logs',
      `the last ${lines_max} lines of the exports' logs`,
      sql`SELECT timestamp, batch_export_id, run_id, level, message FROM batch_export_logs
        ORDER BY id DESC LIMIT ${lines_max}`,
    ),
    asked('workers', 'known workers', sql`SELECT * FROM workers ORDER BY id LIMIT 200`),
  ];
}

/** Lists the analytics store's parts. */
export function clickHouseParts(clickhouse: ClickHouse): Part[] {
  const asked = (name: string, about: string, query: string): Part => ({
    name: `clickhouse/${name}.json`,
    about,
    read: async () => {
      const abort_signal = AbortSignal.timeout(20_000);
      return inJson(await clickhouse.rows({ query, abort_signal }));
    },
  });
  return [
    asked('version', 'its version', 'SELECT version() AS version'),
    asked(
      'settings',
      'settings that are not the default',
      "SELECT name, value FROM system.settings WHERE changed AND type != 'String' ORDER BY name",
    ),
    asked('migrations', 'the schema', 'SELECT name, applied_at FROM migrations ORDER BY name'),
    asked(
      'tables',
      'parts, rows and bytes of tables',
      'SELECT database, table, count() AS parts, sum(rows) AS rows, sum(bytes_on_disk) AS bytes ' +
        'FROM system.parts WHERE active GROUP BY database, table ORDER BY bytes DESC LIMIT 200',
    ),
    asked(
      'replicas',
      'how the replica that was asked follows the others; of one node nothing',
      'SELECT table, replica_name, is_readonly, absolute_delay, queue_size, active_replicas, ' +
        'total_replicas, hostName() AS host FROM system.replicas ORDER BY table',
    ),
    asked(
      'mutations',
      'changes of rows in progress',
      'SELECT table, create_time, parts_to_do, latest_fail_time, latest_fail_reason ' +
        'FROM system.mutations WHERE NOT is_done LIMIT 200',
    ),
  ];
}
