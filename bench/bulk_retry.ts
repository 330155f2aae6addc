// Retries failed runs of one export by a bulk action, in one process: time and processor time for
// each. Run: npm run bench bulk_retry [-- --runs 5000 --rounds 3]
import sql from 'sql-template-tag';
import { workBulkActions } from '../server/api/batch_exports/bulk_actions/work.ts';
import { newExport, projectBase } from '../test/factories/batch_exports/batch_exports.ts';
import { openHarness } from '../test/harness.ts';
import type { Harness } from '../test/harness.ts';
import { readBenchOptions, tell } from './measure/figures.ts';
import { processorTime } from './measure/processor_time.ts';

const options = readBenchOptions({ runs: '5000', rounds: '3' });
const runs = Number(options.runs);

async function plantFailed({ deps: { db } }: Harness, id: string): Promise<void> {
  await db.run(sql`
    INSERT INTO batch_export_runs (id, batch_export_id, team_id, revision, delivery_id, status,
      data_interval_start, data_interval_end, selection, created_at, finished_at, latest_error,
      error_code)
    SELECT made.id, e.id, e.team_id, 1, made.id, 'Failed', hour.at, hour.at + interval '1 hour',
      jsonb_build_array(jsonb_build_object('event_from', NULL, 'event_to', NULL,
        'inserted_from', extract(epoch FROM hour.at)::bigint * 1000,
        'inserted_to', extract(epoch FROM hour.at)::bigint * 1000 + 3600000)),
      now(), now(), 'The server was down.', 'down'
    FROM generate_series(1, ${runs}::integer) n JOIN batch_exports e ON e.id = ${id}
      CROSS JOIN LATERAL (SELECT gen_random_uuid() AS id WHERE n > 0) made
      CROSS JOIN LATERAL (SELECT '2020-01-01'::timestamptz + n * interval '1 hour' AS at) hour`);
}

type Retried = { clock: number; processor: number };

/**
 * Milliseconds for each run: wall-clock time, and processor time of this process and PostgreSQL.
 */
async function round(harness: Harness): Promise<Retried> {
  const home = await harness.newOrganization();
  const { id } = await newExport(home);
  await plantFailed(harness, id);
  const { status, text } = await harness.request('POST', `${projectBase(home)}${id}/runs/bulk/`, {
    key: home.key,
    body: { action: 'retry_runs', filter: { error_code: 'down' } },
  });
  if (status !== 201) throw new Error(text);
  const before = processorTime(process.pid, 'with children');
  const began_at = performance.now();
  const done = await workBulkActions(harness.deps);
  const clock = (performance.now() - began_at) / done;
  const processor = (processorTime(process.pid, 'with children') - before) / done / 1_000;
  return { clock, processor };
}

const harness = await openHarness({ clickhouse: false });
try {
  const found: Retried[] = [];
  for (let count = 0; count < Number(options.rounds); count += 1) found.push(await round(harness));
  for (const part of ['clock', 'processor'] as const)
    tell({
      what: `${runs} failed runs retried by a bulk action, each, by the ${part}`,
      unit: 'ms',
      better: 'less',
      ours: found.map((one) => one[part]),
    });
} finally {
  await harness.close();
}
