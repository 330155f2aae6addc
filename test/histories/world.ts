import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import sql from 'sql-template-tag';
import { claimRuns } from '../../server/engine/exports/workers/claims.ts';
import type { Engine } from '../../server/engine/exports/engine.ts';
import { contains } from '../factories/events/areas.ts';
import { fromStored } from '../../server/engine/model/ledger/rectangles.ts';
import type { Rectangle } from '../../server/engine/model/ledger/rectangles.ts';
import type { Look, LookedAt } from '../../server/engine/exports/runs/count_windows.ts';
import { completeEmptyRuns } from '../../server/engine/exports/runs/empty_runs.ts';
import { beginCommit, retryLater, storeSlices } from '../../server/engine/exports/runs/progress.ts';
import { endRun } from '../../server/engine/exports/runs/end_runs.ts';
import { LostRunError } from '../../server/engine/model/run.ts';
import type { ClaimedRun } from '../../server/engine/model/run.ts';
import { releaseDead } from '../../server/engine/exports/workers/heartbeat.ts';
import { databaseInstant } from '../../server/platform/postgres/instant.ts';
import { newExport, projectBase } from '../factories/batch_exports/batch_exports.ts';
import type { SourceEvent } from '../chaos/compare.ts';
import type { Harness, TestOrganization } from '../harness.ts';

/**
 * How a worker gets on with a run. `crash`: it dies; `stall`: it is believed dead and goes on
 * later.
 */
export type Fate =
  | 'completes'
  | 'fails'
  | 'is tried later'
  | 'crashes before the commit'
  | 'crashes in the commit'
  | 'crashes after the commit'
  | 'fails in the commit'
  | 'fails after the commit'
  | 'stalls before the commit'
  | 'stalls in the commit';

/** What the destination holds of one delivery. */
type Delivered = { revision: number; selection: string; uuids: string[] };

/** Where the rows of a source lie, and what is read of them. */
export type Source = {
  /** Takes events of one insertion. Returns when they are there. */
  add(team_id: number, events: SourceEvent[]): Promise<void>;
  /** The uuids of a project's events that a selection has. */
  select(team_id: number, area: Rectangle[]): Promise<string[]>;
  /** Says which runs have no rows. */
  look: Look;
};

/**
 * One export on the real control store, with the real planning, ledger, claims and ends of runs,
 * and the rows of its source and destination in memory, or those of the source in a store. A worker
 * takes the steps of execute.ts, and a fault can come between any two of them.
 */
export type World = {
  harness: Harness;
  home: TestOrganization;
  engine: Engine;
  export_id: string;
  /** The path of the export in the API. */
  path: string;
  /** When it was created, milliseconds: what was inserted since is the schedule's. */
  created_at: number;
  /** What was inserted. */
  source: SourceEvent[];
  /** Where it is read; without one the list is. */
  store: Source | undefined;
  destination: Map<string, Delivered>;
  /** What workers that were believed dead will do when they go on. */
  stalled: (() => Promise<void>)[];
  /**
   * True when the schedule alone need not deliver everything: it was told to leave something out,
   * or began anew.
   */
  has_gap: boolean;
};

const wide = { project_runs_max: 100, host_runs_max: 100 };

/** An export of its own; whatever an earlier world left open is closed. */
export async function openWorld(
  harness: Harness,
  home: TestOrganization,
  store?: Source,
): Promise<World> {
  const { db } = harness.deps;
  await db.run(
    sql`UPDATE batch_exports SET deleted_at = now(), paused = true WHERE deleted_at IS NULL`,
  );
  await db.run(
    sql`UPDATE batch_export_backfills SET finished_at = now(), status = 'Cancelled'
      WHERE finished_at IS NULL`,
  );
  await db.run(
    sql`UPDATE batch_export_runs SET status = 'Cancelled', finished_at = now()
      WHERE status IN ('Starting', 'Running')`,
  );
  const { id } = (await newExport(home, { interval: 'hour' })) as { id: string };
  const world: World = {
    harness,
    home,
    engine: { ...harness.deps.engine, settle_seconds: 0, pause_after_failures: 0 },
    export_id: id,
    path: `${projectBase(home)}${id}/`,
    created_at: await databaseInstant(db),
    source: [],
    store,
    destination: new Map(),
    stalled: [],
    has_gap: false,
  };
  const instants = [5, 55, 105, 155, 205, 255].map(
    (minutes) => world.created_at - minutes * 60_000,
  );
  await addEvents(world, instants, world.created_at - 3_600_000);
  return world;
}

/** Adds events to the source. Instants in milliseconds. */
export async function addEvents(
  world: World,
  instants: number[],
  inserted_at: number,
): Promise<void> {
  const events = instants.map((instant) => ({
    uuid: randomUUID(),
    instant,
    inserted_at,
    digest: '',
  }));
  await world.store?.add(world.home.project.id, events);
  world.source.push(...events);
}

/** Lets a worker take the run whose turn it is, and gives false when none waits. */
export async function work(world: World, fate: Fate): Promise<boolean> {
  const { db } = world.engine;
  const [run] = await claimRuns(db, newClaimant(), wide, 1);
  if (run === undefined) return false;
  await unlessLost(() => begin(world, run, fate));
  // Whoever still holds a run after its turn is dead, because nobody in this world says that it
  // lives.
  if (fate !== 'completes') await releaseDead(db);
  return true;
}

/** Lets a worker complete every run that waits. */
export async function workAll(world: World): Promise<void> {
  for (const run of await claimRuns(world.engine.db, newClaimant(), wide, 100))
    await unlessLost(() => begin(world, run, 'completes'));
}

/** Lets the runs that have no rows be completed without a worker. */
export async function lookForEmptyRuns(world: World): Promise<void> {
  await completeEmptyRuns(world.engine, lookOf(world));
}

/** Says which runs have no rows in the source of the world. */
export function lookOf(world: World): Look {
  if (world.store !== undefined) return world.store.look;
  const hasRows = (run: LookedAt) => listed(world, fromStored(run.selection)).length > 0;
  return async (runs) => ({
    empty: runs.filter((run) => !hasRows(run)),
    small: [],
    busy: runs.filter(hasRows),
  });
}

const newClaimant = () => ({
  worker_id: randomUUID(),
  run_ids: [],
  stalled_run_ids: [],
  last_team_id: 0,
});

/** A worker that was fenced off records nothing. */
async function unlessLost(steps: () => Promise<void>): Promise<void> {
  try {
    await steps();
  } catch (error) {
    if (!(error instanceof LostRunError)) throw error;
  }
}

async function begin(world: World, run: ClaimedRun, fate: Fate): Promise<void> {
  const { engine } = world;
  if (
    run.committing_at === null &&
    (run.cancel_requested_at !== null || run.revision !== run.export_revision)
  )
    return endCancelled(engine, run);
  const records = (await selected(world, run)).length;
  if (run.records_total_count === null)
    await storeSlices(
      engine,
      run,
      records === 0
        ? []
        : [{ number: 0, inserted_from: null, inserted_to: null, records, outcome: null }],
    );
  else
    assert.equal(
      records,
      run.records_total_count,
      'rows appeared in a selection after they were counted',
    );
  if (fate === 'crashes before the commit') return;
  if (fate === 'fails')
    return endRun(engine, run, {
      status: 'Failed',
      code: 'permission_denied',
      message: 'It may not be written to.',
    });
  if (fate === 'is tried later') return tryLater(engine, run);
  if (fate === 'stalls before the commit')
    return void world.stalled.push(() => unlessLost(() => commit(world, run, 'completes')));
  await commit(world, run, fate);
}

async function commit(world: World, run: ClaimedRun, fate: Fate): Promise<void> {
  const { engine } = world;
  if (!(await beginCommit(engine, run, '{}'))) return endCancelled(engine, run);
  const inDoubt = {
    status: 'FailedRetryable',
    code: 'unreachable',
    message: 'It went silent.',
  } as const;
  if (fate === 'crashes in the commit') return;
  if (fate === 'fails in the commit') return endRun(engine, run, inDoubt);
  if (fate === 'stalls in the commit')
    return void world.stalled.push(() => unlessLost(() => show(world, run)));
  if (fate === 'completes') return show(world, run);
  await deliver(world, run);
  if (fate === 'fails after the commit') await endRun(engine, run, inDoubt);
}

async function show(world: World, run: ClaimedRun): Promise<void> {
  await deliver(world, run);
  await endRun(world.engine, run, { status: 'Completed' });
}

/**
 * A destination finds a delivery that it holds already, and must be told of the same rows again.
 */
async function deliver(world: World, run: ClaimedRun): Promise<void> {
  const selection = JSON.stringify(run.selection);
  const known = world.destination.get(run.delivery_id);
  if (known !== undefined)
    return assert.equal(selection, known.selection, 'one delivery had two selections');
  world.destination.set(run.delivery_id, {
    revision: run.revision,
    selection,
    uuids: await selected(world, run),
  });
}

async function selected({ store, source, home }: World, run: ClaimedRun): Promise<string[]> {
  const area = fromStored(run.selection);
  return store?.select(home.project.id, area) ?? listed({ source }, area);
}

function listed({ source }: Pick<World, 'source'>, area: Rectangle[]): string[] {
  return source
    .filter(({ instant, inserted_at }) => contains(area, instant, inserted_at))
    .map(({ uuid }) => uuid);
}

function endCancelled(engine: Engine, run: ClaimedRun): Promise<void> {
  return endRun(engine, run, {
    status: 'Cancelled',
    code: 'cancelled',
    message: 'The run was cancelled.',
  });
}

async function tryLater(engine: Engine, run: ClaimedRun): Promise<void> {
  await retryLater(engine, run, { code: 'unreachable', message: 'It went silent.' });
  // The pause is over.
  await engine.db.run(sql`UPDATE batch_export_runs SET due_at = now() WHERE id = ${run.id}`);
}
