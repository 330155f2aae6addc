// Length: scenes are read side by side.
import fc from 'fast-check';
import { byPerson, fate, work } from './act.ts';
import type { Act, Duty, Round } from './act.ts';
import type { Fate } from './destination.ts';
import type { Blow } from './actor.ts';
import { process_names } from './world.ts';

/** Steps of a worker at which a disturbance matters, by a part of their labels. */
const marks = {
  looked: 'SELECT due.*',
  listed: 'WITH RECURSIVE held AS',
  claimed: 'WITH waiting AS',
  opened: 'destination open',
  written: 'destination write',
  committed: 'destination commit',
  ended: 'WITH ended AS',
  taken: 'WITH wanted AS (',
  cancelled: 'UPDATE batch_export_runs SET cancel_requested_at',
  planned: 'UPDATE batch_exports SET planned_until',
  changed: 'UPDATE batch_exports e SET',
  forgotten: 'DELETE FROM workers WHERE heartbeat_at',
  looked_back: 'backfill.revision',
  moved_on: 'UPDATE batch_export_backfills SET next_start_at',
} as const;
/** Steps from the write of a slice to the mark of the commit. */
const steps_to_mark = 3;

const nobody = { fates: [], blow: undefined };
const backfills: readonly Duty[] = ['backfills'];
const wait = (seconds: number, ...acts: Act[]): Round => ({ pass: { seconds }, acts, ...nobody });
const long = (intervals: number, ...acts: Act[]): Round => ({
  pass: { intervals },
  acts,
  ...nobody,
});

const pair = fc.constantFrom(['A', 'B'] as const, ['B', 'A'] as const);
const name = fc.constantFrom(...process_names);
const refused_for_good: Fate[] = ['refuses the commit for good', 'refuses the commit for good'];

/** The interval ends, and a process plans its run. */
const due = (process: string): Round => ({
  pass: { beyond: 20 },
  acts: [work(process, ['watch', 'plan'])],
  ...nobody,
});

/**
 * The other workers look for dead ones. A worker that was silent itself for some seconds judges
 * nobody, so it looks twice.
 */
const lookTwice = (process: string, seconds: number): Round[] => [
  wait(seconds, work(process, ['watch'])),
  wait(2, work(process, ['watch'])),
];

/** A disturbance in the middle of a run. */
const middle = fc.record({
  after: fc.constantFrom(
    marks.claimed,
    marks.opened,
    marks.written,
    marks.written,
    marks.committed,
    marks.committed,
    marks.ended,
  ),
  steps: fc.integer({ min: 0, max: 4 }),
});

/**
 * A worker falls asleep or dies in a run; the other one takes over, until the first one returns.
 */
const takeover = fc
  .record({
    names: pair,
    kind: fc.constantFrom<Blow>('falls asleep', 'falls asleep', 'is killed before'),
    where: middle,
    again: fc.option(middle, { nil: undefined }),
    meanwhile: fc.option(byPerson, { nil: undefined }),
    fates: fc.array(fate, { maxLength: 2 }),
  })
  .map(({ names: [one, other], kind, where, again, meanwhile, fates }): Round[] => [
    due(one),
    { ...wait(3, work(one)), fates, blow: { process: one, kind, ...where } },
    ...lookTwice(other, 9),
    {
      ...wait(1, work(other), ...(meanwhile ? [meanwhile] : [])),
      blow: again && { process: other, kind: 'falls asleep', ...again },
    },
    wait(2, { do: 'wake', process: one }, { do: 'wake', process: other }, work(other)),
  ]);

/** A worker ends its run after another one has taken it over and is in the middle. */
const tooLate = fc
  .record({ names: pair, steps: fc.integer({ min: 0, max: 1 }) })
  .map(({ names: [one, other], steps }): Round[] => [
    due(one),
    {
      ...wait(3, work(one)),
      blow: { process: one, kind: 'falls asleep', after: marks.committed, steps: 1 },
    },
    ...lookTwice(other, 9),
    {
      ...wait(1, work(other)),
      blow: { process: other, kind: 'falls asleep', after: marks.opened, steps },
    },
    wait(1, { do: 'wake', process: one }),
    wait(1, { do: 'wake', process: other }),
  ]);

/** A worker is only slow: no other may take its run, and a person may request its end. */
const nap = fc
  .record({
    names: pair,
    where: middle,
    pause: fc.integer({ min: 9, max: 30 }),
    meanwhile: fc.oneof(
      fc.constant<Act>({ do: 'cancel', pick: 0 }),
      fc.constant<Act>({ do: 'revise' }),
      byPerson,
    ),
  })
  .map(({ names: [one, other], where, pause, meanwhile }): Round[] => [
    due(one),
    {
      ...wait(pause, work(one)),
      blow: { process: one, kind: 'falls asleep', ...where },
    },
    ...lookTwice(other, 1),
    wait(1, work(other), meanwhile),
    wait(1, { do: 'wake', process: one }, work(other)),
  ]);

/** A worker starts to commit while a person cancels the run, or another worker claims it. */
const race = fc
  .record({ names: pair, isCancel: fc.boolean(), pause: fc.integer({ min: 1, max: 7 }) })
  .map(({ names: [one, other], isCancel, pause }): Round[] => {
    const until = isCancel ? marks.cancelled : marks.claimed;
    const asleep = { process: one, kind: 'falls asleep', after: marks.written } as const;
    const blow = { ...asleep, steps: steps_to_mark, until };
    return isCancel
      ? [due(one), { ...wait(9, work(one), { do: 'cancel', pick: 0 }), blow }, wait(1, work(one))]
      : [
          due(one),
          { ...wait(3, work(one)), blow },
          ...lookTwice(other, 9),
          wait(pause, work(other, ['claim'])),
          wait(1, work(other)),
        ];
  });

/** A worker is told to stop while its run hangs. */
const stopped = fc
  .record({ names: pair, where: middle })
  .map(({ names: [one, other], where }) => [
    due(one),
    { ...wait(3, work(one)), blow: { process: one, kind: 'falls asleep' as const, ...where } },
    wait(1, { do: 'stop', process: one }),
    wait(1, work(other)),
  ]);

/**
 * A worker dies with a run that a person cancels while others look for dead workers. `isForgotten`:
 * they had forgotten the worker before it claimed the run.
 */
const gone = fc
  .record({ names: pair, isForgotten: fc.boolean() })
  .map(({ names: [one, other], isForgotten }): Round[] => [
    due(one),
    ...(isForgotten ? lookTwice(other, 20) : []),
    {
      ...wait(1, work(one, isForgotten ? ['claim'] : ['watch', 'claim'])),
      blow: { process: one, kind: 'is killed before', after: marks.opened, steps: 0 },
    },
    wait(9, work(other, ['watch'])),
    {
      ...wait(2, work(other, ['watch']), { do: 'cancel', pick: 0 }),
      blow: {
        process: 'person',
        kind: 'lingers',
        after: marks.cancelled,
        steps: 1,
        until: [marks.forgotten, 'COMMIT'],
      },
    },
    wait(1, work(other)),
  ]);

/**
 * The answer to a claim is lost, so that a worker holds runs that it does not know. Or the answer
 * to the end of a run is lost, and the worker ends the run again.
 */
const unheard = fc
  .record({ process: name, what: fc.constantFrom(marks.claimed, marks.ended) })
  .map(({ process, what }): Round[] => [
    due(process),
    {
      ...wait(3, work(process, ['claim'])),
      blow: { process, kind: 'loses the answer', after: [what, 'COMMIT'], steps: 0 },
    },
    wait(3, work(process)),
  ]);

/** Unexamined runs are completed as empty while another process claims them. */
const empties = fc
  .record({
    names: pair,
    pause: fc.integer({ min: 5, max: 8 }),
    nth: fc.integer({ min: 1, max: 3 }),
  })
  .map(({ names: [one, other], pause, nth }): Round[] => [
    { ...due(one), is_quiet: true },
    { ...long(2, work(one, ['plan'])), looks_lost: 3, is_quiet: true },
    {
      ...wait(pause, work(one, ['empty']), work(other, ['claim'])),
      blow: {
        process: other,
        kind: 'lingers',
        after: marks.listed,
        nth,
        steps: 1,
        until: [marks.ended, 'COMMIT'],
      },
    },
    wait(1, work(one, ['empty']), work(other, ['claim'])),
  ]);

/** A run ends uncertain. Then it is retried, moved away from, or a backfill requests its rows. */
const doubt = fc
  .record({
    process: name,
    unanswered: fc.constantFrom<Fate>(
      'does not answer',
      'shows it without an answer',
      'shows it late, without an answer',
    ),
    asked: fc.constantFrom<Act['do']>('retry', 'retry', 'revise', 'backfill'),
    fates: fc.array(fate, { maxLength: 2 }),
    by: fc.constantFrom('timestamp' as const, 'inserted_at' as const),
    last: byPerson,
  })
  .map(({ process, unanswered, asked, fates, by, last }): Round[] => {
    const backfill: Act = { do: 'backfill', back: 0, length: 3, by, mode: 'missing' };
    const next: Act =
      asked === 'retry'
        ? { do: 'retry', pick: 0 }
        : asked === 'revise'
          ? { do: 'revise' }
          : backfill;
    return [
      due(process),
      { ...wait(3, work(process)), fates: [unanswered] },
      {
        ...wait(9, work(process)),
        fates: ['refuses the commit for good', 'does not open', 'does not open', 'does not open'],
      },
      wait(1, next),
      { ...wait(20, work(process)), fates: [...refused_for_good.slice(1), ...fates] },
      wait(9, work(process), last),
    ];
  });

/** A run fails finally and is retried, also beside its retry and after that has delivered. */
const retries = fc
  .record({ process: name, pick: fc.nat(3), isAll: fc.boolean(), isBeside: fc.boolean() })
  .map(({ process, pick, isAll, isBeside }): Round[] => {
    const retry: Act = { do: 'retry', pick };
    const all: Act = { do: 'backfill', back: 0, length: 2, by: 'timestamp', mode: 'all' };
    return [
      due(process),
      ...(isAll ? [wait(9, work(process)), wait(1, all), wait(20, work(process, backfills))] : []),
      { ...wait(3, work(process)), fates: refused_for_good },
      wait(1, retry),
      ...(isBeside ? [wait(1, retry)] : [wait(5, work(process)), wait(1, retry)]),
      wait(5, work(process)),
    ];
  });

/** The destination refuses a commit, and has lost the staged rows when the run is retried. */
const lostStage = name.map((process): Round[] => [
  due(process),
  { ...wait(3, work(process)), fates: ['refuses the commit'] },
  { ...wait(9, work(process)), fates: ['loses the stage'] },
]);

/** Two processes plan intervals with and without rows, and a person pauses the export. */
const planners = fc
  .record({
    pauses: fc.boolean(),
    looks_lost: fc.constantFrom(0, 0, 1, 3),
    nth: fc.integer({ min: 1, max: 3 }),
    pause: fc.integer({ min: 0, max: 6 }),
  })
  .map(({ pauses, looks_lost, nth, pause }): Round[] => [
    long(2),
    long(2),
    {
      pass: { beyond: 20 },
      acts: [
        work('A', ['plan']),
        work('B', ['plan']),
        ...(pauses ? [{ do: 'pause' as const }] : []),
      ],
      fates: [],
      blow: {
        process: 'B',
        kind: 'falls asleep',
        after: marks.looked,
        nth,
        steps: 1,
        until: marks.planned,
      },
      looks_lost,
    },
    wait(pause, work('A', ['empty', 'claim']), work('B', ['claim', 'empty'])),
    wait(1, { do: 'unpause', backfill: true }),
  ]);

/** A person pauses the export between the read and the plan of a planner. */
const pausing = name.map((process): Round[] => [
  {
    pass: { beyond: 20 },
    acts: [work(process, ['plan']), { do: 'pause' }],
    fates: [],
    blow: {
      process,
      kind: 'lingers',
      after: marks.looked,
      steps: 1,
      until: [marks.changed, 'COMMIT'],
    },
  },
  wait(1, { do: 'unpause', backfill: true }),
]);

/** The export changes before its backfill is planned. */
const outdated = fc
  .record({ process: name, isRunning: fc.boolean() })
  .map(({ process, isRunning }): Round[] => [
    wait(1, { do: 'backfill', back: 0, length: 3, by: 'timestamp', mode: 'missing' }),
    ...(isRunning
      ? [
          {
            ...wait(20, work(process, backfills)),
            blow: {
              process,
              kind: 'falls asleep' as const,
              after: marks.looked_back,
              nth: 3,
              steps: 0,
            },
          },
        ]
      : []),
    wait(1, { do: 'revise' }),
    wait(20, { do: 'wake', process }, work(process, backfills)),
    wait(1, work(process)),
  ]);

/** A backfill and a scheduled run share rows; then one of them ends. */
const overlap = fc
  .record({
    names: pair,
    by: fc.constantFrom('timestamp' as const, 'inserted_at' as const),
    mode: fc.constantFrom('missing' as const, 'missing' as const, 'all' as const),
    back: fc.constantFrom(-0.6, 0, 0),
    end: fc.constantFrom<Act>(
      { do: 'revise' },
      { do: 'cancel backfill', pick: 0 },
      { do: 'cancel', pick: 0 },
      { do: 'cancel', pick: 1 },
      { do: 'show late' },
    ),
    fates: fc.constantFrom<Fate[]>([], ['refuses a row'], refused_for_good),
  })
  .map(({ names: [one, other], by, mode, back, end, fates }): Round[] => [
    long(0.3, { do: 'insert', age: 0.1, count: 2 }),
    wait(1, { do: 'backfill', back, length: 3, by, mode }),
    wait(20, work(one, backfills), work(other, backfills)),
    { pass: { beyond: 20 }, acts: [work(one, ['plan'])], ...nobody },
    wait(1, end),
    { ...wait(3, work(other)), fates },
    wait(9, work(one)),
  ]);

/** A process sleeps between its first read and the plan of a backfill, and runs end meanwhile. */
const lookAhead = fc
  .record({
    names: pair,
    steps: fc.integer({ min: 0, max: 2 }),
    // The third of these statements reads a running backfill, before the lock.
    asleep: fc.constantFrom({ after: marks.taken, nth: 1 }, { after: marks.looked_back, nth: 3 }),
    mode: fc.constantFrom('missing' as const, 'missing' as const, 'all' as const),
    fates: fc.constantFrom<Fate[]>([], ['refuses a row'], refused_for_good),
  })
  .map(({ names: [one, other], steps, asleep, mode, fates }): Round[] => [
    due(other),
    wait(1, { do: 'backfill', back: 0, length: 3, by: 'inserted_at', mode }),
    {
      ...wait(20, work(one, backfills)),
      blow: { process: one, kind: 'falls asleep', ...asleep, steps },
    },
    { ...wait(1, work(other)), fates },
    wait(1, { do: 'wake', process: one }, work(other)),
  ]);

/** Two processes plan a long backfill; one of them is already in the middle. */
const twoAhead = fc
  .record({ names: pair, mode: fc.constantFrom('missing' as const, 'all' as const) })
  .map(({ names: [one, other], mode }): Round[] => [
    due(one),
    wait(1, { do: 'backfill', back: 0, length: 20, by: 'inserted_at', mode }),
    {
      ...wait(20, work(one, backfills)),
      blow: { process: one, kind: 'falls asleep', after: marks.looked_back, nth: 3, steps: 1 },
    },
    {
      ...wait(1, work(other, backfills)),
      blow: { process: other, kind: 'falls asleep', after: [marks.moved_on, 'COMMIT'], steps: 1 },
    },
    wait(1, { do: 'wake', process: one }),
    wait(1, { do: 'wake', process: other }, work(one)),
  ]);

/** All processes are stopped for a quarter of a year, and the history is swept. */
const sweep = name.map((process): Round[] => [
  due(process),
  wait(3, work(process)),
  due(process),
  wait(3, work(process)),
  wait(1, { do: 'pause' }),
  { pass: { days: 100 }, acts: [{ do: 'sweep' }], ...nobody },
  wait(1, { do: 'unpause', backfill: false }),
]);

/** Scenes by their names, with their shares. */
const scenes = {
  takeover: { weight: 4, arbitrary: takeover },
  tooLate: { weight: 1, arbitrary: tooLate },
  race: { weight: 2, arbitrary: race },
  nap: { weight: 4, arbitrary: nap },
  stopped: { weight: 1, arbitrary: stopped },
  gone: { weight: 2, arbitrary: gone },
  unheard: { weight: 2, arbitrary: unheard },
  empties: { weight: 1, arbitrary: empties },
  doubt: { weight: 4, arbitrary: doubt },
  retries: { weight: 3, arbitrary: retries },
  lostStage: { weight: 1, arbitrary: lostStage },
  planners: { weight: 3, arbitrary: planners },
  pausing: { weight: 1, arbitrary: pausing },
  outdated: { weight: 1, arbitrary: outdated },
  overlap: { weight: 4, arbitrary: overlap },
  lookAhead: { weight: 3, arbitrary: lookAhead },
  twoAhead: { weight: 1, arbitrary: twoAhead },
  sweep: { weight: 1, arbitrary: sweep },
};

/** Rounds with events that chance alone seldom causes. */
export const scene: fc.Arbitrary<Round[]> = fc.oneof(
  ...Object.entries(scenes).map(([named, { weight, arbitrary }]) => ({
    weight,
    arbitrary: arbitrary.map(([first, ...rest]): Round[] => [{ ...first!, scene: named }, ...rest]),
  })),
);
