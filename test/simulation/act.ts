import fc from 'fast-check';
import type { Fate } from './destination.ts';
import type { Coming } from './actor.ts';
import { process_names } from './world.ts';

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
  /** It must stop while its runs hang. */
  | { do: 'stop'; process: string }
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
  /**
   * Seconds, intervals of the export, up to so many seconds after the current one ends, or so many
   * days. An export with shorter intervals has no days, because nobody waits for ten thousand runs.
   */
  pass: { seconds: number } | { intervals: number } | { beyond: number } | { days: number };
  acts: Act[];
  fates: Fate[];
  blow: (Coming & { process: string }) | undefined;
  /** Number of looks at the analytics store that fail. */
  looks_lost?: number;
  /** Nobody sends rows before it, so that intervals without any come about. */
  is_quiet?: true;
  /** The name of the scene that begins with it. */
  scene?: string;
};

const process = fc.constantFrom(...process_names);

const someWork: fc.Arbitrary<Act> = fc.record({
  do: fc.constant('work' as const),
  process,
  duties: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(usual, usual_and_empty) },
    { weight: 1, arbitrary: fc.subarray<Duty>([...duties], { minLength: 1 }) },
  ),
});

/** One turn of these duties of a process. */
export const work = (process: string, duties: readonly Duty[] = usual): Act => ({
  do: 'work',
  process,
  duties,
});

/** An act of a person. */
export const byPerson: fc.Arbitrary<Act> = fc.oneof(
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

/** An act of anybody else. */
export const others: fc.Arbitrary<Act> = fc.oneof(
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

/** Any act. */
export const act = fc.oneof(
  { weight: 6, arbitrary: someWork },
  { weight: 3, arbitrary: byPerson },
  { weight: 3, arbitrary: others },
);

/** Any treatment of a delivery. */
export const fate = fc.constantFrom<Fate>(
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
