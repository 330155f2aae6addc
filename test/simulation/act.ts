import fc from 'fast-check';
import type { Fate } from './destination.ts';
import type { Coming } from './actor.ts';
import { process_names } from './world.ts';

const duties = ['watch', 'plan', 'empty', 'backfills', 'claim', 'leftovers'] as const;
/** A duty that a worker repeats. */
export type Duty = (typeof duties)[number];
/** The duties of every turn. */
const usual: readonly Duty[] = ['watch', 'plan', 'backfills', 'claim'];
const usual_and_empty: readonly Duty[] = ['watch', 'plan', 'empty', 'backfills', 'claim'];

/** An act of a worker, a person or a writer. Times are in intervals of the export, before now. */
export type Act =
  | { do: 'work'; process: string; duties: readonly Duty[] }
  | { do: 'restart'; process: string }
  | { do: 'wake'; process: string }
  /** True if it must stop while its runs hang. */
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
   * Seconds, intervals of the export, up to this many seconds after the current one ends, or days.
   * An export with shorter intervals has no days, because ten thousand runs would take too long.
   */
  pass: { seconds: number } | { intervals: number } | { beyond: number } | { days: number };
  acts: Act[];
  fates: Fate[];
  blow: (Coming & { process: string }) | undefined;
  /** Number of reads of the analytics store that fail. */
  looks_lost?: number;
  /** True if no rows arrive before it, so that there are intervals without rows. */
  is_quiet?: true;
  /** The name of the scene that starts with it. */
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

/** Returns one turn of these duties of a process. */
export const work = (process: string, duties: readonly Duty[] = usual): Act => ({
  do: 'work',
  process,
  duties,
});

/** Returns an act of a person. */
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

/** Returns an act of another actor. */
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

/** Returns any act. */
export const act = fc.oneof(
  { weight: 6, arbitrary: someWork },
  { weight: 3, arbitrary: byPerson },
  { weight: 3, arbitrary: others },
);

/** Returns any treatment of a delivery. */
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
