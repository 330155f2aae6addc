import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { insertRunRow, newExport } from '../../../../test/factories/batch_exports/batch_exports.ts';
import { openHarness } from '../../../../test/harness.ts';
import { aroundTests } from '../../../../test/around_tests.ts';
import { setAside } from '../runs/hold_until_reconciled.ts';
import { reconcileAll } from './reconcile.ts';

// Its own, for all exports of a server are set aside at once.
const harness = aroundTests(() => openHarness({ clickhouse: false }));

/** Two open runs of an export that was set aside: the second has sent a slice, the first none. */
async function waiting(destination: object) {
  const home = await harness.newOrganization();
  const { id } = await newExport(home, { destination });
  const { db, engine } = harness.deps;
  const ids = [
    await insertRunRow(harness, id, { total: 4 }),
    await insertRunRow(harness, id, { total: 4, hour: 1 }),
  ];
  const outcome = (sent: boolean) => (sent ? JSON.stringify({ name: 'slice' }) : null);
  for (const [number, run] of ids.entries())
    await db.run(sql`INSERT INTO batch_export_slices (run_id, number, inserted_from, inserted_to,
      records, outcome) VALUES (${run}, 0, NULL, NULL, 4, ${outcome(number === 1)}::jsonb)`);
  const taken_at = '2026-03-04T05:06:07.000Z';
  await setAside(db, { taken_at, control_taken_at: taken_at });
  const runs = () =>
    db.rows<{ total: number | null; slices: number; is_due: boolean; status: string }>(sql`
      SELECT records_total_count AS total, due_at <= now() AS is_due, status,
        (SELECT count(*) FROM batch_export_slices WHERE run_id = run.id) AS slices
      FROM batch_export_runs run WHERE batch_export_id = ${id} ORDER BY data_interval_start`);
  assert.ok((await runs()).every(({ is_due }) => !is_due));
  return { id, engine, runs };
}

const restarted = { total: null, slices: 0, is_due: true, status: 'Starting' };

test('assumed missing: open runs continue, from the start if nothing was sent', async () => {
  const { id, engine, runs } = await waiting({
    type: 'HTTP',
    config: { url: 'http://127.0.0.1:2/rows' },
  });
  const [settled] = await reconcileAll(engine, { only: id, assumption: 'missing' });
  assert.deepEqual([settled?.is_waiting, settled?.goes_on], [false, true]);
  assert.deepEqual(await runs(), [restarted, { ...restarted, total: 4, slices: 1 }]);
});

test('open runs without a receipt at the destination restart', async () => {
  const { id, engine, runs } = await waiting({ type: 'File', config: { prefix: 'nowhere' } });
  const [settled] = await reconcileAll(engine, { only: id });
  assert.deepEqual([settled?.is_waiting, settled?.entered.restarted], [false, 2]);
  assert.deepEqual(await runs(), [restarted, restarted]);
});
