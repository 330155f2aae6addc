import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { insertRunRow, newExport } from '../../../../test/factories/batch_exports/batch_exports.ts';
import { openHarness } from '../../../../test/harness.ts';
import { sweepDeleted, sweepHistory } from './sweep_history.ts';
import { aroundTests } from '../../../../test/around_tests.ts';

const harness = aroundTests(() => openHarness({ clickhouse: false }));

test('old lines and empty runs go; receipts, failures and the first run stay', async () => {
  const { db } = harness.deps;
  const home = await harness.newOrganization();
  const [kept, deleted, open] = await Promise.all(
    ['kept', 'deleted', 'open'].map((name) => newExport(home, { name })),
  );
  const runs = new Map<string, string>();
  for (const [hour, what, status, total] of [
    [0, 'first', 'Completed', 0],
    [1, 'empty', 'Completed', 0],
    [2, 'delivered', 'Completed', 5],
    [3, 'failed', 'Failed', 0],
    [4, 'young', 'Completed', 0],
  ] as const)
    runs.set(what, await insertRunRow(harness, kept.id, { hour, status, total }));
  await insertRunRow(harness, deleted.id, { status: 'Completed', total: 7 });
  await insertRunRow(harness, open.id, { status: 'Running' });
  await db.run(sql`UPDATE batch_export_runs SET finished_at = now() - interval '91 days'
    WHERE id <> ${runs.get('young')} AND finished_at IS NOT NULL`);
  await db.run(sql`UPDATE batch_exports SET deleted_at = now() - interval '91 days'
    WHERE id = ANY (${[deleted.id, open.id]}::uuid[])`);
  await db.run(sql`DELETE FROM batch_export_logs`);
  for (const [age, message] of [
    [91, 'old'],
    [89, 'new'],
  ] as const)
    await db.run(sql`INSERT INTO batch_export_logs (batch_export_id, "timestamp", level, message)
      VALUES (${kept.id}, now() - make_interval(days => ${age}), 'INFO', ${message})`);

  await sweepHistory(harness.deps);
  await sweepDeleted(harness.deps);

  const left = await db.rows<{ id: string }>(sql`
    SELECT id FROM batch_export_runs WHERE batch_export_id = ${kept.id}
    ORDER BY data_interval_end`);
  assert.deepEqual(
    left.map(({ id }) => [...runs].find(([, one]) => one === id)?.[0]),
    ['first', 'delivered', 'failed', 'young'],
  );
  assert.deepEqual(await db.rows(sql`SELECT message FROM batch_export_logs`), [{ message: 'new' }]);
  const exports = await db.rows<{ name: string }>(sql`
    SELECT name FROM batch_exports WHERE team_id = ${home.project.id} ORDER BY name`);
  assert.deepEqual(
    exports.map(({ name }) => name),
    ['kept', 'open'],
    'a run of it is being ended',
  );
});
