import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Engine } from '../../server/engine/exports/engine.ts';
import { beginStop, leave } from '../../server/engine/exports/workers/heartbeat.ts';
import { openDuties } from '../../server/engine/exports/workers/worker.ts';
import type { Duties } from '../../server/engine/exports/workers/worker.ts';
import { nextInsertion } from '../../server/engine/ingest/flush.ts';
import {
  clearBatch,
  lockForWriting,
  noteBatch,
  readState,
} from '../../server/engine/ingest/lock.ts';
import { isoInstant } from '../../server/platform/clock.ts';
import type { Database } from '../../server/platform/postgres/database.ts';
import { openRandom } from '../chaos/random.ts';
import { newExport, projectBase } from '../factories/batch_exports/batch_exports.ts';
import type { TestOrganization } from '../harness.ts';
import { deliverTo } from './destination.ts';
import type { SimulatedDestination } from './destination.ts';
import { inTurns } from './in_turns.ts';
import type { Simulator } from './simulator.ts';
import { openSource } from './source.ts';
import { newActor } from './actor.ts';
import type { Actor } from './actor.ts';
import { Turns } from './turns.ts';

/** The intervals of a simulation's exports. */
export type Rhythm = 'every 5 minutes' | 'hour' | 'day' | 'week';
const lengths: Record<Rhythm, number> = {
  'every 5 minutes': 300_000,
  hour: 3_600_000,
  day: 24 * 3_600_000,
  week: 7 * 24 * 3_600_000,
};

/** A worker process, from its start to its end. */
type Process = {
  actor: Actor;
  engine: Engine;
  worker: Duties;
  /** Stops it; `db`: its sessions. */
  stop(db?: Database): Promise<void>;
};

/** One export, its source and destination, and all their actors. */
export type World = {
  simulator: Simulator;
  turns: Turns;
  home: TestOrganization;
  /** The path of the export in the API. */
  path: string;
  export_id: string;
  destination_type: string;
  /** Milliseconds; the schedule delivers the rows inserted since. */
  created_at: number;
  /** Length of an interval in milliseconds. */
  length: number;
  source: ReturnType<typeof openSource>;
  destination: SimulatedDestination;
  place: string;
  ingestion: { actor: Actor; db: Database };
  /** Stores the batch that ingestion may have sent before it died. */
  in_transit(): void;
  processes: Map<string, Process>;
  /** Acts of actors that fell asleep in the middle. */
  begun: Map<Actor, Promise<unknown>>;
  /** Answers and observations that must never occur. */
  faults: unknown[];
  /** True if the schedule alone need not deliver everything, because a part was left out. */
  has_gap: boolean;
  /** True once a process was disturbed. */
  is_struck: boolean;
  /** True once runs without rows may have been removed. */
  is_swept: boolean;
};

/** The names of the two workers, of which one process each exists at a time. */
export const process_names = ['A', 'B'] as const;

/** Opens an empty world, at the start of a week. */
export async function openWorld(
  simulator: Simulator,
  { turns: seed, rhythm, settles }: { turns: number; rhythm: Rhythm; settles: boolean },
  trace: string[],
): Promise<World> {
  const { home, time } = simulator;
  await forgetWorld(simulator);
  await time.pass(lengths.week - ((time.now() - first_monday) % lengths.week));
  const turns = new Turns(openRandom(seed, 7), trace, {
    blocked: () => simulator.blocked(),
    onStep: () => time.pass(1),
  });
  const destination: SimulatedDestination = {
    places: new Map(),
    fates: [],
    faults: [],
    step: (name, label, work) => {
      const process = world.processes.get(name);
      return process === undefined ? work() : turns.step(process.actor, label, work);
    },
  };
  deliverTo(destination);
  simulator.letAsk(turns);
  const destination_type = settles ? 'SimulatedSettled' : 'Simulated';
  const random = openRandom(seed, 8);
  Math.random = () => random.next();
  const { id } = await newExport(home, {
    interval: rhythm,
    destination: { type: destination_type, config: { place: 'place 0' } },
  });
  const world: World = {
    simulator,
    turns,
    home,
    path: `${projectBase(home)}${id}/`,
    export_id: id,
    destination_type,
    created_at: time.now(),
    length: lengths[rhythm],
    source: openSource(home.project.id),
    destination,
    place: 'place 0',
    ingestion: openIngestion({ simulator, turns }),
    in_transit: () => undefined,
    processes: new Map(),
    begun: new Map(),
    faults: destination.faults,
    has_gap: false,
    is_struck: false,
    is_swept: false,
  };
  // Rows from before the export belong to a backfill.
  await insert(
    world,
    [0.1, 0.9, 1.4, 2.6, 3.3].map((intervals) => intervals * world.length),
  );
  await time.pass(60_000);
  return world;
}

/** Intervals of all lengths start at the boundaries from this instant. */
export const first_monday = Date.parse('2026-03-02T00:00:00Z');

/** Ingestion as a separate process, with its sessions. */
export function openIngestion({ simulator, turns }: Pick<World, 'simulator' | 'turns'>) {
  const actor = newActor('ingestion', () => simulator.endSessions('ingestion'));
  return { actor, db: inTurns(simulator.sessionsOf('ingestion'), actor, turns) };
}

/** Removes what an earlier history, however it ended, has left. */
async function forgetWorld({ db }: Simulator): Promise<void> {
  for (const table of [
    'batch_export_runs',
    'batch_export_leftovers',
    'batch_export_backfills',
    'batch_exports',
    'workers',
    'virtual.owners',
    'virtual.wrong',
    'virtual.unwanted',
  ])
    await db.text(`DELETE FROM ${table}`);
}

/** Returns the process of this name: a new one if there is none, or it was killed. */
export function processOf(world: World, name: string): Process {
  const known = world.processes.get(name);
  if (known !== undefined && !known.actor.is_dead) return known;
  const { simulator, turns, source } = world;
  const sessions = simulator.sessionsOf(name);
  const actor = newActor(name, () => simulator.endSessions(name));
  const engine: Engine = {
    ...simulator.harness.deps.engine,
    db: inTurns(sessions, actor, turns),
    clickhouse: source.clickhouse,
    clock: simulator.time.clock,
    // The destination recognizes the process by it.
    export_dir: name,
    pause_after_failures: 0,
  };
  const limits = { runs_max: 3, project_runs_max: 4, host_runs_max: 100 };
  const worker = openDuties(engine, limits, { wake: () => undefined, planIn: () => undefined });
  const process: Process = {
    actor,
    engine,
    worker,
    stop: async (db = engine.db) => {
      worker.leave();
      await beginStop(db, worker.worker_id);
      await leave(db, worker.worker_id, { is_fault: false });
    },
  };
  world.processes.set(name, process);
  return process;
}

/** Events of the past, as ingestion takes them: how long ago they happened, in milliseconds. */
export async function insert(world: World, ages: number[]): Promise<void> {
  const { ingestion, home, source, simulator, turns } = world;
  const team_id = home.project.id;
  await ingestion.db.transaction(async (tx) => {
    await lockForWriting(tx, team_id);
    const state = await readState(tx, team_id);
    const last = state.last_inserted_at === null ? 0 : Date.parse(state.last_inserted_at);
    const at = nextInsertion(state, last);
    const batch_id = randomUUID();
    const { epoch, last_inserted_at } = state;
    const note = { team_id, epoch, batch_id, last_inserted_at, writes_persons: false };
    const noted = await noteBatch(ingestion.db, {
      ...note,
      inserted_at: isoInstant(at),
      seconds_max: 60,
    });
    assert.equal(noted, 'noted', 'the lock did not keep others from the batch');
    const now = simulator.time.now();
    world.in_transit = () => {
      world.in_transit = () => undefined;
      for (const [number, age] of ages.entries())
        source.rows.push({
          uuid: randomUUID(),
          instant: Math.round(now - age - number),
          inserted_at: at,
          digest: '',
        });
    };
    await turns.step(ingestion.actor, 'insert', async () => world.in_transit());
    await clearBatch(tx, team_id, batch_id);
  });
}

/**
 * Ends the world's processes, including the sessions of processes in the middle of something, and
 * the requests of its person. Their locks would keep the next world waiting.
 */
export async function closeWorld(world: World): Promise<void> {
  for (const { actor } of [world.ingestion, ...world.processes.values()]) {
    if (world.begun.has(actor)) await actor.bury();
    actor.is_dead = true;
  }
  world.turns.end();
  await world.begun.get(world.simulator.person)?.catch(() => undefined);
}
