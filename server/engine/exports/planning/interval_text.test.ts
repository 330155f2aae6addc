import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shareHarness } from '../../../../test/harness.ts';
import { intervalStarts } from './interval.ts';
import type { Rhythm } from './interval.ts';
import { intervalText } from './interval_text.ts';

const harness = shareHarness();

const minute = 60_000;
const day = 24 * 60 * minute;

/** Zones with a day on which their clocks changed, and times that the change skips or repeats. */
const changes: [string, string, number[]][] = [
  ['Europe/Berlin', '2026-03-29', [0, 120, 150, 179, 180, 360]],
  ['Europe/Berlin', '2026-10-25', [0, 120, 150, 179, 180, 360]],
  ['America/New_York', '2026-11-01', [0, 60, 90, 120]],
  ['Australia/Lord_Howe', '2026-10-04', [120, 135, 150]],
  ['Australia/Lord_Howe', '2026-04-05', [90, 105, 120]],
  ['Africa/Cairo', '2026-04-24', [0, 30, 60]],
  ['Asia/Beirut', '2026-10-25', [0, 1_380, 1_410]],
  ['America/St_Johns', '2008-11-02', [0, 1, 1_381]],
  ['Pacific/Apia', '2011-12-30', [0, 360]],
  ['Asia/Kathmandu', '2026-01-01', [0, 361]],
];

test('the store tells intervals apart as the planner does, also where clocks change', async () => {
  for (const [timezone, date, offsets] of changes)
    for (const [place, offset_minutes] of offsets.entries()) {
      const middle = Date.parse(date);
      // The week turns on the day of the change.
      const weekday = (new Date(middle).getUTCDay() + 6) % 7;
      const rhythm: Rhythm =
        place % 2 === 0
          ? { interval: 'day', timezone, offset_minutes }
          : { interval: 'week', timezone, offset_minutes: weekday * 1_440 + offset_minutes };
      const [from, to] = [middle - 3 * day + 7 * minute, middle + 3 * day];
      const { text, parameters } = intervalText(rhythm, { from, to });
      const starts = intervalStarts(rhythm, from, to);
      const rows = await harness.deps.clickhouse.rows<{ at: string; told: string }>({
        query: `SELECT toUnixTimestamp64Milli(happened) AS at, ${text} AS told FROM (
          SELECT fromUnixTimestamp64Milli(toInt64(${from} + number * ${5 * minute}), 'UTC')
            AS happened FROM numbers(${Math.floor((to - from) / (5 * minute))})) ORDER BY at`,
        query_params: parameters,
      });
      for (const { at, told } of rows) {
        const start = starts.findLast((one) => one <= Number(at));
        assert.equal(Number(told), start, `${JSON.stringify(rhythm)} at ${at}`);
      }
    }
});

test('a forecast of many years goes by the clocks of the store', async () => {
  const range = { from: Date.parse('1980-01-01'), to: Date.parse('2030-01-01') };
  // The last one is Sunday 06:00 in Berlin.
  const at = [
    '2020-05-04T03:59:59Z',
    '2020-05-04T04:00:00Z',
    '2020-05-05T03:00:00Z',
    '2020-05-10T04:00:00Z',
  ];
  const cases: [Rhythm['interval'], number, string[]][] = [
    ['day', 360, ['2020-05-03', '2020-05-04', '2020-05-04', '2020-05-10']],
    ['week', 6 * 1_440 + 360, ['2020-04-27', '2020-04-27', '2020-04-27', '2020-05-04']],
  ];
  for (const [interval, offset_minutes, expected] of cases) {
    const rhythm = { interval, timezone: 'Europe/Berlin', offset_minutes };
    const { text, parameters } = intervalText(rhythm, range);
    const rows = await harness.deps.clickhouse.rows<{ told: string }>({
      query: `SELECT ${text} AS told FROM (SELECT
        parseDateTime64BestEffort(arrayJoin({at:Array(String)}), 6, 'UTC') AS happened)
        ORDER BY happened`,
      query_params: { ...parameters, at },
    });
    assert.deepEqual(
      rows.map((row) => row.told),
      expected,
    );
  }
});
