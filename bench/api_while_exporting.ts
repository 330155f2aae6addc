// What readers of the API notice of an export: 99th percentile of GET of a list of exports at 300 requests a second, idle and while millions of events are exported to `File`, with API and worker in one process
// (`start`) and in two (`api`, `worker`). Run: npm run bench:api-while-exporting [-- events]
import { fork } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openClickHouse } from '../server/platform/clickhouse/client.ts';
import { makeApiKey } from '../server/platform/http/api_key.ts';
import { fillEvents } from '../test/fill_events.ts';
import { call, serverEnvironment, startServer, until } from '../test/server_process.ts';

type Result = { non2xx: number; errors: number; latency: { p50: number; p99: number } };
// The package brings no types.
const autocannon = createRequire(import.meta.url)('autocannon') as (options: object) => Promise<Result>;

const requests_per_second = 300;
const duration_seconds = 8;
const day_ms = 24 * 3_600_000;

/** The load comes from a process of its own, so that its waits are not this process's. */
async function measure(url: string, key: string): Promise<Result> {
  const child = fork(fileURLToPath(import.meta.url), ['load', url, key]);
  const result = await new Promise<Result>((resolve, reject) => {
    child.on('message', (message) => resolve(message as Result));
    child.on('exit', (code) => reject(new Error(`load ended with ${code}`)));
  });
  child.disconnect();
  if (result.non2xx + result.errors > 0) throw new Error(`${result.non2xx + result.errors} requests were not answered with 200`);
  return result;
}

async function compare(commands: string[], events: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  const key = makeApiKey();
  const environment = serverEnvironment(folder, key);
  const processes = [await startServer([commands[0]!], environment)];
  try {
    for (const command of commands.slice(1)) processes.push(await startServer([command], environment));
    const { address } = processes[0]!;
    const stores = JSON.parse(readFileSync(join(folder, 'data/running.json'), 'utf8')) as { clickhouse_url: string };
    const clickhouse = openClickHouse(stores.clickhouse_url, { application: 'bench' });
    const to = Math.floor(Date.now() / day_ms) * day_ms;
    await fillEvents(clickhouse, { team_id: 1, events, from: to - day_ms, to, inserted_from: to - day_ms, inserted_to: to });
    await clickhouse.close();
    const list = '/api/projects/1/batch_exports/';
    const created = await call(address, key, 'POST', list, { name: 'Large', interval: 'day', destination: { type: 'File', config: { prefix: 'large' } } });
    const path = `${list}${String(created.body['id'])}`;
    const idle = await measure(`${address}${list}`, key);
    await call(address, key, 'POST', `${path}/backfill/`, { start_at: new Date(to - day_ms).toISOString(), end_at: new Date(to).toISOString() });
    const status = async () => ((await call(address, key, 'GET', `${path}/runs/`)).body['results'] as { status: string }[])[0]?.status;
    await until('the run to begin', 60_000, 50, async () => ((await status()) === 'Running' ? true : undefined));
    const busy = await measure(`${address}${list}`, key);
    const ended = await status();
    console.log(
      `${commands.join(' + ')}: p50 and p99 idle ${idle.latency.p50}, ${idle.latency.p99} ms; while exporting ${busy.latency.p50}, ${busy.latency.p99} ms${ended === 'Running' ? '' : ` (the run was over before the measurement: ${ended}; take more events)`}`,
    );
  } finally {
    for (const one of processes.toReversed()) await one.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[2] === 'load') {
  const [url, key] = process.argv.slice(3);
  const result = await autocannon({
    url,
    connections: 16,
    overallRate: requests_per_second,
    duration: duration_seconds,
    headers: { authorization: `Bearer ${key}` },
  });
  process.send?.({ non2xx: result.non2xx, errors: result.errors, latency: result.latency });
} else {
  for (const commands of [['start'], ['api', 'worker']]) await compare(commands, Number(process.argv[2] ?? '5000000'));
}
