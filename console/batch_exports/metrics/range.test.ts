import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firstRange } from './range.ts';

test('metrics begin with the day or week of a young export, else with a month', () => {
  const now = Date.parse('2026-11-27T12:30:00Z');
  const day_ms = 86_400_000;
  const days = [0, 0.9, 1, 6, 7, 400].map((age) => {
    const { from, to } = firstRange(now, now - age * day_ms);
    assert.equal(new Date(to).toISOString(), '2026-11-27T13:00:00.000Z');
    return (to - from) / day_ms;
  });
  assert.deepEqual(days, [1, 1, 7, 7, 30, 30]);
});
