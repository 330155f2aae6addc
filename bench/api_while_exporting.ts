// What readers of the API notice of an export: 99th percentile of GET of a list of exports at 300
// requests a second, idle and while millions of events are exported to `File`, with API and worker
// in one process (`start`) and in two (`api`, `worker`). Run: npm run bench api_while_exporting [--
// events]
import { fork } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openClickHouse } from '../server/platform/clickhouse/client.ts';
import { makeApiKey } from '../server/platform/http/caller/api_key.ts';
import { fillEvents } from '../test/factories/fill_events.ts';
import { call, serverEnvironment, startServer, until } from '../test/processes/server_process.ts';

type Result = { failed: number; p50: number; p99: number };

const requests_per_second = 300;
const warm_up_seconds = 4;
const duration_seconds = 10;
const day_ms = 24 * 3_600_000;

/** The load comes from a process of its own, so that its waits are not this process's. */
async function measure(url: string, key: string): Promise<Result> {
  const child = fork(fileURLToPath(import.meta.url), ['load', url, key]);
  const result = await new Promise<Result>((resolve, reject) => {
    child.on('message', (message) => resolve(message as Result));
    child.on('exit', (code) => reject(new Error(`load ended with ${code}`)));
  });
  child.disconnect();
  if (result.failed > 0) throw new Error(`${result.failed} requests were not answered with 200`);
  return result;
}

/**
 * Sends a request at each of the evenly spread instants, whether the earlier ones were answered or
 * not, and measures each from its instant: a server that stands still does not slow the load down.
 */
async function load(url: string, key: string): Promise<Result> {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const took: number[] = [];
  let failed = 0;
  const ask = (due: number) =>
    new Promise<number>((resolve) => {
      const note = (status: number | undefined) => {
        if (status !== 200) failed += 1;
        resolve(performance.now() - due);
      };
      const request = get(url, { agent, headers: { authorization: `Bearer ${key}` } }, (answer) => {
        answer.resume();
        answer.on('end', () => note(answer.statusCode));
      });
      request.on('error', () => note(undefined));
    });
  const begun = performance.now();
  const asked: Promise<void>[] = [];
  for (
    let count = 0;
    count < requests_per_second * (warm_up_seconds + duration_seconds);
    count += 1
  ) {
    const due = begun + (count * 1000) / requests_per_second;
    await pause(Math.max(0, due - performance.now()));
    const isMeasured = count >= requests_per_second * warm_up_seconds;
    asked.push(ask(due).then((milliseconds) => void (isMeasured ? took.push(milliseconds) : 0)));
  }
  await Promise.all(asked);
  agent.destroy();
  took.sort((one, other) => one - other);
  const at = (share: number) => Math.round(took[Math.floor(took.length * share)]! * 10) / 10;
  return { failed, p50: at(0.5), p99: at(0.99) };
}

async function compare(commands: string[], events: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  const key = makeApiKey();
  const environment = serverEnvironment(folder, key);
  const processes = [await startServer([commands[0]!], environment)];
  try {
    for (const command of commands.slice(1))
      processes.push(await startServer([command], environment));
    const { address } = processes[0]!;
    const stores = JSON.parse(readFileSync(join(folder, 'data/running.json'), 'utf8')) as {
      clickhouse_url: string;
    };
    const clickhouse = openClickHouse(stores.clickhouse_url, { application: 'bench' });
    const to = Math.floor(Date.now() / day_ms) * day_ms;
    await fillEvents(clickhouse, {
      team_id: 1,
      events,
      from: to - day_ms,
      to,
      inserted_from: to - day_ms,
      inserted_to: to,
    });
    await clickhouse.close();
    const list = '/api/projects/1/batch_exports/';
    const created = await call(address, key, 'POST', list, {
      name: 'Large',
      interval: 'day',
      destination: { type: 'File', config: { prefix: 'large' } },
    });
    const path = `${list}${String(created.body['id'])}`;
    const idle = await measure(`${address}${list}`, key);
    await call(address, key, 'POST', `${path}/backfill/`, {
      start_at: new Date(to - day_ms).toISOString(),
      end_at: new Date(to).toISOString(),
    });
    const status = async () =>
      (
        (await call(address, key, 'GET', `${path}/runs/`)).body['results'] as { status: string }[]
      )[0]?.status;
    await until('the run to begin', 60_000, 50, async () =>
      (await status()) === 'Running' ? true : undefined,
    );
    const busy = await measure(`${address}${list}`, key);
    const ended = await status();
    console.log(
      `${commands.join(' + ')}: p50 and p99 idle ${idle.p50}, ${idle.p99} ms; while exporting ` +
        `${busy.p50}, ${busy.p99} ms` +
        (ended === 'Running'
          ? ''
          : ` (the run was over before the measurement: ${ended}; take more events)`),
    );
  } finally {
    for (const one of processes.toReversed()) await one.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[2] === 'load') process.send?.(await load(process.argv[3]!, process.argv[4]!));
else
  for (const commands of [['start'], ['api', 'worker']])
    await compare(commands, Number(process.argv[2] ?? '5000000'));
