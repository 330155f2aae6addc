import fc from 'fast-check';
import { act, byPerson, fate, others, work } from './act.ts';
import type { Round } from './act.ts';
import { scene } from './scenes.ts';
import type { Blow } from './actor.ts';
import { process_names } from './world.ts';
import type { Rhythm } from './world.ts';

/** One history. `turns` decides the order of turns. */
export type History = { rhythm: Rhythm; settles: boolean; turns: number; rounds: Round[] };

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
      arbitrary: fc.oneof(byPerson, others).map((one) => [work('A'), work('B'), one]),
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
      steps: fc.integer({ min: 1, max: 40 }),
    }),
    { freq: 2, nil: undefined },
  ),
});

/** Any history. */
export const history: fc.Arbitrary<History> = fc.record({
  rhythm: fc.constantFrom<Rhythm>('every 5 minutes', 'hour', 'day', 'day', 'week', 'week'),
  settles: fc.boolean(),
  turns: fc.nat(),
  rounds: fc
    .array(
      fc.oneof(
        { weight: 2, arbitrary: round.map((one) => [one]) },
        { weight: 3, arbitrary: scene },
      ),
      { minLength: 4, maxLength: 9 },
    )
    .map((parts) => parts.flat()),
});
