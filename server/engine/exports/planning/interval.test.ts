import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { inDepth } from '../../../../test/depth.ts';
import { boundaryAfter, boundaryAtOrBefore, intervalCount, intervals } from './interval.ts';
import type { Interval } from './interval.ts';

const at = (text: string) => Date.parse(text);

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
      boundaryAtOrBefore(interval, timezone, at(instant)),
      at(before),
      `${interval} ${timezone} ${instant} before`,
    );
    assert.equal(
      boundaryAfter(interval, timezone, at(instant)),
      at(after),
      `${interval} ${timezone} ${instant} after`,
    );
  }
});

test('boundaries cover time in every zone, and intervalCount counts them', () => {
  const zone = fc.constantFrom(
    'UTC',
    'America/New_York',
    'Europe/Berlin',
    'Asia/Kathmandu',
    'Pacific/Apia',
    'Australia/Lord_Howe',
    'America/Sao_Paulo',
    'Africa/Casablanca',
  );
  const instant = fc.integer({
    min: at('2005-01-01T00:00:00Z'),
    max: at('2030-01-01T00:00:00Z'),
  });
  fc.assert(
    fc.property(
      fc.constantFrom(...intervals),
      zone,
      instant,
      fc.integer({ min: 1, max: 12 }),
      fc.integer({ min: 0, max: 10_000_000 }),
      (interval, timezone, from, steps, rest) => {
        const start = boundaryAtOrBefore(interval, timezone, from);
        assert.ok(start <= from && from < boundaryAfter(interval, timezone, from));
        let boundary = start;
        for (let step = 0; step < steps; step += 1) {
          const next = boundaryAfter(interval, timezone, boundary);
          assert.ok(next > boundary);
          assert.equal(boundaryAtOrBefore(interval, timezone, next), next);
          assert.equal(boundaryAtOrBefore(interval, timezone, next - 1), boundary);
          boundary = next;
        }
        if (boundary > from) assert.equal(intervalCount(interval, timezone, from, boundary), steps);
        const inside = Math.min(boundary + 1 + rest, boundaryAfter(interval, timezone, boundary));
        assert.equal(intervalCount(interval, timezone, start, inside), steps + 1);
      },
    ),
    { numRuns: inDepth(400, 20_000) },
  );
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
    for (let edge = at(from); edge < at(to); edge = boundaryAfter('day', timezone, edge))
      walked += 1;
    const counted = intervalCount('day', timezone, at(from), at(to));
    assert.deepEqual([timezone, counted, walked], [timezone, expected, expected]);
  }
});

test('the days and weeks of a millennium are counted at once', () => {
  const before = process.cpuUsage();
  const [from, to] = [at('0908-12-04T10:01:42Z'), at('2000-01-01T00:00:00Z')];
  assert.equal(intervalCount('day', 'Europe/Berlin', from, to), 398_508);
  assert.equal(intervalCount('week', 'Europe/Berlin', from, to), 56_930);
  const { user, system } = process.cpuUsage(before);
  // Day by day it took 16 s.
  assert.ok(user + system < 3_000_000, `${user + system} microseconds`);
});
