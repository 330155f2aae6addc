import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firstRange } from './range.ts';

test('metrics begin with the day or week of a young export, else with a month', () => {
  const now = Date.parse('2026-11-27T12:30:00Z');
  const day_ms = 86_400_000;
  const days = [0, 0.9, 1.05, 1.2, 6, 8, 400].map((age) => {
    const { from, to } = firstRange(now, now - age * day_ms);
    assert.equal(new Date(to).toISOString(), '2026-11-27T13:00:00.000Z');
    return Math.round((100 * (to - from)) / day_ms) / 100;
  });
  assert.deepEqual(days, [1, 1, 1.07, 7, 7, 30, 30]);
});
