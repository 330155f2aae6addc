import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import sql from 'sql-template-tag';
import type { Reconciled } from '../../server/engine/exports/reconcile/reconcile.ts';
import { until } from '../processes/server_process.ts';
import { readSource } from './compare.ts';
import { places } from './delivered.ts';
import { openDrillWorld } from './drill_world.ts';
import type { DrillWorld } from './drill_world.ts';
import { openRandom } from './random.ts';
import type { Random } from './random.ts';
import { startTraffic } from './traffic.ts';
import type { Traffic } from './traffic.ts';

/**
 * The losses, one in each round. The rest of the data folder is moved away, except for a kept
 * store: then `alone` is restored beside it.
 */
const losses = {
  PostgreSQL: { folders: ['postgres'] },
  ClickHouse: { folders: ['clickhouse'] },
  'both stores': { folders: ['postgres', 'clickhouse'] },
  'the machine': { folders: ['postgres', 'clickhouse', 'secret_key'] },
  'PostgreSQL alone': { folders: ['postgres'], alone: 'postgres' },
  'ClickHouse alone': { folders: ['clickhouse'], alone: 'clickhouse' },
} satisfies Record<string, { folders: string[]; alone?: string }>;

/** One of `losses`. */
export type Loss = keyof typeof losses;

/** The result of a round; `faults` must be empty. */
export type DrillOutcome = {
  loss: Loss;
  backup_seconds: number;
  restore_seconds: number;
  /** Events that were answered, that the backup has, and that the server has at the end. */
  sent: number;
  restored: number;
  /** Number of clients whose request was in progress at the kill; they send it again. */
  in_flight: number;
  stored: number;
  /** Counts by destination: rows, rows reported as lost, and duplicate rows. */
  destinations: Record<string, { rows: number; named: number; doubled: number }>;
  faults: string[];
};

const load_ms = 7_000;
const clients_count = 3;
const turn_ms = 1_500;
/** Longer than `SLUICE_SETTLE_SECONDS` of the campaign. */
const settled_ms = 1_500;
const late_ms_max = 3_600_000;
const wait_ms_max = 120_000;

/**
 * Plays rounds, each on a server of its own. A round makes a backup while events arrive and exports
 * run; every other one is killed first, every other one goes into a bucket. More load, a kill -9
 * while clients ask, a loss and a restore follow, and the exports continue. Then each row of each
 * destination is compared.
 */
export async function runDrills(wanted: {
  folder: string;
  rounds: number;
  seed: number;
  first?: number;
  say: (line: string) => void;
}): Promise<DrillOutcome[]> {
  const outcomes: DrillOutcome[] = [];
  const kinds = Object.keys(losses) as Loss[];
  for (let at = 0; at < wanted.rounds; at += 1) {
    const round = at + (wanted.first ?? 0);
    const folder = join(wanted.folder, `round_${round}`);
    mkdirSync(folder, { recursive: true });
    const world = await openDrillWorld(folder);
    try {
      const random = openRandom(wanted.seed, round);
      outcomes.push(await playRound(world, random, round, kinds[round % kinds.length]!));
    } finally {
      await world.close();
    }
    wanted.say(JSON.stringify(outcomes.at(-1)));
    if (outcomes.at(-1)!.faults.length === 0) rmSync(folder, { recursive: true, force: true });
  }
  return outcomes;
}

async function playRound(
  world: DrillWorld,
  random: Random,
  round: number,
  loss: Loss,
): Promise<DrillOutcome> {
  await world.start();
  const exports = await createExports(world);
  const stores = world.stores();
  const turning = everyTurn(() => stores.turn());
  const clients = Array.from({ length: clients_count }, (_none, client) =>
    startTraffic(world, openRandom(random.between(0, 1_000_000), client), late_ms_max),
  );
  await pause(load_ms);
  const settled = new Set(sentBy(clients));
  await pause(settled_ms);
  const place = round % 2 === 0 ? join(world.folder, 'backup') : world.bucket;
  const backup_seconds = await backUp(world, random, place, round % 2 === 1);
  await pause(load_ms);
  await turning.stop();
  await stores.close();
  const { answered, stopping, in_flight } = await killMeanwhile(world, clients);
  const { restore_seconds, found } = await loseAndRestore(world, loss, place);
  await Promise.all(stopping);
  const restored = world.stores();
  // The kept store has everything.
  if (loss === 'PostgreSQL alone') for (const uuid of answered) settled.add(uuid);
  const count = (await readSource(restored)).filter(({ uuid }) => settled.has(uuid)).length;
  const more = startTraffic(world, openRandom(round, 1), late_ms_max);
  const goingOn = everyTurn(() => restored.turn());
  await pause(load_ms / 2);
  await more.stop();
  await deliverAll(restored, exports);
  await goingOn.stop();
  const outcome: DrillOutcome = {
    loss,
    backup_seconds,
    restore_seconds,
    sent: sentBy(clients).length + more.sent.size,
    restored: count,
    in_flight,
    stored: 0,
    destinations: {},
    faults: [],
  };
  if (count < settled.size)
    outcome.faults.push(`${settled.size - count} events are lost that must be there`);
  await compare(world, restored, { exports, found, outcome });
  await restored.close();
  return outcome;
}

/** By type of destination, the id of its export. */
type Exports = Record<string, string>;

async function createExports(world: DrillWorld): Promise<Exports> {
  const exports: Exports = {};
  for (const [type, place] of Object.entries(places)) {
    const { status, body } = await world.call('POST', '/api/projects/@current/batch_exports/', {
      name: type,
      interval: 'every 5 minutes',
      destination: { type, config: place.config(world) },
    });
    if (status !== 201) throw new Error(JSON.stringify(body));
    exports[type] = String(body['id']);
  }
  return exports;
}

function everyTurn(turn: () => Promise<unknown>): { stop(): Promise<void> } {
  let isStopping = false;
  const loop = async () => {
    while (!isStopping) {
      await turn().catch(() => undefined);
      await pause(turn_ms);
    }
  };
  const done = loop();
  return {
    stop: async () => {
      isStopping = true;
      await done;
    },
  };
}

/** Returns the start of the completed backup, in seconds. */
async function backUp(
  world: DrillWorld,
  random: Random,
  place: string,
  isKilledFirst: boolean,
): Promise<number> {
  const words = ['backup', place, '--rows-per-file', '500'];
  if (isKilledFirst) {
    const { child, ended } = world.command(...words);
    await pause(random.between(500, 3_000));
    child.kill('SIGKILL');
    await ended;
  }
  const began = performance.now();
  const { code } = await world.command(...words).ended;
  if (code !== 0) throw new Error(`The backup ended with ${code}.`);
  return secondsSince(began);
}

function sentBy(clients: Traffic[]): string[] {
  return clients.flatMap(({ sent }) => [...sent.keys()]);
}

/**
 * Kills while a client asks, and tells all clients to end with their current request, which is sent
 * again. If a client sends a delivered and lost event again, it is a new event, which is delivered.
 * An event in progress now is delivered nowhere.
 */
async function killMeanwhile(world: DrillWorld, clients: Traffic[]) {
  await until('a request under way', wait_ms_max, 1, async () =>
    clients.some((client) => client.isAsking()) ? true : undefined,
  );
  const in_flight = clients.filter((client) => client.isAsking()).length;
  const stopping = clients.map((client) => client.stop());
  await world.kill();
  return { answered: sentBy(clients), stopping, in_flight };
}

async function loseAndRestore(world: DrillWorld, loss: Loss, place: string) {
  lose(world, loss);
  const { alone } = losses[loss] as { alone?: string };
  const words = alone === undefined ? [] : ['--lost', alone];
  const began = performance.now();
  const { code, out } = await world.command('restore', place, '--json', ...words).ended;
  const restore_seconds = secondsSince(began);
  if (code !== 0) throw new Error(`The restore ended with ${code}.`);
  const { exports: found } = JSON.parse(out) as { exports: Reconciled[] };
  await world.start();
  return { restore_seconds, found };
}

function lose({ folder }: DrillWorld, loss: Loss): void {
  const { folders, alone } = losses[loss] as { folders: string[]; alone?: string };
  for (const name of folders) rmSync(join(folder, 'data', name), { recursive: true, force: true });
  if (alone === undefined) renameSync(join(folder, 'data'), join(folder, 'data_left'));
}

type ServerStores = ReturnType<DrillWorld['stores']>;

/** Waits until every stored row has been through a run of each export. */
async function deliverAll({ db }: ServerStores, exports: Exports): Promise<void> {
  const row = await db.row<{ now: string }>(sql`SELECT now()`);
  const waiting = () =>
    db.row<{ count: number }>(sql`
      SELECT count(*) AS count FROM batch_exports export WHERE id = ANY (
        ${Object.values(exports)}::uuid[]) AND (paused OR planned_until < ${row!.now}::timestamptz
        OR EXISTS (SELECT 1 FROM batch_export_runs run WHERE run.batch_export_id = export.id
          AND run.data_interval_start <= ${row!.now}::timestamptz
          AND run.status IN ('Starting', 'Running')))`);
  await until('the last runs', wait_ms_max, 300, async () =>
    (await waiting())?.count === 0 ? true : undefined,
  );
}

/** Each stored row must be at each destination once; all other rows there must be reported. */
async function compare(
  world: DrillWorld,
  stores: ServerStores,
  judged: { exports: Exports; found: Reconciled[]; outcome: DrillOutcome },
): Promise<void> {
  const { outcome } = judged;
  const source = await readSource(stores);
  outcome.stored = source.length;
  for (const [type, place] of Object.entries(places)) {
    const delivered = await place.read(world);
    const said = judged.found.find((one) => one.batch_export_id === judged.exports[type]);
    const named = said?.lost?.rows ?? 0;
    const counts = [...delivered.values()].map((digests) => digests.length);
    const doubled = counts.filter((count) => count > 1).length;
    const missing = source.filter(({ uuid }) => !delivered.has(uuid)).length;
    const changed = source.filter(
      ({ uuid, digest }) => delivered.get(uuid)?.some((one) => one !== digest) === true,
    ).length;
    const known = new Set(source.map(({ uuid }) => uuid));
    const strange = [...delivered.keys()].filter((uuid) => !known.has(uuid)).length;
    outcome.destinations[type] = { rows: delivered.size, named, doubled };
    for (const [what, is, wanted] of [
      ['doubled', doubled, 0],
      ['missing', missing, 0],
      ['changed', changed, 0],
      ['not in the store', strange, named],
      ['in files without a receipt', said?.loose.length ?? 0, 0],
    ] as const)
      if (is !== wanted) outcome.faults.push(`${type}: ${is} rows are ${what}, not ${wanted}`);
  }
}

function secondsSince(began: number): number {
  return Math.round((performance.now() - began) / 100) / 10;
}
