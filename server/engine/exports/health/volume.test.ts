import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compared_runs_max, judgeVolume } from './volume.ts';

const times = (count: number, rows: number) => Array.from({ length: count }, () => rows);
const noisy = [100, 110, 90, 105, 95, 120, 80, 100];

const cases: [rows: number, others: number[], isUnusual: boolean | undefined, why: string][] = [
  [0, times(7, 100), undefined, 'seven runs are too few'],
  [0, times(8, 100), true, 'nothing, where there was always something'],
  [100, times(8, 100), false, 'the same'],
  [51, times(8, 100), false, 'within half of a steady volume'],
  [49, times(8, 100), true, 'below half of a steady volume'],
  [150, times(8, 100), false, 'half as much again'],
  [151, times(8, 100), true, 'more than half as much again'],
  [12, noisy, true, 'far below'],
  [60, noisy, false, 'a bad day'],
  [150, noisy, false, 'a good day'],
  [190, noisy, true, 'far above'],
  [0, times(10, 0), false, 'an export without rows'],
  [5, times(10, 0), false, 'a few rows at last'],
  [6, times(10, 0), true, 'more than chance'],
  [0, times(10, 20), true, 'nothing at all, where each had ten or more'],
  [0, times(10, 9), false, 'small numbers come to nothing by chance'],
  [0, [...times(9, 20), 0], false, 'nothing has happened before'],
  [0, [10, 2000, 30, 900, 4000, 60, 3000, 80], true, 'nothing, however much the volume varies'],
  [3900, [10, 2000, 30, 900, 4000, 60, 3000, 80], false, 'a volume that varies'],
  [100, [...times(30, 100), ...times(30, 9000)], false, 'only the latest thirty count'],
  [1000, [...times(15, 1000), ...times(6, 0)], false, 'an outage does not change what is usual'],
];

for (const [rows, others, isUnusual, why] of cases) {
  test(`${rows} rows: ${why}`, () =>
    assert.equal(judgeVolume(rows, others)?.is_unusual, isUnusual));
}

test('the volume shows its bounds, and judges by them', () => {
  assert.deepEqual(judgeVolume(100, times(9, 100))?.usual, {
    median: 100,
    low: 50,
    high: 150,
    runs: 9,
  });
  assert.equal(judgeVolume(0, times(40, 100))?.usual.runs, compared_runs_max);
  const rows = fc.nat({ max: 1_000_000 });
  fc.assert(
    fc.property(rows, fc.array(rows, { minLength: 8, maxLength: 40 }), (count, others) => {
      const { is_unusual, usual } = judgeVolume(count, others)!;
      assert.ok(usual.low >= 0 && usual.low <= usual.median && usual.median <= usual.high);
      if (count > 0) assert.equal(is_unusual, count < usual.low || count > usual.high);
      assert.equal(judgeVolume(Math.round(usual.median), others)!.is_unusual, false);
    }),
    { numRuns: 200 },
  );
});
