import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  appendFileSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import sql from 'sql-template-tag';
import { createApiKey } from '../server/platform/http/caller/api_key.ts';
import { findFreePort } from '../server/platform/embedded/free_port.ts';
import { openEmbeddedPostgres } from '../server/platform/embedded/postgres/postgres.ts';
import { silentLog } from '../server/platform/log.ts';
import { openDatabase } from '../server/platform/postgres/database.ts';
import { is_deep } from './depth.ts';
import { descendantsOf, tell } from './processes/process_group.ts';
import {
  call,
  findProcesses,
  serverEnvironment,
  startServer,
  until,
} from './processes/server_process.ts';
import type { ServerProcess } from './processes/server_process.ts';
import { openSluice, runSluice } from './processes/sluice_process.ts';

// The path of a user, with the server as a process of its own: start, events, a kill right after
// the answer, an export, its proof, its end.

const main = fileURLToPath(new URL('../server/main.ts', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'sluice-main-job-'));
const key = createApiKey();
const environment = serverEnvironment(folder, key);
let server: ServerProcess;
/** When the first one was killed. Its worker, which could not say so, is known for some seconds. */
let killed_at: Date;
const sluice = openSluice();
/** The status that the configured key got at once when /readyz first said 200. */
let first_status: number;

before(async () => {
  const SLUICE_PORT = String(await findFreePort());
  const address = `http://127.0.0.1:${SLUICE_PORT}`;
  // Between listening and the first key lie some 100 ms.
  const ready = until('the server to be ready', 120_000, 5, async () => {
    const { status } = await call(address, '', 'GET', '/readyz').catch(() => ({ status: 0 }));
    return status === 200 ? call(address, key, 'GET', '/api/organizations/@current/') : undefined;
  });
  const started = startServer(['start'], { ...environment, SLUICE_PORT });
  [server, { status: first_status }] = await Promise.all([started, ready]);
});
after(async () => {
  await sluice.close();
  if (server.child.exitCode === null) await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function command(...words: string[]): Promise<{ code: number | null; output: string }> {
  const { code, out, err } = await sluice.run(words, environment);
  return { code, output: out + err };
}

const line = (number: number) =>
  JSON.stringify({
    event: 'e',
    distinct_id: `d${number % 7}`,
    timestamp: new Date(Date.parse('2026-01-01T00:00:00Z') + number * 10_000).toISOString(),
    properties: { number },
  });
/** One every ten seconds: those of two hours, each of which becomes a file. */
const events_sent = 700;
const events = '/api/projects/@current/events/';
const ndjson = { 'content-type': 'application/x-ndjson' };

test('at a first start the configured key works as soon as /readyz says 200', () => {
  assert.equal(first_status, 200);
});

test('a second server on the data folder is refused by a sentence naming the first', async () => {
  // In a process of its own: it has to end by itself.
  const { code, out, err } = await runSluice(['start'], environment);
  assert.equal(code, 1);
  assert.match(
    out + err,
    new RegExp(
      `is in use by another Sluice server \\(process ${server.child.pid}\\).*SLUICE_DATA_DIR`,
    ),
  );
});

test('wrong settings stop the start and are all named', async () => {
  const wrong = {
    ...environment,
    SLUICE_PORT: 'http',
    SLUICE_OUTBOUND_ALLOW: '10.0.0.0/99',
    SLUICE_DATABASE_ULR: 'x',
  };
  const { code, stderr } = await promisify(execFile)(process.execPath, [main, 'start'], {
    env: wrong,
  }).then(
    () => assert.fail('it started'),
    (error: unknown) => error as { code: number; stderr: string },
  );
  assert.equal(code, 2);
  for (const variable of ['SLUICE_PORT', 'SLUICE_OUTBOUND_ALLOW', 'SLUICE_DATABASE_ULR'])
    assert.match(stderr, new RegExp(variable));
});

test('acknowledged events survive a kill -9 at once, and are exported once', async () => {
  const body = Array.from({ length: events_sent }, (_, number) => line(number)).join('\n');
  const answer = await call(server.address, key, 'POST', events, body, ndjson);
  await server.kill();
  killed_at = new Date();
  assert.deepEqual(answer, {
    status: 200,
    body: { taken: events_sent, duplicates: 0, refused: 0, dropped: 0, rejected: 0, errors: [] },
  });
  server = await startServer(['start'], environment);

  const base = '/api/projects/@current/batch_exports/';
  const destination = { type: 'File', config: { prefix: 'main', file_format: 'JSONLines' } };
  const created = await call(server.address, key, 'POST', base, {
    name: 'main job',
    interval: 'hour',
    destination,
  });
  assert.equal(created.status, 201);
  const path = `${base}${String(created.body['id'])}/`;
  const started = await call(server.address, key, 'POST', `${path}backfill/`, {
    start_at: '2026-01-01T00:00:00Z',
    end_at: '2026-01-01T02:00:00Z',
  });
  assert.equal(started.status, 200);
  const { id } = started.body['backfill'] as { id: string };
  const backfill = await until('the backfill to end', 60_000, 100, async () => {
    const { body: found } = await call(server.address, key, 'GET', `${path}backfills/${id}/`);
    return found['finished_at'] === null ? undefined : found;
  });
  assert.equal(backfill['status'], 'Completed');

  const exported = join(folder, 'exports/main');
  const files = readdirSync(exported).filter((name) => name.endsWith('.jsonl'));
  const numbers = files
    .flatMap((name) => readFileSync(join(exported, name), 'utf8').trim().split('\n'))
    .map((text) => (JSON.parse(text) as { properties: { number: number } }).properties.number);
  assert.deepEqual(
    numbers.toSorted((a, b) => a - b),
    Array.from({ length: events_sent }, (_, number) => number),
  );

  const whole = await command('verify');
  assert.equal(whole.code, 0, whole.output);
  appendFileSync(join(exported, files[0]!), 'x');
  rmSync(join(exported, files[1]!));
  writeFileSync(join(exported, 'added.jsonl'), 'x');
  const differing = await command('verify');
  assert.equal(differing.code, 1);
  for (const [kind, name] of [
    ['changed', files[0]],
    ['missing', files[1]],
    ['added', 'added.jsonl'],
  ])
    assert.match(differing.output, new RegExp(`${kind} +main/${name}`));
});

test('the stores come back after a kill -9, and the server answers again', async () => {
  for (const kind of ['postgres', 'clickhouse'] as const) {
    tell(findProcesses(folder, kind), 'SIGKILL');
    await until(`${kind} to be back`, 30_000, 100, async () =>
      (await call(server.address, '', 'GET', '/readyz')).status === 200 ? true : undefined,
    );
    assert.equal(
      (await call(server.address, key, 'POST', events, line(5_000), ndjson)).status,
      200,
    );
  }
});

test('doctor finds nothing wrong beside a running server', async () => {
  const { code, output } = await command('doctor');
  assert.equal(code, 0, output);
  assert.match(output, /ok +server: process \d+ runs on this data folder/);
});

const orders = [
  ['the server first', (server: number, others: number[]) => [server, ...others, server]],
  ['the stores first', (server: number, others: number[]) => [...others, server, server]],
] as const;

// A supervisor such as systemd tells every process of a service to end at the same moment. If the
// server gets the signal first, it stops as it does alone.
for (const [title, order] of is_deep ? orders : orders.slice(-1))
  test(`told together, ${title}, server and stores stop in order, nothing remains`, async () => {
    if (server.child.exitCode !== null) server = await startServer(['start'], environment);
    const pid = server.child.pid!;
    const told = server.output().length;
    const ended = new Promise<number | null>((resolve) => server.child.once('exit', resolve));
    // The server twice: npm passes on to it what it got itself.
    tell(order(pid, descendantsOf(pid)), 'SIGTERM');
    assert.equal(await ended, 0, server.output());
    const output = server.output().slice(told);
    assert.doesNotMatch(output, / {4}at |could not be announced|"level":[56]0/);
    for (const kind of ['postgres', 'clickhouse'] as const)
      assert.deepEqual(findProcesses(folder, kind), []);
    assert.deepEqual(await announcedWorkers(), []);
  });

/** The workers that have not said that they end. */
async function announcedWorkers(): Promise<object[]> {
  const options = { folder: join(folder, 'data', 'postgres'), log: silentLog() };
  const store = await openEmbeddedPostgres(options);
  const db = openDatabase(store.url, { connections_max: 1, application_name: 'test' });
  try {
    return await db.rows(sql`SELECT id FROM workers WHERE heartbeat_at > ${killed_at}`);
  } finally {
    await db.close();
    await store.stop();
  }
}
