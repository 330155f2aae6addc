import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { insertRunRow } from '../../../../test/factories/batch_exports/batch_exports.ts';
import { endedRun, failed, toldOf } from '../../../../test/factories/batch_exports/ended_runs.ts';
import { fillEvents } from '../../../../test/factories/events/fill_events.ts';
import {
  openAroundTests,
  first_hour,
  hour_ms,
  harness,
  runOf,
  exportOf,
  statusOf,
  lookAtAll,
} from '../../../../test/factories/batch_exports/empty_runs.ts';

openAroundTests();

test('runs of few rows are marked as small, by what their project has then', async () => {
  const home = await harness.newOrganization();
  for (const [hour, count] of [1000, 1001].entries()) {
    const from = first_hour + hour * hour_ms;
    await fillEvents(harness.deps.clickhouse, {
      team_id: home.project.id,
      events: count,
      from,
      to: from + hour_ms,
    });
  }
  const id = await exportOf(home);
  const runs = [
    await insertRunRow(harness, id, { hour: 0 }),
    await insertRunRow(harness, id, { hour: 1 }),
  ];
  assert.equal(await lookAtAll(), 2);
  assert.deepEqual(await Promise.all(runs.map(async (run) => (await runOf(run)).is_small)), [
    true,
    false,
  ]);
});

test('queries, and what makes up for a backfill, are for workers', async () => {
  const home = await harness.newOrganization();
  const query = await exportOf(home, { custom_query: 'SELECT count() AS events FROM events' });
  const made_up = await exportOf(home);
  const runs = [
    await insertRunRow(harness, query),
    await insertRunRow(harness, made_up, {
      delivery_id: randomUUID(),
      selection: [
        { event_from: 0, event_to: first_hour, inserted_from: null, inserted_to: first_hour },
      ],
    }),
  ];
  assert.equal(await lookAtAll(), 2);
  assert.deepEqual(await Promise.all(runs.map(statusOf)), [
    ['Starting', true],
    ['Starting', true],
  ]);
});

test('each project gets the notices of its runs without rows', async () => {
  const home = await harness.newOrganization();
  const failing = await exportOf(home);
  await endedRun(harness, failing, failed, { hour: 100 });
  const runs = [await insertRunRow(harness, failing, { hour: 101 })];
  // One more than there are lanes: two of them end together.
  const usual: string[] = [];
  for (let count = 0; count < 5; count += 1) {
    const id = await exportOf(count === 0 ? home : await harness.newOrganization());
    usual.push(id);
    for (let day = 0; day < 30; day += 1)
      await insertRunRow(harness, id, { status: 'Completed', hour: day * 24, total: 1000 });
    runs.push(await insertRunRow(harness, id, { hour: 30 * 24 }));
  }
  await lookAtAll();
  assert.deepEqual(
    await Promise.all(runs.map(statusOf)),
    runs.map(() => ['Completed', false]),
  );
  // An empty run says nothing about the destination that failed.
  assert.deepEqual(await toldOf(harness, failing), ['failing']);
  for (const id of usual) {
    assert.deepEqual(await toldOf(harness, id), ['unusual_volume']);
    const told = await harness.deps.db.rows<Record<string, unknown>>(sql`
      SELECT notice.body::jsonb #>> '{data,batch_export,id}' AS about, export.team_id =
        delivery.team_id AS is_own
      FROM notices notice JOIN notice_deliveries delivery ON delivery.notice_id = notice.id
      JOIN batch_exports export ON export.id = notice.batch_export_id
      JOIN batch_export_runs run ON run.batch_export_id = export.id AND run.receipt IS NOT NULL
      JOIN batch_export_logs log ON log.run_id = run.id AND log.level = 'WARNING'
      WHERE notice.batch_export_id = ${id}`);
    assert.deepEqual(told, [{ about: id, is_own: true }]);
  }
});

test('a run that continues the commit of another one is for workers', async () => {
  const run = await insertRunRow(harness, await exportOf(await harness.newOrganization()));
  await harness.deps.db.run(
    sql`UPDATE batch_export_runs SET committing_at = now(), receipt = '{}' WHERE id = ${run}`,
  );
  assert.equal(await lookAtAll(), 0);
  const { status, receipt } = await runOf(run);
  assert.deepEqual([status, receipt], ['Starting', '{}']);
});

test('a run that is cancelled, changed, deleted or taken is left alone', async () => {
  const home = await harness.newOrganization();
  const ids: string[] = [];
  const runs: string[] = [];
  for (let count = 0; count < 5; count += 1) {
    ids.push(await exportOf(home));
    runs.push(await insertRunRow(harness, ids[count]!));
  }
  const [cancelled, changed, deleted, taken] = ids;
  await harness.deps.db.run(
    sql`UPDATE batch_export_runs SET cancel_requested_at = now()
      WHERE batch_export_id = ${cancelled}`,
  );
  await harness.deps.db.run(sql`UPDATE batch_exports SET revision = 2 WHERE id = ${changed}`);
  await harness.deps.db.run(sql`UPDATE batch_exports SET deleted_at = now() WHERE id = ${deleted}`);
  await harness.deps.db.run(
    sql`UPDATE batch_export_runs SET worker_id = gen_random_uuid(), status = 'Running', attempt = 1
      WHERE batch_export_id = ${taken}`,
  );
  await harness.deps.db.transaction(async (tx) => {
    await tx.run(sql`SELECT 1 FROM batch_exports WHERE id = ${ids[4]} FOR UPDATE`);
    assert.equal(await lookAtAll(), 0);
  });
  assert.deepEqual(await Promise.all(runs.map(async (run) => (await runOf(run)).status)), [
    'Starting',
    'Starting',
    'Starting',
    'Running',
    'Starting',
  ]);
  assert.equal(await lookAtAll(), 1);
  assert.equal((await runOf(runs[4]!)).status, 'Completed');
});
