// Retries failed runs of one export by a bulk action, in one process: time and processor time for
// each. Run: npm run bench bulk_retry [5000]
import os from 'node:os';
import { readFileSync, readdirSync } from 'node:fs';
import sql from 'sql-template-tag';
import { workBulkActions } from '../server/api/batch_exports/bulk_actions/work.ts';
import { newExport, projectBase } from '../test/factories/batch_exports.ts';
import { openHarness } from '../test/harness.ts';
import type { Harness } from '../test/harness.ts';

const runs = Number(process.argv[2] ?? 5_000);
const rounds = 3;

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

/**
 * Processor time of all of PostgreSQL, in ms, to the hundredth of a second: of the processes that
 * it has, and of those that it had.
 */
async function postgresTime({ deps: { db } }: Harness): Promise<number> {
  const backend = await db.row<{ pid: number }>(sql`SELECT pg_backend_pid() AS pid`);
  const statOf = (pid: string) => {
    try {
      // What stands behind the name of the program, which may have blanks in it.
      return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ').map(Number);
    } catch {
      return [];
    }
  };
  const server = statOf(String(backend!.pid))[1]!;
  const ticks = readdirSync('/proc').reduce((sum, pid) => {
    const stat = /^\d+$/.test(pid) ? statOf(pid) : [];
    if (stat[1] === server) return sum + stat[11]! + stat[12]!;
    return Number(pid) === server ? sum + stat[13]! + stat[14]! : sum;
  }, 0);
  return ticks * 10;
}

async function round(house: Harness): Promise<void> {
  const home = await house.newOrganization();
  const { id } = await newExport(house, home);
  await plantFailed(house, id);
  const asked_at = performance.now();
  const { status, text } = await house.request('POST', `${projectBase(home)}${id}/runs/bulk/`, {
    key: home.key,
    body: { action: 'retry_runs', filter: { error_code: 'down' } },
  });
  if (status !== 201) throw new Error(text);
  const [began_at, before, postgres] = [
    performance.now(),
    process.cpuUsage(),
    await postgresTime(house),
  ];
  const done = await workBulkActions(house.deps);
  const took = performance.now() - began_at;
  const { user, system } = process.cpuUsage(before);
  const each = (milliseconds: number) => `${(milliseconds / done).toFixed(2)} ms`;
  console.log(
    `${done} runs: asked for in ${Math.round(began_at - asked_at)} ms, retried in ` +
      `${(took / 1000).toFixed(1)} s, ${each(took)} each; processor time of the server ` +
      `${each((user + system) / 1000)}, of PostgreSQL ` +
      `${each((await postgresTime(house)) - postgres)}; load ${os.loadavg()[0]!.toFixed(1)}`,
  );
}

const house = await openHarness({ clickhouse: false });
try {
  for (let count = 0; count < rounds; count += 1) await round(house);
} finally {
  await house.close();
}
