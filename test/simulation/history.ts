import fc from 'fast-check';
import type { Fate } from './destination.ts';
import type { Blow } from './turns.ts';
import { process_names } from './world.ts';
import type { Rhythm } from './world.ts';

const duties = ['watch', 'plan', 'empty', 'backfills', 'claim', 'leftovers'] as const;
/** A duty that a worker repeats. */
export type Duty = (typeof duties)[number];
/** Those that every turn has. */
const usual: readonly Duty[] = ['watch', 'plan', 'backfills', 'claim'];
const usual_and_empty: readonly Duty[] = ['watch', 'plan', 'empty', 'backfills', 'claim'];

/** An act of a worker, a person or a writer. Times are in intervals of the export, before now. */
export type Act =
  | { do: 'work'; process: string; duties: readonly Duty[] }
  | { do: 'restart'; process: string }
  | { do: 'wake'; process: string }
  | { do: 'insert'; age: number; count: number }
  | {
      do: 'backfill';
      back: number;
      length: number;
      by: 'timestamp' | 'inserted_at';
      mode: 'missing' | 'all';
    }
  | { do: 'cancel' | 'retry' | 'cancel backfill'; pick: number }
  | { do: 'pause' | 'revise' | 'sweep' | 'show late' }
  | { do: 'unpause'; backfill: boolean };

/** Acts and faults at the same moment, after some time has passed. */
export type Round = {
  /** Seconds, intervals of the export, or up to so many seconds after the present one ends. */
  pass: { seconds: number } | { intervals: number } | { beyond: number };
  acts: Act[];
  fates: Fate[];
  blow: { process: string; kind: Blow; steps: number } | undefined;
};

/** One history. `turns` decides whose turn it is. */
export type History = { rhythm: Rhythm; settles: boolean; turns: number; rounds: Round[] };

const process = fc.constantFrom(...process_names);

const work: fc.Arbitrary<Act> = fc.record({
  do: fc.constant('work' as const),
  process,
  duties: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(usual, usual_and_empty) },
    { weight: 1, arbitrary: fc.subarray<Duty>([...duties], { minLength: 1 }) },
  ),
});

const works = (process: string): Act => ({ do: 'work', process, duties: usual });

const byPerson: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('backfill' as const),
      back: fc.double({ min: -0.1, max: 4, noNaN: true }),
      length: fc.double({ min: 0.01, max: 3, noNaN: true }),
      by: fc.constantFrom('timestamp' as const, 'inserted_at' as const),
      mode: fc.constantFrom('missing' as const, 'missing' as const, 'all' as const),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constantFrom('cancel' as const, 'retry' as const, 'retry' as const),
      pick: fc.nat(20),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('cancel backfill' as const), pick: fc.nat(5) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom('pause' as const, 'revise' as const, 'revise' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('unpause' as const), backfill: fc.boolean() }),
  },
);

const others: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('insert' as const),
      age: fc.double({ min: -0.1, max: 4, noNaN: true }),
      count: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom('wake' as const, 'restart' as const), process }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom('show late' as const, 'sweep' as const) }),
  },
);

const act = fc.oneof(
  { weight: 6, arbitrary: work },
  { weight: 3, arbitrary: byPerson },
  { weight: 3, arbitrary: others },
);

const fate = fc.constantFrom<Fate>(
  'shows it',
  'does not open',
  'fails in a write',
  'refuses a row',
  'loses the stage',
  'refuses the commit',
  'refuses the commit for good',
  'shows it without an answer',
  'shows it without an answer',
  'does not answer',
  'shows it late, without an answer',
);

const round: fc.Arbitrary<Round> = fc.record({
  pass: fc.oneof(
    { weight: 6, arbitrary: fc.record({ seconds: fc.integer({ min: 0, max: 4 }) }) },
    { weight: 4, arbitrary: fc.record({ seconds: fc.integer({ min: 5, max: 400 }) }) },
    {
      weight: 4,
      arbitrary: fc.record({ intervals: fc.double({ min: 0.3, max: 1.2, noNaN: true }) }),
    },
    { weight: 1, arbitrary: fc.record({ intervals: fc.integer({ min: 2, max: 4 }) }) },
    { weight: 4, arbitrary: fc.record({ beyond: fc.integer({ min: -1, max: 40 }) }) },
  ),
  acts: fc.oneof(
    { weight: 2, arbitrary: fc.array(act, { minLength: 1, maxLength: 3 }) },
    {
      weight: 1,
      arbitrary: fc.oneof(byPerson, others).map((one) => [works('A'), works('B'), one]),
    },
  ),
  fates: fc.array(fate, { maxLength: 3 }),
  blow: fc.option(
    fc.record({
      process: fc.constantFrom(...process_names, ...process_names, 'ingestion'),
      kind: fc.constantFrom<Blow>(
        'is killed before',
        'is killed after',
        'loses the request',
        'loses the answer',
        'falls asleep',
      ),
      steps: fc.integer({ min: 1, max: 60 }),
    }),
    { freq: 2, nil: undefined },
  ),
});

const nobody = { fates: [], blow: undefined };

/** A worker falls asleep or dies in the middle; the other one takes over, until it comes back. */
const takeover: fc.Arbitrary<Round[]> = fc
  .record({
    names: fc.constantFrom(['A', 'B'] as const, ['B', 'A'] as const),
    kind: fc.constantFrom<Blow>('falls asleep', 'falls asleep', 'is killed before'),
    intervals: fc.double({ min: 0.3, max: 1.2, noNaN: true }),
    steps: fc.integer({ min: 15, max: 60 }),
    meanwhile: fc.option(byPerson, { nil: undefined }),
    is_early: fc.boolean(),
    fates: fc.array(fate, { maxLength: 2 }),
  })
  .map(({ names: [one, other], kind, intervals, steps, meanwhile, is_early, fates }) => [
    { pass: { intervals }, acts: [{ do: 'insert', age: 0.1, count: 2 }], ...nobody },
    { pass: { seconds: 200 }, acts: [works(one)], fates, blow: { process: one, kind, steps } },
    { pass: { seconds: 9 }, acts: [works(other), ...(meanwhile ? [meanwhile] : [])], ...nobody },
    {
      pass: { seconds: 2 },
      acts: [...(is_early ? [{ do: 'wake' as const, process: one }] : []), works(other)],
      ...nobody,
    },
    { pass: { seconds: 3 }, acts: [{ do: 'wake', process: one }, works(other)], ...nobody },
  ]);

/** A run ends in doubt; then a backfill wants what is missing, here or at another place. */
const doubt: fc.Arbitrary<Round[]> = fc
  .record({
    name: process,
    unanswered: fc.constantFrom<Fate>(
      'does not answer',
      'shows it without an answer',
      'shows it late, without an answer',
    ),
    moves: fc.constantFrom(false, false, true),
    by: fc.constantFrom('timestamp' as const, 'inserted_at' as const),
    last: byPerson,
  })
  .map(({ name, unanswered, moves, by, last }) => [
    { pass: { seconds: 60 }, acts: [{ do: 'insert', age: 0.1, count: 2 }], ...nobody },
    { pass: { beyond: 20 }, acts: [works(name)], ...nobody, fates: [unanswered, unanswered] },
    {
      pass: { seconds: 5 },
      acts: [works(name)],
      ...nobody,
      fates: ['refuses the commit for good', 'refuses the commit for good'],
    },
    { pass: { seconds: 1 }, acts: [moves ? { do: 'revise' } : works(name)], ...nobody },
    {
      pass: { seconds: 1 },
      acts: [{ do: 'backfill', back: 0, length: 3, by, mode: 'missing' }],
      ...nobody,
    },
    { pass: { seconds: 30 }, acts: [works(name)], ...nobody },
    { pass: { seconds: 3 }, acts: [works(name), last], ...nobody },
  ]);

/** Any history. */
export const history: fc.Arbitrary<History> = fc.record({
  rhythm: fc.constantFrom<Rhythm>('every 5 minutes', 'hour', 'day', 'day', 'week', 'week'),
  settles: fc.boolean(),
  turns: fc.nat(),
  rounds: fc
    .array(
      fc.oneof(
        { weight: 6, arbitrary: round.map((one) => [one]) },
        { weight: 1, arbitrary: takeover },
        { weight: 1, arbitrary: doubt },
      ),
      { minLength: 3, maxLength: 7 },
    )
    .map((parts) => parts.flat()),
});
