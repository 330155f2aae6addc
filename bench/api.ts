// Measures requests of the API at full speed: through a server as users start it, and in turn
// through bare node:http with the same statement (api/bare_server.ts) on the same control store.
// Prints requests a second by the clock, and the processor time of server and PostgreSQL for each.
//   npm run bench api [--way read] [--rounds 5] [--share 1] [--before <another checkout>]
// `--share` is the part of the requests of a full round. Idle use of the processes is measured
// first and subtracted.
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import sql from 'sql-template-tag';
import { createApiKey } from '../server/platform/http/caller/api_key.ts';
import { openDatabase } from '../server/platform/postgres/database.ts';
import { call, main, serverEnvironment, startServer } from '../test/processes/server_process.ts';
import { readBenchOptions, tell } from './measure/figures.ts';
import { median, spreadOf } from './measure/median.ts';
import { plantExports } from './plant/runs.ts';
import { processorTime } from './measure/processor_time.ts';
import type { Load, LoadAsked } from './api/load.ts';

const options = readBenchOptions({ way: '', rounds: '5', share: '1', before: '' });

/** The requests, and the share of the bare server's rate that each aims at. */
const ways = [
  {
    name: 'read, 1 connection',
    method: 'GET',
    path: 'one',
    connections: 1,
    requests: 1500,
    aim: 0.75,
  },
  {
    name: 'read, 16 connections',
    method: 'GET',
    path: 'one',
    connections: 16,
    requests: 4000,
    aim: 0.75,
  },
  {
    name: 'read, 64 connections',
    method: 'GET',
    path: 'one',
    connections: 64,
    requests: 4000,
    aim: 0.75,
  },
  {
    name: 'list of 100, 4 connections',
    method: 'GET',
    path: 'list',
    connections: 4,
    requests: 60,
    aim: 0.6,
  },
  {
    name: 'create, 1 connection',
    method: 'POST',
    path: 'list',
    connections: 1,
    requests: 200,
    aim: 0.5,
  },
  {
    name: 'create, 16 connections',
    method: 'POST',
    path: 'list',
    connections: 16,
    requests: 400,
    aim: 0.5,
  },
  {
    name: 'change, 1 connection',
    method: 'PATCH',
    path: 'export',
    connections: 1,
    requests: 200,
    aim: 0.5,
  },
] as const;
type Way = (typeof ways)[number];
type Side = {
  name: string;
  address: string;
  paths: Record<Way['path'], string>;
  key: string;
  pids: { server: number; postgres: number };
  /** Microseconds of processor time that the idle processes use in a second. */
  idle: Used;
};
type Measured = Load & { server_us: number; postgres_us: number };

const idle_seconds = 4;
const closing: (() => unknown)[] = [];
const bare_path = fileURLToPath(new URL('./api/bare_server.ts', import.meta.url));
const load_path = fileURLToPath(new URL('./api/load.ts', import.meta.url));

/** A server of a checkout, with 100 exports of ten runs each. */
async function openSide(name: string, program: string) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  const key = createApiKey();
  const server = await startServer(['start'], serverEnvironment(folder, key), program);
  closing.push(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const { address, child } = server;
  const { database_url } = JSON.parse(readFileSync(join(folder, 'data/running.json'), 'utf8'));
  const pid = readFileSync(join(folder, 'data/postgres/postmaster.pid'), 'utf8').split('\n')[0];
  const { body } = await call(address, key, 'GET', '/api/organizations/@current/');
  const list = '/api/projects/1/batch_exports/';
  const created = await call(address, key, 'POST', list, newExport('First'));
  const id = String(created.body['id']);
  const db = openDatabase(database_url, { connections_max: 1, application_name: 'bench' });
  await plantExports({ deps: { db } }, id, { exports: 99, runs_each: 10 });
  await db.text('ANALYZE');
  await db.run(sql`UPDATE batch_exports SET paused = true`);
  await db.close();
  const paths = {
    one: `/api/organizations/${String(body['id'])}/`,
    list,
    export: `${list}${id}/`,
  };
  const side: Side = {
    name,
    address,
    key,
    paths,
    pids: { server: child.pid!, postgres: Number(pid) },
    idle: { server: 0, postgres: 0 },
  };
  return { side, bare_arguments: [database_url, '1', String(body['id']), id] };
}

function newExport(name: string): object {
  return { name, interval: 'hour', paused: true, destination: { type: 'NoOp', config: {} } };
}

async function openBare(ours: Awaited<ReturnType<typeof openSide>>) {
  const child = fork(bare_path, ours.bare_arguments);
  closing.push(() => child.disconnect());
  const [address] = (await once(child, 'message')) as [string];
  const { side } = ours;
  const pids = { ...side.pids, server: child.pid! };
  return { ...side, name: 'bare', address, pids };
}

async function failed(child: ChildProcess): Promise<never> {
  const [code] = (await once(child, 'exit')) as [number];
  throw new Error(`The load ended with ${code}.`);
}

type Used = { server: number; postgres: number };

function used({ pids }: Side): Used {
  return {
    server: processorTime(pids.server, 'alone'),
    postgres: processorTime(pids.postgres, 'with children'),
  };
}

async function measureIdle(sides: readonly Side[]): Promise<void> {
  const before = sides.map(used);
  await pause(idle_seconds * 1_000);
  for (const [at, side] of sides.entries()) {
    const after = used(side);
    side.idle = {
      server: (after.server - before[at]!.server) / idle_seconds,
      postgres: (after.postgres - before[at]!.postgres) / idle_seconds,
    };
  }
}

async function measure(side: Side, way: Way): Promise<Measured> {
  const asked: LoadAsked = {
    url: `${side.address}${side.paths[way.path]}`,
    key: side.key,
    method: way.method,
    connections: way.connections,
    requests: Math.ceil(way.requests * Number(options.share)),
    body: way.method === 'PATCH' ? { name: '' } : newExport(''),
  };
  const before = used(side);
  const child = fork(load_path, [JSON.stringify(asked)]);
  const [load] = (await Promise.race([once(child, 'message'), failed(child)])) as [Load];
  const after = used(side);
  const each = (part: keyof Used) =>
    (after[part] - before[part] - load.seconds * side.idle[part]) / load.requests;
  return { ...load, server_us: each('server'), postgres_us: each('postgres') };
}

function row(name: string, found: Measured[]): void {
  const told = (field: keyof Measured, digits: number) =>
    spreadOf(found.map((one) => one[field])).map((one) => one.toFixed(digits));
  const [rate, least, most] = told('per_second', 0);
  console.log(
    `  ${name.padEnd(7)} ${`${rate} (${least} to ${most})`.padEnd(24)} a second, ` +
      `p50 ${told('p50_ms', 1)[0]} ms, p99 ${told('p99_ms', 1)[0]} ms; processor: server ` +
      `${told('server_us', 0)[0]} us, PostgreSQL ${told('postgres_us', 0)[0]} us`,
  );
}

/**
 * Medians of the ratios of each round. The two sides of a round ran on the same, equally busy
 * machine.
 */
function ratios(name: string, ours: Measured[], other: Measured[]): void {
  const of = (value: (one: Measured) => number) =>
    ours.map((one, at) => value(one) / value(other[at]!));
  const [clock, least, most] = spreadOf(of((one) => one.per_second)).map((one) => one.toFixed(2));
  const processor = 1 / median(of((one) => one.server_us + one.postgres_us));
  console.log(
    `  ours / ${name}: ${clock} (${least} to ${most}) by the clock, ` +
      `${processor.toFixed(2)} by processor time`,
  );
}

function tellFigure({ name, aim }: Way, ours: Measured[], bare: Measured[]): void {
  const rates = (found: Measured[]) => found.map(({ per_second }) => per_second);
  const processor = (found: Measured[]) => found.map((one) => one.server_us + one.postgres_us);
  tell({
    what: `API: ${name}`,
    unit: 'a second',
    better: 'more',
    ours: rates(ours),
    beside: { name: 'bare node:http with its SQL', rounds: rates(bare) },
    processor: { ours: processor(ours), beside: processor(bare) },
    aim: { ratio: aim },
  });
}

const program = join(options.before, 'server/main.ts');
try {
  const ours = await openSide('ours', main);
  const bare = await openBare(ours);
  const before = options.before === '' ? [] : [await openSide('before', program)];
  const sides = [bare, ours.side, ...before.map(({ side }) => side)];
  await measureIdle(sides);
  for (const way of ways.filter(({ name }) => name.includes(options.way))) {
    console.log(way.name);
    const found = sides.map((): Measured[] => []);
    for (let round = 0; round < Number(options.rounds); round += 1)
      for (const [at, side] of sides.entries()) found[at]!.push(await measure(side, way));
    for (const [at, { name }] of sides.entries()) row(name, found[at]!);
    tellFigure(way, found[1]!, found[0]!);
    if (found[2] !== undefined) ratios('before', found[1]!, found[2]);
  }
} finally {
  for (const close of closing.toReversed()) await close();
}
