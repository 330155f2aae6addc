import assert from 'node:assert/strict';
import sql from 'sql-template-tag';
import { compareRows } from '../chaos/compare.ts';
import type { Comparison, Expectation } from '../chaos/compare.ts';
import { assertConsistent } from './invariants.ts';
import { showLate } from './destination.ts';
import type { Act } from './act.ts';
import type { History } from './history.ts';
import type { Simulator } from './simulator.ts';
import { ended_statuses, playRound, post, wake } from './steps.ts';
import { closeWorld, insert, openWorld, process_names } from './world.ts';
import type { World } from './world.ts';

/** The result of a history. */
export type Played = { trace: string[]; weeks: number; runs: Record<string, number> };

const calm_rounds_max = 150;
/** Intervals before the export: more than one step of a backfill plans. */
const backfilled_intervals = 40;

/**
 * Plays a history and compares each row. While things go wrong, nothing is doubled. When the faults
 * are over and enough time has passed, every run and backfill has ended, with a reason if it did
 * not deliver. The schedule has delivered everything inserted since the creation of the export,
 * unless a part was left out. After a backfill of the missing rows, the destination equals the
 * source. `trace` gets a line for each step.
 */
export async function play(
  simulator: Simulator,
  history: History,
  trace: string[] = [],
): Promise<Played> {
  const world = await openWorld(simulator, history, trace);
  const began_at = simulator.time.now();
  try {
    for (const round of history.rounds) {
      // Most intervals have rows, so that their runs reach the destination.
      if (round.is_quiet !== true && !world.begun.has(world.ingestion.actor))
        await insert(world, [0.3 * world.length]);
      await playRound(world, round);
      await assertConsistent(world);
      await assertNotDoubled(world);
    }
    await calmDown(world);
    await assertConsistent(world);
    const runs = await countRuns(world);
    return { trace, weeks: (simulator.time.now() - began_at) / (7 * 24 * 3_600_000), runs };
  } finally {
    await closeWorld(world);
  }
}

async function calmDown(world: World): Promise<void> {
  for (const name of process_names) wake(world, name);
  showLate(world.destination);
  await playRound(world, quiet([]));
  await ask(world, { do: 'unpause', backfill: true });
  // Ends the batch of a writer that died.
  await ask(world, { do: 'insert', age: 0.2, count: 1 });
  // The current interval ends.
  await world.simulator.time.pass(world.length);
  await settle(world);
  await assertReasons(world);
  await retryAll(world);
  assertSame(
    await compare(world, { inserted_from: world.has_gap ? Infinity : world.created_at }),
    'what the schedule had to deliver',
  );
  const { length, created_at } = world;
  await post(world, 'backfill/', {
    start_at: new Date(created_at - backfilled_intervals * length).toISOString(),
    end_at: new Date(world.simulator.time.now() + length).toISOString(),
    mode: 'missing',
  });
  await settle(world);
  await retryAll(world);
  assertSame(await compare(world, { inserted_from: 0 }), 'everything');
}

const quiet = (acts: Act[], seconds = 1) => ({
  pass: { seconds },
  acts,
  fates: [],
  blow: undefined,
});

const ask = (world: World, act: Act) => playRound(world, quiet([act]));

/** Lets time pass and a process work, until nothing is open. */
async function settle(world: World): Promise<void> {
  const work: Act = { do: 'work', process: 'A', duties: ['watch', 'plan', 'backfills', 'claim'] };
  for (let round = 0; round < calm_rounds_max; round += 1) {
    // Longer than any pause, then short enough that the process does not count as dead.
    await playRound(world, quiet([work], round % 3 === 0 ? 400 : 3));
    if (round > 0 && !(await isOpen(world))) return;
  }
  assert.fail(`After ${calm_rounds_max} rounds without a fault something is still open.`);
}

/** Returns true if a run or a backfill is still open, or a due interval has no run. */
async function isOpen({ simulator, export_id }: World): Promise<boolean> {
  const settled = simulator.time.now() - simulator.harness.deps.engine.settle_seconds * 1000;
  const open = await simulator.db.row(sql`
    SELECT 1 FROM batch_export_runs WHERE batch_export_id = ${export_id}
      AND status IN ('Starting', 'Running')
    UNION ALL SELECT 1 FROM batch_export_backfills WHERE batch_export_id = ${export_id}
      AND finished_at IS NULL
    UNION ALL SELECT 1 FROM batch_exports WHERE id = ${export_id} AND NOT paused
      AND next_run_at <= ${new Date(settled).toISOString()} LIMIT 1`);
  return open !== undefined;
}

async function assertReasons({ simulator, export_id }: World): Promise<void> {
  const wrong = await simulator.db.rows(sql`
    SELECT id, status FROM batch_export_runs WHERE batch_export_id = ${export_id}
      AND status <> 'Completed' AND (latest_error IS NULL OR finished_at IS NULL)`);
  assert.deepEqual(wrong, [], 'runs ended without a reason');
}

/** Retries everything that ended without delivering, until nothing more can be retried. */
async function retryAll(world: World): Promise<void> {
  const tried = new Set<string>();
  for (;;) {
    const runs = await world.simulator.db.rows<{ id: string }>(sql`
      SELECT id FROM batch_export_runs WHERE batch_export_id = ${world.export_id}
        AND status = ANY (${ended_statuses}) ORDER BY created_at, id`);
    const wanted = runs.filter(({ id }) => !tried.has(id));
    if (wanted.length === 0) return;
    for (const { id } of wanted) {
      await post(world, `runs/${id}/retry/`);
      tried.add(id);
    }
    await settle(world);
  }
}

function assertSame({ lost, doubled, changed }: Comparison, what: string): void {
  assert.deepEqual({ lost, doubled, changed }, { lost: 0, doubled: 0, changed: 0 }, what);
}

async function assertNotDoubled(world: World): Promise<void> {
  const { doubled } = await compare(world, { inserted_from: Infinity, with_doubt: true });
  assert.equal(doubled, 0, 'rows were doubled on the way');
}

/** Returns the rows of the export's current place. */
async function compare(world: World, expectation: Expectation): Promise<Comparison> {
  const { db } = world.simulator;
  const { revision } = (await db.row<{ revision: number }>(
    sql`SELECT revision FROM batch_exports WHERE id = ${world.export_id}`,
  ))!;
  const delivered = new Map<string, string[]>();
  for (const { shown } of world.destination.places.get(world.place)?.values() ?? [])
    for (const uuid of shown ?? []) delivered.set(uuid, [...(delivered.get(uuid) ?? []), '']);
  return compareRows(
    db,
    { batch_export_id: world.export_id, revision },
    world.source.rows,
    delivered,
    expectation,
  );
}

async function countRuns({ simulator, export_id }: World): Promise<Record<string, number>> {
  const rows = await simulator.db.rows<{ status: string; runs: number }>(
    sql`SELECT status, count(*)::int AS runs FROM batch_export_runs
      WHERE batch_export_id = ${export_id} GROUP BY status`,
  );
  return Object.fromEntries(rows.map(({ status, runs }) => [status, runs]));
}
