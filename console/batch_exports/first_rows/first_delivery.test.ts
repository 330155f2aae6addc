import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firstDelivery } from './first_delivery.ts';

const created_at = '2026-11-29T12:00:00Z';
const soon = Date.parse('2026-11-29T13:00:00Z');
const run = (kind: 'scheduled' | 'backfill', records_completed: number | null) => ({
  kind,
  records_completed,
});

test('the first rows are told from the first delivery until a few of the schedule', () => {
  assert.equal(firstDelivery([], 0, created_at, soon), undefined);
  assert.equal(
    firstDelivery([run('scheduled', 0), run('backfill', null)], 0, created_at, soon),
    undefined,
  );
  const day = Array.from({ length: 24 }, () => run('backfill', 100));
  const told = firstDelivery(
    [run('scheduled', 0), run('scheduled', 7), ...day],
    2_400,
    created_at,
    soon,
  );
  assert.deepEqual(told, { run: run('backfill', 100), rows: 2_407 });
  const scheduled = Array.from({ length: 4 }, () => run('scheduled', 1));
  assert.equal(firstDelivery([...scheduled, ...day], 2_400, created_at, soon), undefined);
  assert.equal(firstDelivery(day, 2_400, created_at, soon + 8 * 86_400_000), undefined);
});
