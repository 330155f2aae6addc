import assert from 'node:assert/strict';
import fc from 'fast-check';
import sql from 'sql-template-tag';
import { advanceBackfills } from '../../server/engine/exports/runs/advance_backfills.ts';
import { planDueExports } from '../../server/engine/exports/runs/plan_due_exports.ts';
import { databaseInstant } from '../../server/platform/postgres/instant.ts';
import { addEvents, lookForEmptyRuns, lookOf, work } from './world.ts';
import type { Fate, World } from './world.ts';

/** One thing that happens. Lengths of time in seconds, before now. */
export type Step =
  | { do: 'insert'; lateness: number; count: number }
  | { do: 'schedule'; looks_ahead: boolean }
  | {
      do: 'backfill';
      back: number;
      length: number;
      by: 'timestamp' | 'inserted_at';
      mode: 'missing' | 'all';
    }
  | { do: 'advance' }
  | { do: 'look' }
  | { do: 'work'; fates: Fate[] }
  | { do: 'go on' }
  | { do: 'cancel' | 'retry' | 'cancel backfill'; pick: number }
  | { do: 'pause' }
  | { do: 'unpause'; backfill: boolean }
  | { do: 'revise' };

const fate = fc.constantFrom<Fate>(
  'completes',
  'completes',
  'completes',
  'completes',
  'fails',
  'fails',
  'is tried later',
  'crashes before the commit',
  'crashes in the commit',
  'crashes after the commit',
  'fails in the commit',
  'fails after the commit',
  'stalls before the commit',
  'stalls in the commit',
);

/** Steps as often as they are interesting. */
export const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('insert'),
      lateness: fc.integer({ min: -600, max: 18_000 }),
      count: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('schedule'), looks_ahead: fc.boolean() }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('backfill'),
      back: fc.integer({ min: -600, max: 14_400 }),
      length: fc.integer({ min: 1, max: 9_000 }),
      by: fc.constantFrom('timestamp', 'inserted_at'),
      mode: fc.constantFrom('missing', 'missing', 'missing', 'all'),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('advance') }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('look') }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('work'),
      fates: fc.array(fate, { minLength: 1, maxLength: 4 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('go on') }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('cancel'), pick: fc.nat(20) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('retry'), pick: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel backfill'), pick: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('pause') }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('unpause'), backfill: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('revise') }) },
) as fc.Arbitrary<Step>;

/** Takes one step. */
export async function take(world: World, action: Step): Promise<void> {
  if (action.do === 'insert') return insert(world, action);
  if (action.do === 'schedule') return schedule(world, action.looks_ahead);
  if (action.do === 'advance') return void (await advanceBackfills(world.engine));
  if (action.do === 'look') return lookForEmptyRuns(world);
  if (action.do === 'work') return workThrough(world, action.fates);
  if (action.do === 'go on') return goOn(world);
  if (action.do === 'backfill') return backfill(world, action);
  if (action.do === 'cancel')
    return post(
      world,
      `runs/${await pickRun(world, ['Starting', 'Running'], action.pick)}/cancel/`,
      {},
    );
  if (action.do === 'retry')
    return post(world, `runs/${await pickRun(world, ended, action.pick)}/retry/`, {});
  if (action.do === 'cancel backfill')
    return post(world, `backfills/${await pickBackfill(world, action.pick)}/cancel/`, {});
  if (action.do === 'pause') return post(world, 'pause/', {});
  if (action.do === 'unpause') return unpause(world, action.backfill);
  world.has_gap = true;
  await change(world);
}

/** How a run ends that did not deliver. */
export const ended = ['Failed', 'FailedRetryable', 'Cancelled'];

/** Moves the end of the export's interval to now, as if it had just come, and plans what is due. */
export async function schedule(world: World, looks_ahead = true): Promise<void> {
  const { engine, export_id } = world;
  await engine.db.run(sql`
    UPDATE batch_exports SET next_run_at = date_trunc('milliseconds', clock_timestamp())
      WHERE id = ${export_id} AND NOT paused AND next_run_at > clock_timestamp()
      AND planned_until < clock_timestamp() - interval '1 millisecond'`);
  const look = looks_ahead ? lookOf(world) : () => Promise.reject(new Error('The store is away.'));
  while ((await planDueExports(engine, { look })) > 0);
  // Workers leave what was planned to the look for runs without rows for some seconds; here they
  // may be first.
  await engine.db.run(
    sql`UPDATE batch_export_runs SET due_at = now() WHERE batch_export_id = ${export_id}
      AND status = 'Starting' AND attempt = 0 AND due_at > now()`,
  );
}

/**
 * Asks the API to change the export; what it refuses with 409 stays undone. Fails the test on any
 * other refusal.
 */
export async function post(world: World, path: string, body: object): Promise<void> {
  // Nothing to pick.
  if (path.includes('/undefined/')) return;
  const { status, text } = await world.home.ask('POST', `${world.path}${path}`, body);
  assert.ok(status === 200 || status === 409, `${path} answered ${status}: ${text}`);
}

/** Lets every worker that was believed dead go on. */
export async function goOn(world: World): Promise<void> {
  for (const steps of world.stalled.splice(0)) await steps();
}

async function insert(
  world: World,
  { lateness, count }: { lateness: number; count: number },
): Promise<void> {
  // As ingestion does it: the control store's clock, which no planner has promised to be over.
  const now = await databaseInstant(world.engine.db);
  const instants = Array.from({ length: count }, (_, number) => now - lateness * 1000 - number);
  await addEvents(world, instants, now);
}

async function workThrough(world: World, fates: Fate[]): Promise<void> {
  for (const one of fates) if (!(await work(world, one))) return;
}

async function backfill(
  world: World,
  { back, length, by, mode }: Extract<Step, { do: 'backfill' }>,
): Promise<void> {
  const end = (await databaseInstant(world.engine.db)) - back * 1000;
  await post(world, 'backfill/', {
    start_at: new Date(end - length * 1000).toISOString(),
    end_at: new Date(end).toISOString(),
    by,
    mode,
  });
}

async function unpause(world: World, isBackfilled: boolean): Promise<void> {
  if (!isBackfilled) world.has_gap = true;
  await post(world, 'unpause/', { backfill: isBackfilled });
}

let places = 0;

/** Another place: what was delivered so far does not count there. */
async function change({ home, path }: World): Promise<void> {
  const destination = { type: 'NoOp', config: { arg: `place ${(places += 1)}` } };
  const { status, text } = await home.ask('PATCH', path, { destination });
  assert.equal(status, 200, text);
}

async function pickRun(
  { engine, export_id }: World,
  statuses: string[],
  pick: number,
): Promise<string | undefined> {
  const runs = await engine.db.rows<{ id: string }>(
    sql`SELECT id FROM batch_export_runs WHERE batch_export_id = ${export_id}
      AND status = ANY (${statuses}) ORDER BY created_at, id`,
  );
  return runs[pick % Math.max(runs.length, 1)]?.id;
}

async function pickBackfill(
  { engine, export_id }: World,
  pick: number,
): Promise<string | undefined> {
  const open = await engine.db.rows<{ id: string }>(
    sql`SELECT id FROM batch_export_backfills WHERE batch_export_id = ${export_id}
      AND finished_at IS NULL ORDER BY created_at, id`,
  );
  return open[pick % Math.max(open.length, 1)]?.id;
}
