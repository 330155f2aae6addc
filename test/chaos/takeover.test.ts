import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import sql from 'sql-template-tag';
import { break_offs_max } from '../../server/engine/exports/runs/worker_crashes.ts';
import { releaseDead } from '../../server/engine/exports/workers/heartbeat.ts';
import { createApiKey } from '../../server/platform/http/caller/api_key.ts';
import { openDatabase } from '../../server/platform/postgres/database.ts';
import { openHttpReceiver } from '../servers/http_receiver.ts';
import { is_deep, only_deep } from '../depth.ts';
import {
  call,
  findProcesses,
  serverEnvironment,
  startServer,
  until,
} from '../processes/server_process.ts';
import type { ServerProcess } from '../processes/server_process.ts';
import { deliverThroughKills } from './killed_plugins.ts';
import { compareFiles, startExport } from './one_export.ts';

// Kills parts of three servers and their stores while they work: a campaign. `npm test` shows the
// point of each test with fewer processes: by the kill of one worker
// (server/engine/exports/workers/killed_worker.test.ts), of the sandbox of a plugin
// (server/engine/plugins/running/running_workers.test.ts), and of the server
// (test/main_job.test.ts).

/** A killed worker's run is in other hands after 15 s, where the machine has nothing else to do. */
const takeover_ms_max = 15_000;
const events = 120_000;
const folder = mkdtempSync(join(tmpdir(), 'sluice-takeover-'));
const key = createApiKey();
const environment = serverEnvironment(folder, key, { SLUICE_WORKER_PORT: '0' });
const processes: ServerProcess[] = [];
let address: string;

before(async () => {
  if (!is_deep) return;
  address = (await start('api')).address;
});

after(async () => {
  for (const process of processes.toReversed()) await process.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function start(command: string): Promise<ServerProcess> {
  const started = await startServer([command], environment);
  processes.push(started);
  return started;
}

async function kill(process: ServerProcess): Promise<void> {
  processes.splice(processes.indexOf(process), 1);
  await process.kill();
}

test(
  'after one of two workers is killed, the other delivers everything once',
  { skip: only_deep },
  async (context) => {
    const workers = [await start('worker'), await start('worker')];
    const path = await startExport({ folder, events }, address, key);
    const messages = async (beginning: string) => {
      const page = await call(address, key, 'GET', `${path}/logs/?search=${beginning}&limit=500`);
      return (page.body['results'] as { message: string }[])
        .map(({ message }) => message)
        .filter((message) => message.startsWith(beginning));
    };
    await until('the first slice', 60_000, 20, async () =>
      (await messages('Slice')).length >= 1 ? true : undefined,
    );
    const killed = workers[await holderOf()]!;
    await kill(killed);
    const killed_at = performance.now();
    const written = (await messages('Slice')).length;
    await until('the other worker to take the run over', takeover_ms_max, 50, async () =>
      (await messages('Attempt')).length === 2 ? true : undefined,
    );
    context.diagnostic(
      `taken over ${((performance.now() - killed_at) / 1000).toFixed(1)} s after the kill, with ` +
        `${written} slices done`,
    );
    const run = await until('the run to end', 60_000, 100, async () => {
      const [newest] = (await call(address, key, 'GET', `${path}/runs/?limit=1`)).body[
        'results'
      ] as {
        status: string;
        records_completed: number;
      }[];
      return newest?.status === 'Completed' ? newest : undefined;
    });
    assert.equal(run.records_completed, events);
    const numbers = (await messages('Slice')).map(
      (message) => /^Slice (\d+) of/.exec(message)?.[1],
    );
    assert.equal(
      new Set(numbers).size,
      numbers.length,
      'a slice that was noted as safe was written again',
    );
    assert.ok(written < numbers.length, 'the run was over before the kill');
    const { source, delivered, lost, doubled } = await compareFiles(folder);
    assert.deepEqual([source, delivered, lost, doubled], [events, events, 0, 0]);
  },
);

test('a worker alone answers for its own health and metrics', { skip: only_deep }, async () => {
  const worker = processes.at(-1)!;
  const at = /\/metrics at (\S+)\.\n/.exec(worker.output())?.[1];
  const ready = await fetch(`${at}/readyz`);
  assert.deepEqual(
    [ready.status, ((await ready.json()) as { status: string }).status],
    [200, 'ok'],
  );
  const text = await (await fetch(`${at}/metrics`)).text();
  assert.match(text, /^sluice_records_exported_total\{destination="File"\} [1-9]/m);
  assert.equal((await fetch(`${at}/api/organizations/@current/`)).status, 404);
});

test(
  'events reach a plugin in order over kills of its worker, one batch twice at most',
  { skip: only_deep },
  async () => {
    await deliverThroughKills(
      { address, key },
      { kill: () => kill(processes.at(-1)!), start: () => start('worker') },
    );
  },
);

test(
  'a run that kills its worker each time is isolated, then given up; its neighbour is delivered',
  { skip: only_deep },
  async () => {
    for (const worker of processes.slice(1)) await worker.stop();
    processes.splice(1);
    const db = openStore();
    const endpoint = await openHttpReceiver({});
    try {
      let victim: ServerProcess | undefined;
      let kills = 0;
      endpoint.onRequest(() => {
        kills += victim === undefined ? 0 : 1;
        victim?.child.kill('SIGKILL');
      });
      const killer = await startBackfill('HTTP', { url: `${endpoint.url}/rows` });
      const neighbour = await startBackfill('NoOp', {});
      for (let count = 0; count < break_offs_max; count += 1) {
        victim = await start('worker');
        processes.pop();
        await once(victim.child, 'exit');
        // Eight seconds of silence are over, and the pause; the last time the worker that follows
        // notices it by itself.
        await db.run(sql`UPDATE workers SET heartbeat_at = heartbeat_at - interval '9 seconds'`);
        if (kills === break_offs_max) break;
        await releaseDead(db);
        await db.run(
          sql`UPDATE batch_export_runs SET due_at = now() WHERE status IN ('Starting', 'Running')`,
        );
      }
      victim = undefined;
      await start('worker');
      const given_up = await ended(killer);
      assert.deepEqual(
        [given_up.status, given_up.error_code, kills],
        ['FailedRetryable', 'broke_off', break_offs_max],
      );
      assert.equal(await isToldOfGivingUp(killer), true);
      assert.equal((await ended(neighbour)).status, 'Completed');
      assert.equal(
        (await call(address, key, 'POST', `${exportPath(killer)}/runs/${given_up.id}/retry/`, {}))
          .status,
        200,
      );
      const retried = await ended(killer, given_up.id);
      assert.deepEqual(
        [retried.status, retried.records_completed],
        ['Completed', given_up.records_total_count],
      );
      assert.ok(retried.records_completed > 0);
    } finally {
      await endpoint.close();
      await db.close();
    }
  },
);

test('SIGTERM ends workers, server and stores in order', { skip: only_deep }, async () => {
  for (const process of processes.splice(0).toReversed()) assert.equal(await process.stop(), 0);
  await until('the stores to be gone', 60_000, 50, async () =>
    findProcesses(folder, 'postgres').length + findProcesses(folder, 'clickhouse').length === 0
      ? true
      : undefined,
  );
});

/** Does the log of the export say, once, that its run was given up? */
async function isToldOfGivingUp(exported: Parameters<typeof exportPath>[0]): Promise<boolean> {
  const path = `${exportPath(exported)}/logs/?search=not%20heard%20of`;
  const { body } = await call(address, key, 'GET', path);
  const lines = body['results'] as { message: string }[];
  return lines.length === 1 && /5 times .* given up\.$/.test(lines[0]!.message);
}

type Run = {
  id: string;
  status: string;
  error_code: string | null;
  records_completed: number;
  records_total_count: number;
};

const exportPath = (id: string) => `/api/projects/1/batch_exports/${id}`;

/** An export with one run, of an hour of the day that the first test has filled; gives its id. */
async function startBackfill(type: string, config: Record<string, unknown>): Promise<string> {
  const created = await call(address, key, 'POST', '/api/projects/1/batch_exports/', {
    name: type,
    interval: 'hour',
    destination: { type, config },
  });
  const id = String(created.body['id']);
  const range = { start_at: '2026-01-01T00:00:00Z', end_at: '2026-01-01T01:00:00Z' };
  assert.equal(
    (await call(address, key, 'POST', `${exportPath(id)}/backfill/`, range)).status,
    200,
  );
  return id;
}

/** The newest run of the export as soon as it has ended, and is not `before`. */
function ended(id: string, before?: string): Promise<Run> {
  return until('the run to end', 60_000, 100, async () => {
    const [newest] = (await call(address, key, 'GET', `${exportPath(id)}/runs/?limit=1`)).body[
      'results'
    ] as Run[];
    return newest === undefined ||
      newest.id === before ||
      ['Starting', 'Running'].includes(newest.status)
      ? undefined
      : newest;
  });
}

function openStore() {
  const { database_url } = JSON.parse(readFileSync(join(folder, 'data/running.json'), 'utf8')) as {
    database_url: string;
  };
  return openDatabase(database_url, { connections_max: 1, application_name: 'takeover' });
}

/**
 * Returns the worker that has the run, by the order in which workers were started: their ids grow
 * with time.
 */
async function holderOf(): Promise<number> {
  const db = openStore();
  const row = await db.row<{ place: number }>(sql`
    SELECT count(*)::int AS place FROM workers WHERE id < (SELECT worker_id FROM batch_export_runs
      WHERE worker_id IS NOT NULL)`);
  await db.close();
  return row!.place;
}
