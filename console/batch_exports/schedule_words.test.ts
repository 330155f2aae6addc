import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isZone, nextEnds, scheduleWords } from './schedule_words.ts';
import type { RhythmFields } from './slots/boundaries.ts';

const daily: RhythmFields = {
  interval: 'day',
  timezone: 'Europe/Berlin',
  offset_day: null,
  offset_hour: 6,
  offset_minute: 0,
};
const sundays: RhythmFields = { ...daily, interval: 'week', offset_day: 0, offset_minute: 30 };
const hourly: RhythmFields = { ...daily, interval: 'hour', offset_hour: null, offset_minute: null };

test('a schedule is told as people say it, with the zone where it is not that of the page', () => {
  const cases: [RhythmFields, string, string][] = [
    [daily, 'UTC', 'Daily at 06:00 Europe/Berlin'],
    [daily, 'Europe/Berlin', 'Daily at 06:00'],
    [{ ...daily, offset_hour: 0 }, 'UTC', 'Daily at 00:00 Europe/Berlin'],
    [sundays, 'UTC', 'Sundays at 06:30 Europe/Berlin'],
    [{ ...sundays, offset_day: 1 }, 'Europe/Berlin', 'Mondays at 06:30'],
    [hourly, 'UTC', 'Every hour'],
    [{ ...hourly, interval: 'every minute' }, 'UTC', 'Every minute'],
  ];
  for (const [row, zone, words] of cases) assert.equal(scheduleWords(row, zone), words);
});

test('the next runs are where the schedule has them, also where the clocks change', () => {
  const ends = (row: RhythmFields, from: string, end = Infinity) =>
    nextEnds(row, Date.parse(from), end, 3).map((at) => new Date(at).toISOString().slice(0, 16));
  assert.deepEqual(ends(daily, '2026-10-24T04:00Z'), [
    '2026-10-25T05:00',
    '2026-10-26T05:00',
    '2026-10-27T05:00',
  ]);
  assert.deepEqual(ends({ ...daily, offset_hour: 2, offset_minute: 30 }, '2026-03-28T12:00Z'), [
    '2026-03-29T01:30',
    '2026-03-30T00:30',
    '2026-03-31T00:30',
  ]);
  assert.deepEqual(ends(sundays, '2026-11-29T05:30Z', Date.parse('2026-12-13T05:29:59Z')), [
    '2026-12-06T05:30',
  ]);
  assert.deepEqual(ends({ ...daily, timezone: 'Mars/Olympus' }, '2026-01-01T00:00Z'), []);
  assert.deepEqual([isZone('Asia/Kathmandu'), isZone('Berlin')], [true, false]);
});
