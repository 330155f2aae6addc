import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firstDelivery } from './first_delivery.ts';

const created_at = '2026-11-29T12:00:00Z';
const soon = Date.parse('2026-11-29T13:00:00Z');
type Made = Parameters<typeof firstDelivery>[0][number];
const run = (
  kind: Made['kind'],
  records_completed: number | null,
  repeats: Made['repeats'] = null,
): Made => ({ kind, repeats, records_completed });
const told = (completed: Made[], at = soon) => firstDelivery(completed, created_at, at);

test('the first rows are told from the first delivery until a few of the schedule', () => {
  assert.equal(told([]), undefined);
  assert.equal(told([run('scheduled', 0), run('backfill', null)]), undefined);
  const day = Array.from({ length: 24 }, () => run('backfill', 100));
  assert.deepEqual(told([run('scheduled', 0), run('scheduled', 7), ...day]), run('scheduled', 7));
  const scheduled = Array.from({ length: 4 }, () => run('scheduled', 1));
  assert.equal(told([...scheduled, ...day]), undefined);
  assert.equal(told(day, soon + 8 * 86_400_000), undefined);
});

test('rows that are written again do not make an export old', () => {
  const again = Array.from({ length: 4 }, () => run('scheduled', 9, 'erasure'));
  assert.deepEqual(told([...again, run('scheduled', 10)]), again[0]);
});
