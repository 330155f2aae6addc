// Whether weeks of hourly backfill make a worker grow: one export, 1008 intervals (six weeks) with
// a few events in each. Prints the server's memory before, at four points on the way and after, and
// how many runs ended in a second. Run: npm run bench backfill_memory [1008]
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openClickHouse } from '../server/platform/clickhouse/client.ts';
import { makeApiKey } from '../server/platform/http/caller/api_key.ts';
import { fillEvents } from '../test/factories/fill_events.ts';
import { call, serverEnvironment, startServer, until } from '../test/processes/server_process.ts';
import { memoryOf, treeOf } from './process_memory.ts';

const hours = Number(process.argv[2] ?? '1008');
const hour_ms = 3_600_000;
const events_per_hour = 20;
const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
const key = makeApiKey();
const server = await startServer(['start'], serverEnvironment(folder, key));
const stores = JSON.parse(readFileSync(join(folder, 'data/running.json'), 'utf8')) as {
  clickhouse_url: string;
};
const clickhouse = openClickHouse(stores.clickhouse_url, { application: 'bench' });
try {
  const to = Math.floor(Date.now() / hour_ms) * hour_ms - hour_ms;
  const from = to - hours * hour_ms;
  await fillEvents(clickhouse, {
    team_id: 1,
    events: hours * events_per_hour,
    from,
    to,
    inserted_from: to,
    inserted_to: to + 60_000,
  });
  const created = await call(server.address, key, 'POST', '/api/projects/1/batch_exports/', {
    name: 'Six weeks',
    interval: 'hour',
    destination: { type: 'File', config: { prefix: 'weeks' } },
  });
  const path = `/api/projects/1/batch_exports/${String(created.body['id'])}`;
  const tree = treeOf(server.child.pid!);
  const say = (what: string) => {
    const { total, by_process } = memoryOf('private', tree);
    const own = by_process.find(({ pid }) => pid === server.child.pid)?.megabytes ?? 0;
    console.log(`${what}: server ${own.toFixed(0)} MB, with its stores ${total.toFixed(0)} MB`);
  };
  say('before');
  const started = performance.now();
  const { backfill } = (
    await call(server.address, key, 'POST', `${path}/backfill/`, {
      start_at: new Date(from).toISOString(),
      end_at: new Date(to).toISOString(),
    })
  ).body as { backfill: { id: string } };
  let quarter = 1;
  const ended = await until('the backfill', 1_800_000, 500, async () => {
    const { body } = await call(server.address, key, 'GET', `${path}/backfills/${backfill.id}/`);
    const { finished_runs } = body['progress'] as { finished_runs: number };
    if (finished_runs >= (quarter * hours) / 4) {
      say(`${finished_runs} runs`);
      quarter += 1;
    }
    return body['finished_at'] === null ? undefined : body;
  });
  const seconds = (performance.now() - started) / 1000;
  console.log(
    `${String(ended['status'])}: ${JSON.stringify(ended['progress'])} after ` +
      `${seconds.toFixed(0)} s, ${(hours / seconds).toFixed(0)} runs/s`,
  );
  say('after');
} finally {
  await clickhouse.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
