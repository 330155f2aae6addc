import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { inDepth } from '../../../../test/depth.ts';
import { boundaryAfter, boundaryAtOrBefore, intervalCount, intervals } from './interval.ts';
import type { Interval, Rhythm } from './interval.ts';

const at = (text: string) => Date.parse(text);
const midnights = (interval: Interval, timezone: string): Rhythm => ({
  interval,
  timezone,
  offset_minutes: 0,
});

test('boundaries are at UTC minutes and hours, local midnights, local Mondays', () => {
  const cases: [Interval, string, string, string, string][] = [
    [
      'every 5 minutes',
      'Asia/Kathmandu',
      '2026-03-01T10:07:30Z',
      '2026-03-01T10:05:00Z',
      '2026-03-01T10:10:00Z',
    ],
    [
      'every 15 minutes',
      'UTC',
      '2026-03-01T10:45:00Z',
      '2026-03-01T10:45:00Z',
      '2026-03-01T11:00:00Z',
    ],
    [
      'hour',
      'Asia/Kolkata',
      '2026-03-01T10:59:59.999Z',
      '2026-03-01T10:00:00Z',
      '2026-03-01T11:00:00Z',
    ],
    ['day', 'UTC', '2026-03-01T00:00:00Z', '2026-03-01T00:00:00Z', '2026-03-02T00:00:00Z'],
    [
      'day',
      'America/New_York',
      '2026-03-08T12:00:00Z',
      '2026-03-08T05:00:00Z',
      '2026-03-09T04:00:00Z',
    ], // 23 hours
    [
      'day',
      'America/New_York',
      '2026-11-01T12:00:00Z',
      '2026-11-01T04:00:00Z',
      '2026-11-02T05:00:00Z',
    ], // 25 hours
    [
      'day',
      'America/Sao_Paulo',
      '2018-11-04T12:00:00Z',
      '2018-11-04T03:00:00Z',
      '2018-11-05T02:00:00Z',
    ], // midnight itself did not exist
    ['week', 'UTC', '2026-11-21T12:00:00Z', '2026-11-16T00:00:00Z', '2026-11-23T00:00:00Z'],
    [
      'week',
      'Europe/Berlin',
      '2026-10-25T12:00:00Z',
      '2026-10-18T22:00:00Z',
      '2026-10-25T23:00:00Z',
    ], // one hour longer
  ];
  for (const [interval, timezone, instant, before, after] of cases) {
    assert.equal(
      boundaryAtOrBefore(midnights(interval, timezone), at(instant)),
      at(before),
      `${interval} ${timezone} ${instant} before`,
    );
    assert.equal(
      boundaryAfter(midnights(interval, timezone), at(instant)),
      at(after),
      `${interval} ${timezone} ${instant} after`,
    );
  }
});

const zones = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  // Moves by 30 minutes.
  'Australia/Lord_Howe',
  // Skip midnight.
  'Africa/Cairo',
  'Asia/Beirut',
  'America/Sao_Paulo',
  // Shows the minute after midnight twice.
  'America/St_Johns',
  // Skipped a day.
  'Pacific/Apia',
  'Asia/Kathmandu',
  'Africa/Casablanca',
];
const rhythms = fc.record({
  interval: fc.constantFrom(...intervals),
  timezone: fc.constantFrom(...zones),
  // Most of the hours at which the clocks change, and any other minute of a week.
  offset_minutes: fc.oneof(
    fc.constantFrom(0, 1, 30, 60, 90, 120, 150, 179, 180, 360, 1_439),
    fc.integer({ min: 0, max: 7 * 1_440 - 1 }),
  ),
});
/** Days have an offset of less than a day, rhythms of the UTC clock none. */
const sound = (rhythm: Rhythm): Rhythm => ({
  ...rhythm,
  offset_minutes:
    rhythm.interval === 'week'
      ? rhythm.offset_minutes
      : rhythm.interval === 'day'
        ? rhythm.offset_minutes % 1_440
        : 0,
});
const instants = fc.integer({ min: at('1980-01-01T00:00:00Z'), max: at('2030-01-01T00:00:00Z') });

test('boundaries cover time in every zone, and intervalCount counts them', () => {
  fc.assert(
    fc.property(
      rhythms.map(sound),
      instants,
      fc.integer({ min: 1, max: 12 }),
      fc.integer({ min: 0, max: 10_000_000 }),
      (rhythm, from, steps, rest) => {
        const start = boundaryAtOrBefore(rhythm, from);
        assert.ok(start <= from && from < boundaryAfter(rhythm, from));
        let boundary = start;
        for (let step = 0; step < steps; step += 1) {
          const next = boundaryAfter(rhythm, boundary);
          assert.ok(next > boundary);
          assert.equal(boundaryAtOrBefore(rhythm, next), next);
          assert.equal(boundaryAtOrBefore(rhythm, next - 1), boundary);
          boundary = next;
        }
        if (boundary > from) assert.equal(intervalCount(rhythm, from, boundary), steps);
        const inside = Math.min(boundary + 1 + rest, boundaryAfter(rhythm, boundary));
        assert.equal(intervalCount(rhythm, start, inside), steps + 1);
      },
    ),
    { numRuns: inDepth(600, 20_000) },
  );
});

const [minute, hour, day] = [60_000, 3_600_000, 24 * 3_600_000];
const weekdays = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

/** Reads the platform's own clocks: the time that they show, of weeks with the weekday. */
function openClock({ interval, timezone }: Rhythm): (instant: number) => string {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: timezone,
    ...(interval === 'week' ? { weekday: 'short' } : {}),
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  return (instant) => format.format(instant).replace(',', '');
}

function askedFor({ interval, offset_minutes }: Rhythm): string {
  const two = (value: number) => String(value).padStart(2, '0');
  const time = `${two(Math.floor(offset_minutes / 60) % 24)}:${two(offset_minutes % 60)}`;
  return interval === 'week' ? `${weekdays[Math.floor(offset_minutes / 1_440)]} ${time}` : time;
}

test('in fifty years each boundary is at the time asked for, the first time it is shown', () => {
  const calendar = rhythms.map((one) =>
    sound({ ...one, interval: one.offset_minutes % 2 === 0 ? 'day' : 'week' }),
  );
  fc.assert(
    fc.property(calendar, instants, (rhythm, from) => {
      const [clock, asked] = [openClock(rhythm), askedFor(rhythm)];
      const length = (rhythm.interval === 'week' ? 7 : 1) * day;
      let boundary = boundaryAfter(rhythm, from);
      // More than a year from anywhere in the fifty.
      for (const end = from + 400 * day; boundary < end;) {
        const next = boundaryAfter(rhythm, boundary);
        // Zones went back by two hours (Newfoundland, 1988) and by three (Casey, 2010).
        assert.ok(next > boundary && next - boundary <= length + 4 * hour, 'one is missing');
        assert.ok(next - boundary >= length - 25 * hour, 'one is doubled');
        const says = `${JSON.stringify(rhythm)} ${new Date(next).toISOString()}`;
        if (clock(next) === asked)
          for (const earlier of [30 * minute, hour])
            assert.notEqual(clock(next - earlier), asked, `the second time: ${says}`);
        else
          for (let at_minute = next - 12 * hour; at_minute < next + 12 * hour; at_minute += minute)
            assert.notEqual(clock(at_minute), asked, `the time exists: ${says}`);
        boundary = next;
      }
    }),
    { numRuns: inDepth(40, 2_000) },
  );
});

test('times that do not exist come later, times that exist twice come first', () => {
  const cases: [string, number, string, string[]][] = [
    // 02:30 is skipped on 29 March, and there twice on 25 October.
    [
      'Europe/Berlin',
      150,
      '2026-03-28T12:00:00Z',
      ['2026-03-29T01:30:00Z', '2026-03-30T00:30:00Z'],
    ],
    [
      'Europe/Berlin',
      150,
      '2026-10-24T12:00:00Z',
      ['2026-10-25T00:30:00Z', '2026-10-26T01:30:00Z'],
    ],
    [
      'America/New_York',
      90,
      '2026-10-31T12:00:00Z',
      ['2026-11-01T05:30:00Z', '2026-11-02T06:30:00Z'],
    ],
    // The clocks move by half an hour, from 02:00 to 02:30.
    [
      'Australia/Lord_Howe',
      135,
      '2026-10-03T12:00:00Z',
      ['2026-10-03T15:45:00Z', '2026-10-04T15:15:00Z'],
    ],
    // Midnight is skipped.
    ['Africa/Cairo', 0, '2026-04-23T12:00:00Z', ['2026-04-23T22:00:00Z', '2026-04-24T21:00:00Z']],
    ['Asia/Beirut', 0, '2026-03-28T12:00:00Z', ['2026-03-28T22:00:00Z', '2026-03-29T21:00:00Z']],
    // 30 December 2011 is skipped: its boundary is that of the 31st, once.
    [
      'Pacific/Apia',
      360,
      '2011-12-29T12:00:00Z',
      ['2011-12-29T16:00:00Z', '2011-12-30T16:00:00Z', '2011-12-31T16:00:00Z'],
    ],
    [
      'Asia/Kathmandu',
      360,
      '2026-01-01T12:00:00Z',
      ['2026-01-02T00:15:00Z', '2026-01-03T00:15:00Z'],
    ],
  ];
  for (const [timezone, offset_minutes, from, expected] of cases) {
    const rhythm: Rhythm = { interval: 'day', timezone, offset_minutes };
    let boundary = at(from);
    for (const text of expected) {
      boundary = boundaryAfter(rhythm, boundary);
      assert.equal(new Date(boundary).toISOString(), new Date(at(text)).toISOString(), timezone);
    }
  }
});

test('weeks begin on the chosen day', () => {
  const sunday: Rhythm = {
    interval: 'week',
    timezone: 'Europe/Berlin',
    offset_minutes: 6 * 1_440 + 360,
  };
  // Sunday, 25 October has 25 hours.
  const edges = ['2026-10-18T04:00:00Z', '2026-10-25T05:00:00Z', '2026-11-01T05:00:00Z'].map(at);
  assert.equal(boundaryAtOrBefore(sunday, edges[1]! - 1), edges[0]);
  assert.equal(boundaryAfter(sunday, edges[0]!), edges[1]);
  assert.equal(boundaryAfter(sunday, edges[1]!), edges[2]);
});

test('a day that a zone skipped is no interval, and a repeated one is one', () => {
  const cases: [string, string, string, number][] = [
    ['Pacific/Apia', '2011-12-29T12:00:00Z', '2012-01-01T12:00:00Z', 4],
    ['Pacific/Kwajalein', '1993-08-20T00:00:00Z', '1993-08-23T00:00:00Z', 4],
    ['Pacific/Kwajalein', '1960-01-01T12:00:00Z', '2000-01-01T12:00:00Z', 14_610],
    ['America/Juneau', '1867-10-17T00:00:00Z', '1867-10-20T00:00:00Z', 3],
  ];
  for (const [timezone, from, to, expected] of cases) {
    let walked = 0;
    for (let edge = at(from); edge < at(to); edge = boundaryAfter(midnights('day', timezone), edge))
      walked += 1;
    const counted = intervalCount(midnights('day', timezone), at(from), at(to));
    assert.deepEqual([timezone, counted, walked], [timezone, expected, expected]);
  }
});

test('the days and weeks of a millennium are counted at once', () => {
  const before = process.cpuUsage();
  const [from, to] = [at('0908-12-04T10:01:42Z'), at('2000-01-01T00:00:00Z')];
  assert.equal(intervalCount(midnights('day', 'Europe/Berlin'), from, to), 398_508);
  assert.equal(intervalCount(midnights('week', 'Europe/Berlin'), from, to), 56_930);
  const { user, system } = process.cpuUsage(before);
  // Day by day it took 16 s.
  assert.ok(user + system < 3_000_000, `${user + system} microseconds`);
});
