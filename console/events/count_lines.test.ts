import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byReason, endOf, lineOf, rangeOf, spanOf } from './count_lines.ts';
import type { Warnings } from './count_lines.ts';

const hour_ms = 3_600_000;
const day = rangeOf('Day');

test('a range ends with the step that is now, and an unknown one is a day', () => {
  const now = Date.parse('2026-11-22T12:34:56Z');
  const iso = ({ from, to }: { from: number; to: number }) =>
    [from, to].map((at) => new Date(at).toISOString());
  assert.deepEqual(iso(spanOf(rangeOf('Hour'), endOf(rangeOf('Hour'), now))), [
    '2026-11-22T11:35:00.000Z',
    '2026-11-22T12:35:00.000Z',
  ]);
  assert.equal(rangeOf('<b>'), day);
  assert.equal(endOf(day, 10 * hour_ms), 11 * hour_ms);
});

test('a line has a number for each step, 0 where nothing was stored', () => {
  const results = [{ start_at: new Date(hour_ms).toISOString(), events: 7 }];
  const counts = { after: '', before: '', interval: 'hour' as const, results };
  const line = lineOf(counts, { from: 0, to: 3 * hour_ms }, hour_ms);
  assert.deepEqual(line, { at: [0, 3_600, 7_200], values: [0, 7, 0], total: 7 });
});

test('warnings are grouped by reason, most frequent first, with the newest examples', () => {
  const row = (reason: 'duplicate' | 'uuid_replaced', events: number, sent: string) => ({
    start_at: '',
    reason,
    outcome: 'changed' as const,
    events,
    last_at: sent,
    examples: [{ at: '', sent }],
  });
  const warnings: Warnings = {
    count: 3,
    next: null,
    previous: null,
    results: [row('uuid_replaced', 1, 'new'), row('duplicate', 2, 'b'), row('duplicate', 3, 'a')],
  };
  assert.deepEqual(
    byReason(warnings).map(({ reason, events, last_at }) => [reason, events, last_at]),
    [
      ['duplicate', 5, 'b'],
      ['uuid_replaced', 1, 'new'],
    ],
  );
});
