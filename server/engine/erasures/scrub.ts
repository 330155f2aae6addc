import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import { vacuum } from '../removals/vacuum.ts';
import type { Engine } from '../engine.ts';
import type { Erasure, ErasureCounts, StepEnd } from './erasure.ts';
import { scrubWarnings } from './scrub_warnings.ts';

/** Shorter ids are parts of too many other texts. */
const id_length_min = 4;
const ids_per_batch = 500;
const scrubbed_tables = [
  'batch_export_logs',
  'batch_export_runs',
  'ingestion_warnings',
  'plugin_cache',
  'plugin_jobs',
  'plugin_logs',
];
const gone = 'This named a person who was erased.';

/**
 * Takes the persons out of what the control store says of the project's events: examples of
 * warnings, lines of logs, what plugins wait for or remember. What plugins store for good is
 * counted only: nobody but the plugin knows what it is. Dead rows are cleared, so that the files of
 * the store do not have them either. May be repeated.
 */
export async function scrub(
  engine: Engine,
  erasure: Erasure,
  signal: AbortSignal,
): Promise<StepEnd> {
  const { db } = engine;
  const counts: Required<
    Pick<ErasureCounts, 'warning_examples' | 'log_lines' | 'plugin_jobs' | 'plugin_values'>
  > = {
    warning_examples: await scrubWarnings(engine, erasure, signal),
    log_lines: 0,
    plugin_jobs: 0,
    plugin_values: 0,
  };
  const after = { last: '' };
  for (;;) {
    const ids = await nextIds(engine.clickhouse, erasure.id, after.last, signal);
    if (ids.length === 0) break;
    after.last = ids.at(-1)!;
    // Values are JSON, and lines often have some: there quotes and backslashes are escaped.
    const named = ids
      .filter((id) => id.length >= id_length_min)
      .flatMap((id) => [...new Set([id, JSON.stringify(id).slice(1, -1)])]);
    const { team_id } = erasure;
    counts.log_lines += await db.run(sql`UPDATE batch_export_logs one SET message = ${gone}
      WHERE batch_export_id IN (SELECT id FROM batch_exports WHERE team_id = ${team_id})
        AND ${names(sql`one.message`, named)}`);
    counts.log_lines += await db.run(sql`UPDATE batch_export_runs one SET latest_error = ${gone}
      WHERE team_id = ${team_id} AND latest_error IS NOT NULL
        AND ${names(sql`one.latest_error`, named)}`);
    const ofProject = sql`plugin_config_id IN (SELECT id FROM plugin_configs
      WHERE team_id = ${team_id})`;
    counts.log_lines += await db.run(sql`UPDATE plugin_logs one SET message = ${gone}
      WHERE ${ofProject} AND ${names(sql`one.message`, named)}`);
    counts.plugin_jobs += await db.run(sql`DELETE FROM plugin_jobs one
      WHERE ${ofProject} AND ${names(sql`one.payload::text`, named)}`);
    await db.run(sql`DELETE FROM plugin_cache one
      WHERE ${ofProject} AND ${names(sql`one.key || one.value::text`, named)}`);
    const stored = await db.row<{ count: number }>(sql`SELECT count(*) AS count
      FROM plugin_storage one WHERE ${ofProject}
      AND ${names(sql`one.key || one.value::text`, named)}`);
    counts.plugin_values += stored!.count;
  }
  await vacuum(db, scrubbed_tables);
  return { step: 'files', detail: null, counts };
}

const names = (text: Sql, ids: string[]): Sql =>
  sql`EXISTS (SELECT 1 FROM unnest(${ids}::text[]) AS id WHERE position(id IN ${text}) > 0)`;

async function nextIds(
  clickhouse: ClickHouse,
  erasure_id: string,
  after: string,
  abort_signal: AbortSignal,
): Promise<string[]> {
  const rows = await clickhouse.rows<{ distinct_id: string }>({
    query: `SELECT DISTINCT distinct_id FROM erasing_ids WHERE erasure_id = {erasure_id:UUID}
      AND distinct_id > {after:String} ORDER BY distinct_id LIMIT ${ids_per_batch}`,
    query_params: { erasure_id, after },
    abort_signal,
  });
  return rows.map(({ distinct_id }) => distinct_id);
}
