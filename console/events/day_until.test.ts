import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dayUntil } from './day_until.ts';

test('a day of whole hours, up to the hour of the instant and never beyond that of now', () => {
  const now = Date.parse('2026-03-02T12:30:00Z');
  const cases: [string, string, string][] = [
    ['2026-03-02T12:10:00Z', '2026-03-01T13:00:00.000Z', '2026-03-02T13:00:00.000Z'],
    ['2026-01-05T00:00:00Z', '2026-01-04T01:00:00.000Z', '2026-01-05T01:00:00.000Z'],
    ['2027-01-01T00:00:00Z', '2026-03-01T13:00:00.000Z', '2026-03-02T13:00:00.000Z'],
  ];
  for (const [at, start_at, end_at] of cases)
    assert.deepEqual(dayUntil(at, now), { start_at, end_at }, at);
});
