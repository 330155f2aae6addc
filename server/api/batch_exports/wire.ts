import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { managedBy } from '../managed/store.ts';
import { alias_columns } from './aliases.ts';
import { next_run, own_config } from './place.ts';
import { rhythm_columns } from './rhythm.ts';
import { run_text } from './runs/fields.ts';
import { typed_columns } from './typed_columns.ts';
import { verified_columns } from './verified.ts';

/** Number of an export's newest runs in `latest_runs`. */
const latest_runs_max = 10;

/**
 * Selects the exports of a table `e` in their wire form. It names each column, so no secret can
 * slip in. The lateral join reads the newest runs of all exports of a page in one statement, from
 * batch_export_runs_by_export. `runs` aggregates them to JSON text.
 */
export const wireOf = (table: Sql, runs = sql`latest.runs::json`) => sql`
  SELECT e.id, e.team_id, e.name, e.model, e.connection_id, e."interval", ${rhythm_columns},
    json_build_object('type', e.destination_type, 'config', ${own_config}) AS destination, e.paused,
    e.created_at, e.last_updated_at, e.last_paused_at, e.pause_reason, e.start_at, e.end_at,
    e.freshness_seconds, e.rejected_rows, e.rejected_rows_max, e.rejected_percent_max,
    to_jsonb(e.tags) AS tags, ${next_run} AS next_run, ${runs} AS latest_runs, e.custom_query,
    e.schema, ${typed_columns}, ${alias_columns},
    ${verified_columns}, ${managedBy('batch_export', sql`e.id`)} AS managed_by
  FROM ${table} e CROSS JOIN LATERAL (
    SELECT concat('[', string_agg(${run_text}, ','), ']') AS runs FROM (
      SELECT r.* FROM batch_export_runs r
      WHERE r.batch_export_id = e.id ORDER BY r.created_at DESC, r.id DESC
        LIMIT ${latest_runs_max}) r) latest`;
