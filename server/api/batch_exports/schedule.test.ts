import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { intervals } from '../../engine/exports/planning/interval.ts';
import { firstSchedule, nextSchedule } from '../../engine/exports/planning/plan.ts';
import { rewound } from '../../engine/exports/planning/plan.ts';
import { rescheduled, resumed } from './schedule.ts';
import type { BoundedRhythm } from './schedule.ts';

const at = (text: string) => Date.parse(`2026-03-${text}Z`);
const hourly: BoundedRhythm = {
  interval: 'hour',
  timezone: 'UTC',
  offset_minutes: 0,
  start_at: null,
  end_at: null,
};
const daily: BoundedRhythm = { ...hourly, interval: 'day' };
const now = at('10T15:20:00');
const standing = { planned_until: at('10T15:00:00'), next_run_at: at('10T16:00:00') };

test('a change of rhythm leaves no gap and repeats nothing', () => {
  const cases: [
    string,
    BoundedRhythm,
    BoundedRhythm,
    { planned_until: number; next_run_at: number | null },
  ][] = [
    ['nothing changed', hourly, hourly, standing],
    [
      'hour to day',
      hourly,
      daily,
      { planned_until: at('10T15:00:00'), next_run_at: at('11T00:00:00') },
    ],
    [
      'hour to day in another zone',
      hourly,
      { ...daily, timezone: 'America/New_York' },
      { planned_until: at('10T15:00:00'), next_run_at: at('11T04:00:00') },
    ],
    [
      'hour to day at 18:30',
      hourly,
      { ...daily, offset_minutes: 1_110 },
      { planned_until: at('10T15:00:00'), next_run_at: at('10T18:30:00') },
    ],
    [
      'hour to week on Thursday',
      hourly,
      { ...hourly, interval: 'week', offset_minutes: 3 * 1_440 },
      { planned_until: at('10T15:00:00'), next_run_at: at('12T00:00:00') },
    ],
    [
      'hour to 5 minutes',
      hourly,
      { ...hourly, interval: 'every 5 minutes' },
      { planned_until: at('10T15:00:00'), next_run_at: at('10T15:05:00') },
    ],
    [
      'an end that has passed',
      hourly,
      { ...hourly, end_at: at('10T15:30:00') },
      { planned_until: at('10T15:00:00'), next_run_at: null },
    ],
    ['an end that is to come', hourly, { ...hourly, end_at: at('10T16:00:00') }, standing],
    ['a start that has passed', hourly, { ...hourly, start_at: at('01T00:00:00') }, standing],
    [
      'a start that is to come',
      hourly,
      { ...hourly, start_at: at('12T07:30:00') },
      { planned_until: at('12T07:00:00'), next_run_at: at('12T08:00:00') },
    ],
  ];
  for (const [name, before, after, expected] of cases)
    assert.deepEqual(rescheduled(standing, before, after, now), expected, name);
});

test('whatever zone, time and interval are set in between, each instant is in one run', () => {
  const rhythm = fc.record({
    interval: fc.constantFrom(...intervals),
    timezone: fc.constantFrom('Europe/Berlin', 'America/New_York', 'Pacific/Apia', 'Africa/Cairo'),
    offset_minutes: fc.integer({ min: 0, max: 1_439 }),
    start_at: fc.constant(null),
    end_at: fc.constant(null),
  });
  const steps = fc.array(fc.tuple(fc.integer({ min: 0, max: 4 }), rhythm), { maxLength: 8 });
  const instants = fc.date({
    min: new Date('2011-06-01'),
    max: new Date('2030-01-01'),
    noInvalidDate: true,
  });
  fc.assert(
    fc.property(rhythm, steps, instants, (first, changes, created) => {
      let standing: BoundedRhythm = first;
      let schedule = firstSchedule(standing, created.getTime());
      assert.ok(schedule.planned_until <= created.getTime());
      const runs: { from: number; to: number }[] = [];
      const plan = (count: number) => {
        for (let run = 0; run < count; run += 1) {
          const { planned_until: from, next_run_at: to } = schedule;
          runs.push({ from, to: to! });
          schedule = { planned_until: to!, next_run_at: nextSchedule(standing, to!) };
        }
      };
      for (const [count, changed] of changes) {
        plan(count);
        schedule = rescheduled(schedule, standing, changed, schedule.planned_until + 1);
        standing = changed;
      }
      plan(3);
      for (const [index, { from, to }] of runs.entries()) {
        assert.ok(from < to && to - from <= 8 * 86_400_000);
        assert.ok(index === 0 || from === runs[index - 1]!.to);
      }
    }),
  );
});

test('an ended export continues where it stopped once its end is moved', () => {
  const ended = { planned_until: at('08T10:00:00'), next_run_at: null };
  const before = { ...hourly, end_at: at('08T10:00:00') };
  assert.deepEqual(rescheduled(ended, before, hourly, now), {
    planned_until: at('08T10:00:00'),
    next_run_at: at('08T11:00:00'),
  });
});

test('an export that waits for its start begins at the new one, at the earliest now', () => {
  const before = { ...hourly, start_at: at('20T00:00:00') };
  const waiting = { planned_until: at('20T00:00:00'), next_run_at: at('20T01:00:00') };
  assert.deepEqual(rescheduled(waiting, before, hourly, now), standing);
  assert.deepEqual(
    rescheduled(waiting, before, { ...hourly, start_at: at('01T00:00:00') }, now),
    standing,
  );
  assert.deepEqual(rescheduled(waiting, before, { ...hourly, start_at: at('11T00:30:00') }, now), {
    planned_until: at('11T00:00:00'),
    next_run_at: at('11T01:00:00'),
  });
});

test('a resumed export skips past intervals, and never goes back', () => {
  assert.deepEqual(
    resumed({ planned_until: at('01T00:00:00'), next_run_at: at('01T01:00:00') }, hourly, now),
    standing,
  );
  assert.deepEqual(resumed(standing, daily, now), {
    planned_until: at('10T15:00:00'),
    next_run_at: at('11T00:00:00'),
  });
  const waiting = { planned_until: at('20T00:00:00'), next_run_at: at('20T01:00:00') };
  assert.deepEqual(resumed(waiting, { ...hourly, start_at: at('20T00:00:00') }, now), waiting);
});

test('planning restarts with the earliest withdrawn run', () => {
  assert.deepEqual(rewound(standing, hourly, []), standing);
  assert.deepEqual(rewound(standing, hourly, [at('10T14:00:00'), at('10T13:00:00')]), {
    planned_until: at('10T13:00:00'),
    next_run_at: at('10T14:00:00'),
  });
});
