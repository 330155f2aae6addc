import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { inDepth } from '../../../test/depth.ts';
import { backfillArea } from '../planning/backfill_area.ts';
import { contains } from '../../../test/factories/events/areas.ts';
import { intersect, subtract, union } from './rectangles.ts';
import type { Rectangle } from './rectangles.ts';

// A small world that follows the rules of plan.ts, backfill.ts and runs.ts with the real ledger
// functions: time moves in ticks, events arrive late or early, scheduled runs and backfills are
// planned, and runs complete, fail, are cancelled or are retried in any order.

type Event = { event_time: number; inserted_at: number; delivered: number };
type Run = {
  base: Rectangle | undefined;
  selection: Rectangle[];
  is_backfill: boolean;
  state: 'open' | 'completed' | 'failed' | 'cancelled' | 'in_doubt';
  delivery: number;
};
type World = {
  now: number;
  events: Event[];
  planned_until: number;
  delivered: Rectangle[];
  runs: Run[];
  committed: Set<number>;
};

type Step =
  | { kind: 'insert'; lateness: number; count: number }
  | { kind: 'wait'; ticks: number }
  | { kind: 'schedule' }
  | { kind: 'backfill'; from: number; length: number; by: 'timestamp' | 'inserted_at' }
  | {
      kind: 'finish';
      pick: number;
      how: 'complete' | 'fail' | 'crash' | 'cancel' | 'fail_in_commit' | 'fail_after_commit';
    }
  | { kind: 'retry'; pick: number };

const interval = 10;

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('insert' as const),
    lateness: fc.integer({ min: -15, max: 60 }),
    count: fc.integer({ min: 1, max: 3 }),
  }),
  fc.record({ kind: fc.constant('wait' as const), ticks: fc.integer({ min: 1, max: 15 }) }),
  fc.record({ kind: fc.constant('schedule' as const) }),
  fc.record({
    kind: fc.constant('backfill' as const),
    from: fc.integer({ min: -60, max: 20 }),
    length: fc.integer({ min: 1, max: 50 }),
    by: fc.constantFrom('timestamp' as const, 'inserted_at' as const),
  }),
  fc.record({
    kind: fc.constant('finish' as const),
    pick: fc.nat(20),
    how: fc.constantFrom(
      'complete' as const,
      'complete' as const,
      'fail' as const,
      'crash' as const,
      'cancel' as const,
      'fail_in_commit' as const,
      'fail_after_commit' as const,
    ),
  }),
  fc.record({ kind: fc.constant('retry' as const), pick: fc.nat(20) }),
);

function take(world: World, base: Rectangle, isBackfill: boolean): void {
  const taken = [
    ...world.delivered,
    ...world.runs
      .filter((run) => run.state === 'open' || run.state === 'in_doubt')
      .flatMap((run) => run.selection),
  ];
  world.runs.push({
    base,
    selection: subtract([base], taken),
    is_backfill: isBackfill,
    state: 'open',
    delivery: world.runs.length,
  });
}

/** The destination: a repeat of a delivery that it holds already changes nothing. */
function deliver(world: World, run: Run): void {
  if (world.committed.has(run.delivery)) return;
  world.committed.add(run.delivery);
  for (const event of world.events)
    if (contains(run.selection, event.event_time, event.inserted_at)) event.delivered += 1;
}

function complete(world: World, run: Run): void {
  deliver(world, run);
  run.state = 'completed';
  world.delivered = union(world.delivered, run.selection);
}

/**
 * As make_up.ts does: what runs planned later had left to a backfill's run that ended without it.
 */
function makeUp(world: World, run: Run): void {
  const later = world.runs
    .slice(world.runs.indexOf(run) + 1)
    .filter((one) => one.state !== 'cancelled');
  const wanted = intersect(
    run.selection,
    later.flatMap((one) => (one.base === undefined ? [] : [one.base])),
  );
  const taken = [
    ...world.delivered,
    ...world.runs
      .filter((one) => one.state === 'open' || one.state === 'in_doubt')
      .flatMap((one) => one.selection),
  ];
  world.runs.push({
    base: undefined,
    selection: subtract(wanted, taken),
    is_backfill: false,
    state: 'open',
    delivery: world.runs.length,
  });
}

function schedule(world: World): void {
  for (; world.planned_until + interval <= world.now; world.planned_until += interval) {
    take(
      world,
      {
        event_from: -Infinity,
        event_to: Infinity,
        inserted_from: world.planned_until,
        inserted_to: world.planned_until + interval,
      },
      false,
    );
  }
}

function retry(world: World, run: Run): void {
  if (run.state === 'in_doubt') {
    run.state = 'open';
  } else {
    const others = world.runs
      .filter((other) => other.state === 'open' || other.state === 'in_doubt')
      .flatMap((other) => other.selection);
    world.runs.push({
      base: run.base,
      selection: subtract(run.base === undefined ? run.selection : [run.base], [
        ...world.delivered,
        ...others,
      ]),
      is_backfill: run.is_backfill,
      state: 'open',
      delivery: world.runs.length,
    });
  }
}

function apply(world: World, action: Step): void {
  const pick = (states: Run['state'][], index: number) => {
    const candidates = world.runs.filter((run) => states.includes(run.state));
    return candidates[index % Math.max(candidates.length, 1)];
  };
  if (action.kind === 'insert')
    for (let n = 0; n < action.count; n += 1)
      world.events.push({
        event_time: world.now - action.lateness,
        inserted_at: world.now,
        delivered: 0,
      });
  if (action.kind === 'wait') world.now += action.ticks;
  if (action.kind === 'schedule') schedule(world);
  if (action.kind === 'backfill') {
    const start = world.now + action.from;
    for (let from = start; from < start + action.length; from += interval) {
      take(
        world,
        backfillArea(action.by, from, Math.min(from + interval, start + action.length), world.now),
        true,
      );
    }
  }
  if (action.kind === 'finish') {
    const run = pick(['open'], action.pick);
    if (run === undefined || action.how === 'crash') return;
    if (action.how === 'complete') complete(world, run);
    if (action.how === 'fail' || action.how === 'cancel') {
      run.state = world.committed.has(run.delivery)
        ? 'in_doubt'
        : action.how === 'cancel'
          ? 'cancelled'
          : 'failed';
      if (run.is_backfill && run.state !== 'in_doubt') makeUp(world, run);
    }
    if (action.how === 'fail_in_commit') run.state = 'in_doubt';
    if (action.how === 'fail_after_commit') {
      deliver(world, run);
      run.state = 'in_doubt';
    }
  }
  if (action.kind === 'retry') {
    const run = pick(['failed', 'in_doubt', 'cancelled'], action.pick);
    if (run !== undefined) retry(world, run);
  }
}

test(
  'whatever schedules, backfills, failures, crashes and retries did, everything is delivered ' +
    'once when the dust has settled',
  () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 5, maxLength: 60 }), (steps) => {
        const world: World = {
          now: 1000,
          events: [],
          planned_until: 1000,
          delivered: [],
          runs: [],
          committed: new Set(),
        };
        for (const action of steps) apply(world, action);
        for (const event of world.events)
          assert.ok(event.delivered <= 1, 'an event was doubled on the way');
        // The dust settles: time passes, every failed run is retried, and what was cancelled of the
        // schedule, which says that its rows are not wanted; every open run completes.
        world.now += 2 * interval;
        schedule(world);
        for (const run of world.runs.filter(
          (one) =>
            one.state === 'failed' ||
            one.state === 'in_doubt' ||
            (one.state === 'cancelled' && !one.is_backfill),
        ))
          retry(world, run);
        for (const run of world.runs.filter((one) => one.state === 'open')) complete(world, run);
        for (const event of world.events) assert.equal(event.delivered, 1);
      }),
      { numRuns: inDepth(500, 30_000) },
    );
  },
);
