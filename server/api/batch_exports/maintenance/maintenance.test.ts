import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maintainDeltaTables } from '../../../engine/exports/lake_maintenance/delta/delta_work.ts';
import { aroundTests } from '../../../../test/around_tests.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';

const exporting = aroundTests(openQueryHarness);

test('the maintenance of a Delta table is shown, and begins when somebody asks', async () => {
  const home = await exporting.harness.newOrganization();
  const destination = { type: 'Delta', config: { storage: 'File', table: 'events' } };
  const { get, send, id } = await exporting.scheduled(home, { name: 'lake', destination }, 3);
  const at = (hour: number) => ({ event: 'paid', at: `2026-01-01T0${hour}:30:00Z` });
  await exporting.insert(home, [at(0), at(1), at(2)]);
  const { status, body: before } = await get('maintenance/');
  assert.deepEqual(
    [status, before.finished_at, before.changed_at, before.changes, before.detail],
    [200, null, null, {}, null],
  );
  assert.ok((await exporting.runAll(id)).every((run) => run.status === 'Completed'));
  const signal = new AbortController().signal;
  await maintainDeltaTables(exporting.harness.deps.engine, signal);
  const asked = await send('POST', 'maintain/');
  assert.equal(asked.status, 202, asked.text);
  assert.ok(Date.parse(asked.body.due_at) <= Date.now());
  await maintainDeltaTables(exporting.harness.deps.engine, signal);
  const { body: after } = await get('maintenance/');
  assert.equal(after.changes.files_compacted, 3);
  assert.ok(Date.parse(after.due_at) > Date.now());
  assert.ok(Date.parse(after.finished_at) >= Date.parse(after.changed_at));
});

test('exports to other places have no maintenance of their own', async () => {
  const home = await exporting.harness.newOrganization();
  const destination = { type: 'File', config: { prefix: 'x' } };
  const { get, send } = await exporting.scheduled(home, { name: 'files', destination }, 1);
  assert.equal((await get('maintenance/')).body.due_at, null);
  const { status, body } = await send('POST', 'maintain/');
  assert.deepEqual([status, body.code], [409, 'conflict']);
});
