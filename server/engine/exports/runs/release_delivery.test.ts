import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { insertRunRow, newExport } from '../../../../test/factories/batch_exports/batch_exports.ts';
import { shareHome } from '../../../../test/shared_home.ts';
import { releaseDelivery } from './progress.ts';

const { harness, home } = shareHome();

test('a delivery that is not there is given back by its ended runs, and by no others', async () => {
  const { db } = harness.deps;
  const { id } = (await newExport(home)) as { id: string };
  const began = { committing: true, total: 3 };
  const first = await insertRunRow(harness, id, { ...began, status: 'Failed' });
  const retry = { ...began, delivery_id: first };
  const runs = {
    first,
    failed_retry: await insertRunRow(harness, id, { ...retry, status: 'FailedRetryable' }),
    shown: await insertRunRow(harness, id, { ...retry, status: 'Completed' }),
    at_work: await insertRunRow(harness, id, { ...retry, status: 'Running' }),
    of_another: await insertRunRow(harness, id, { ...began, status: 'Failed', hour: 1 }),
  };
  await db.transaction((tx) => releaseDelivery(tx, { batch_export_id: id, delivery_id: first }));
  const rows = await db.rows<{ id: string; is_held: boolean; records: number }>(sql`
    SELECT id, committing_at IS NOT NULL AS is_held, records_completed AS records
    FROM batch_export_runs WHERE batch_export_id = ${id}`);
  const found = new Map(rows.map(({ id: run, is_held, records }) => [run, [is_held, records]]));
  assert.deepEqual(
    Object.entries(runs).map(([name, run]) => [name, found.get(run)]),
    [
      ['first', [false, 0]],
      ['failed_retry', [false, 0]],
      ['shown', [true, 3]],
      ['at_work', [true, 3]],
      ['of_another', [true, 3]],
    ],
  );
});
