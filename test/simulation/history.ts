import fc from 'fast-check';
import type { Fate } from './destination.ts';
import type { Blow } from './turns.ts';
import { process_names } from './world.ts';
import type { Rhythm } from './world.ts';

const duties = ['watch', 'plan', 'empty', 'backfills', 'claim', 'leftovers'] as const;
/** What a worker does again and again. */
export type Duty = (typeof duties)[number];
/** Those that every turn has. */
const usual: readonly Duty[] = ['watch', 'plan', 'backfills', 'claim'];

/** What somebody does. Times in intervals of the export, before now. */
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

/** What happens at the same time, after some time has passed. */
export type Round = {
  /** Seconds, or intervals of the export. */
  pass: { seconds: number } | { intervals: number };
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
    { weight: 4, arbitrary: fc.constant(usual) },
    { weight: 1, arbitrary: fc.subarray<Duty>([...duties], { minLength: 1 }) },
  ),
});

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
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('pause' as const, 'revise' as const) }) },
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
  'shows it',
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
  ),
  acts: fc.array(act, { minLength: 1, maxLength: 3 }),
  fates: fc.array(fate, { maxLength: 3 }),
  blow: fc.option(
    fc.record({
      process,
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

/** Any history. */
export const history: fc.Arbitrary<History> = fc.record({
  rhythm: fc.constantFrom<Rhythm>('every 5 minutes', 'hour', 'day', 'day', 'week', 'week'),
  settles: fc.boolean(),
  turns: fc.nat(),
  rounds: fc.array(round, { minLength: 4, maxLength: 11 }),
});
