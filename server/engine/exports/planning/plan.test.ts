import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firstSchedule, nextSchedule } from './plan.ts';

const hour = 3_600_000;
const hourly = { interval: 'hour', timezone: 'UTC', offset_minutes: 0 } as const;

/** Hours: until when it is planned, where the export ends, and where its next run ends. */
const nexts: [string, number, number | null, number | null][] = [
  ['an export without an end goes on', 4, null, 5],
  ['an end further ahead changes nothing', 4, 9, 5],
  ['the run that ends with the export is the last one', 4, 5, 5],
  ['none follows it', 5, 5, null],
  ['nor does one that would end behind the end', 4, 4.5, null],
];

for (const [says, planned, end, next] of nexts)
  test(`the next run: ${says}`, () => {
    const end_at = end === null ? null : end * hour;
    const wanted = next === null ? null : next * hour;
    assert.equal(nextSchedule({ ...hourly, end_at }, planned * hour), wanted);
    const rhythm = { ...hourly, start_at: null, end_at };
    const first = firstSchedule(rhythm, planned * hour);
    assert.deepEqual(first, { planned_until: planned * hour, next_run_at: wanted });
    // It covers the interval in which the export was created, or begins.
    assert.deepEqual(firstSchedule(rhythm, (planned + 0.9) * hour), first);
    assert.deepEqual(firstSchedule({ ...rhythm, start_at: planned * hour }, 0), first);
  });
