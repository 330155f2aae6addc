import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firstDelivery } from './first_delivery.ts';

const created_at = '2026-11-29T12:00:00Z';
const soon = Date.parse('2026-11-29T13:00:00Z');
type Made = Parameters<typeof firstDelivery>[0][number];
const run = (
  kind: Made['kind'],
  records_completed: number | null,
  hour = 0,
  repeats: Made['repeats'] = null,
): Made => ({
  kind,
  repeats,
  records_completed,
  data_interval_start: `hour ${hour}`,
  data_interval_end: `hour ${hour + 1}`,
});

test('the first rows are told from the first delivery until a few of the schedule', () => {
  assert.equal(firstDelivery([], 0, created_at, soon), undefined);
  assert.equal(
    firstDelivery([run('scheduled', 0), run('backfill', null)], 0, created_at, soon),
    undefined,
  );
  const day = Array.from({ length: 24 }, (_, hour) => run('backfill', 100, hour));
  const told = firstDelivery(
    [run('scheduled', 0), run('scheduled', 7), ...day],
    2_400,
    created_at,
    soon,
  );
  assert.deepEqual(told, { run: run('backfill', 100), rows: 2_407 });
  const scheduled = Array.from({ length: 4 }, (_, hour) => run('scheduled', 1, hour));
  assert.equal(firstDelivery([...scheduled, ...day], 2_400, created_at, soon), undefined);
  assert.equal(firstDelivery(day, 2_400, created_at, soon + 8 * 86_400_000), undefined);
});

test('rows count once, whatever wrote them again', () => {
  const again = run('scheduled', 9, 0, 'erasure');
  const rows = (completed: Made[]) => firstDelivery(completed, 0, created_at, soon)?.rows;
  assert.equal(rows([again, run('scheduled', 10)]), 10);
  // The table was dropped, and its interval delivered again.
  assert.equal(rows([run('scheduled', 10), run('scheduled', 10)]), 10);
  assert.equal(rows([run('scheduled', 10, 0, 'retry')]), 10);
});
