// Measures how long exports that are all due at the same moment wait for a worker: 10,000 exports
// of 100 and of 1,000 projects, a share of them with events to deliver, with several workers.
// Prints the median and 99th percentile from due to planned and to claimed, and the time until all
// are completed.
//   npm run bench claim_lag [-- --exports 10000 --projects 100 --workers 2 --busy 0,10 --rounds 2]
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { openClickHouse } from '../server/platform/clickhouse/client.ts';
import { createApiKey } from '../server/platform/http/caller/api_key.ts';
import { openDatabase } from '../server/platform/postgres/database.ts';
import { fillEvents } from '../test/factories/events/fill_events.ts';
import { call, serverEnvironment, startServer, until } from '../test/processes/server_process.ts';
import type { ServerProcess } from '../test/processes/server_process.ts';
import { benched_program } from './measure/benched_program.ts';
import { numbersOf, readBenchOptions, tell } from './measure/figures.ts';

const options = readBenchOptions({
  exports: '10000',
  projects: '100,1000',
  workers: '2',
  busy: '10',
  rounds: '2',
});
const exports = Number(options.exports);
const hour_ms = 3_600_000;
type Lag = {
  completed: number;
  planned_p50: number;
  planned_p99: number;
  claimed_p50: number;
  claimed_p99: number;
  completed_last: number;
};

/** Gives each busy project ten events that arrive in the hour that becomes due. */
async function fillBusyProjects(url: string, busy_projects: number): Promise<void> {
  const clickhouse = openClickHouse(url, { application: 'bench' });
  const to = Math.floor(Date.now() / hour_ms) * hour_ms;
  for (let team_id = 1; team_id <= busy_projects; team_id += 1)
    await fillEvents(clickhouse, { team_id, events: 10, from: to - hour_ms, to });
  await clickhouse.close();
}

async function measure(workerCount: number, projects: number, busy: number): Promise<Lag> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  const key = createApiKey();
  const environment = serverEnvironment(folder, key);
  const workers: ServerProcess[] = [];
  const server = await startServer(['api'], environment, benched_program);
  const stores = JSON.parse(readFileSync(join(folder, 'data/running.json'), 'utf8')) as {
    database_url: string;
    clickhouse_url: string;
  };
  const db = openDatabase(stores.database_url, { connections_max: 2, application_name: 'bench' });
  try {
    for (let count = 1; count < projects; count += 1)
      await call(server.address, key, 'POST', '/api/projects/', { name: `Project ${count}` });
    await db.run(sql`
      INSERT INTO batch_exports (id, team_id, name, model, destination_type, destination_config,
        "interval", timezone, planned_until, next_run_at)
      SELECT gen_random_uuid(), (SELECT min(id)
        FROM projects) + number % ${projects}, 'Export ' || number, 'events', 'NoOp', '{}', 'hour',
        'UTC', now(), NULL FROM generate_series(0, ${exports - 1}::int) number`);
    await fillBusyProjects(stores.clickhouse_url, (projects * busy) / 100);
    for (let count = 0; count < workerCount; count += 1)
      workers.push(await startServer(['worker'], environment, benched_program));
    const due = (await db.row<{ at: string }>(sql`
      WITH due AS (
        UPDATE batch_exports SET planned_until = date_trunc('hour', now()) - interval '1 hour',
          next_run_at = date_trunc('hour', now()), end_at = date_trunc('hour', now()) RETURNING 1)
      SELECT clock_timestamp() AS at FROM due LIMIT 1`))!.at;
    return await until(`${exports} runs`, 1_800_000, 500, async () => {
      const lag = (await db.row<Lag>(sql`
        SELECT count(completed)::int AS completed,
          percentile_cont(0.5) WITHIN GROUP (ORDER BY planned) AS planned_p50,
          percentile_cont(0.99) WITHIN GROUP (ORDER BY planned) AS planned_p99,
          percentile_cont(0.5) WITHIN GROUP (ORDER BY claimed) AS claimed_p50,
            percentile_cont(0.99) WITHIN GROUP (ORDER BY claimed) AS claimed_p99,
            max(completed) AS completed_last
        FROM (
          SELECT extract(epoch FROM created_at - ${due}::timestamptz)::float AS planned,
            extract(epoch FROM started_at - ${due}::timestamptz)::float AS claimed,
            CASE WHEN status = 'Completed' THEN extract(epoch
              FROM finished_at - ${due}::timestamptz)::float END AS completed
          FROM batch_export_runs) run`))!;
      return lag.completed === exports ? lag : undefined;
    });
  } finally {
    for (const worker of workers) await worker.stop();
    await db.close();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

for (const projects of numbersOf(options.projects))
  for (const busy of numbersOf(options.busy))
    for (const workers of numbersOf(options.workers)) {
      const found: Lag[] = [];
      for (let round = 0; round < Number(options.rounds); round += 1)
        found.push(await measure(workers, projects, busy));
      const what =
        `${exports} due exports of ${projects} projects, ${(exports * busy) / 100} with rows, ` +
        `${workers} workers`;
      const share = (name: string, of: (lag: Lag) => number, aim?: number) =>
        tell({
          what: `${what}: ${name}`,
          unit: 's',
          better: 'less',
          ours: found.map(of),
          aim: aim === undefined ? undefined : { value: aim },
        });
      share('planned, p99', (lag) => lag.planned_p99);
      share('claimed, median', (lag) => lag.claimed_p50);
      share('claimed, p99', (lag) => lag.claimed_p99, projects > 100 ? 8 : 5);
      share('all completed', (lag) => lag.completed_last);
    }
