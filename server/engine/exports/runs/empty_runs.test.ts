import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { insertRunRow } from '../../../../test/factories/batch_exports/batch_exports.ts';
import { claimRun } from '../workers/claims.ts';
import { executeRun } from '../delivery/execute.ts';
import { insertRuns } from '../planning/plan.ts';
import { completeEmptyRuns } from './empty_runs.ts';
import { readReceipt } from './receipt.ts';
import {
  openAroundTests,
  first_hour,
  hour_ms,
  harness,
  engine,
  busy,
  runOf,
  exportOf,
  statusOf,
  lookAtAll,
} from '../../../../test/factories/batch_exports/empty_runs.ts';

openAroundTests();

const healthOf = (id: string) =>
  harness.deps.db.row(
    sql`SELECT consecutive_failures, is_failing, is_late, is_volume_unusual, delivered_until
      FROM batch_export_health WHERE batch_export_id = ${id}`,
  );

const ledgerOf = (id: string) =>
  harness.deps.db.row(
    sql`SELECT revision, delivered FROM batch_export_ledgers WHERE batch_export_id = ${id}`,
  );

test('a run without rows ends as a worker would end it', async () => {
  const home = await harness.newOrganization();
  const config = { type: 'File', config: { prefix: 'empty', include_events: ['signed in'] } };
  const [empty, worked] = [
    await exportOf(home, { destination: config }),
    await exportOf(home, { destination: config }),
  ];
  const [emptyRun, workedRun] = [
    await insertRunRow(harness, empty),
    await insertRunRow(harness, worked),
  ];
  await executeRun(
    engine,
    (await claimRun(harness.deps.db, workedRun, randomUUID()))!,
    new AbortController().signal,
  );
  assert.equal(await lookAtAll(), 1);
  const [ended, expected] = [await runOf(emptyRun), await runOf(workedRun)];
  for (const key of [
    'status',
    'records_completed',
    'records_total_count',
    'bytes_completed',
    'failures',
    'latest_error',
    'error_code',
    'destination_type',
    'destination_secrets',
    'cursor',
  ]) {
    assert.deepEqual(ended[key], expected[key], key);
  }
  for (const key of ['started_at', 'finished_at', 'committing_at'])
    assert.ok(ended[key] !== null, key);
  const signed = [ended.receipt, expected.receipt].map((text) => ({
    ...readReceipt(text, harness.deps.secrets.public_key)!,
    created_at: '',
  }));
  assert.deepEqual(signed[0], {
    ...signed[1],
    run_id: emptyRun,
    delivery_id: emptyRun,
    batch_export_id: empty,
  });
  assert.deepEqual(await ledgerOf(empty), await ledgerOf(worked));
  assert.deepEqual(await healthOf(empty), await healthOf(worked));
  const lines = await harness.deps.db.rows<{ message: string }>(
    sql`SELECT message FROM batch_export_logs WHERE run_id = ${emptyRun}`,
  );
  assert.deepEqual(lines, [
    { message: 'Run completed: there are no rows, so there was nothing to deliver.' },
  ]);
});

test('many are completed together, and the runs of one export in turn', async () => {
  const home = await harness.newOrganization();
  const ids: string[] = [];
  for (let count = 0; count < 20; count += 1) ids.push(await exportOf(home));
  const runs: string[] = [];
  for (const id of ids)
    for (const hour of [2, 0, 1]) runs.push(await insertRunRow(harness, id, { hour }));
  const before = harness.deps.db.statementCount();
  assert.equal(await lookAtAll(), 60);
  assert.ok(
    harness.deps.db.statementCount() - before < 180,
    'the number of statements grows with the lanes and the runs of one export, not with the ' +
      'number of exports',
  );
  for (const run of runs) assert.equal((await runOf(run)).status, 'Completed');
  const delivered = [
    {
      event_from: null,
      event_to: null,
      inserted_from: first_hour,
      inserted_to: first_hour + 3 * hour_ms,
    },
  ];
  for (const id of ids) assert.deepEqual(await ledgerOf(id), { revision: 1, delivered });
});

test('a run with rows is for a worker, and is not looked at again', async () => {
  const id = await exportOf(busy);
  // Filters are not looked into: the worker counts.
  const filtered = await exportOf(busy, {
    destination: { type: 'NoOp', config: { include_events: ['nobody did this'] } },
  });
  const [withRows, without, other] = [
    await insertRunRow(harness, id, { hour: 0 }),
    await insertRunRow(harness, id, { hour: 2 }),
    await insertRunRow(harness, filtered, { hour: 1 }),
  ];
  assert.equal(await lookAtAll(), 3);
  assert.deepEqual(await Promise.all([withRows, without, other].map(statusOf)), [
    ['Starting', true],
    ['Completed', false],
    ['Starting', true],
  ]);
  assert.equal(await lookAtAll(), 0);
});

test('persons have windows of their own', async () => {
  const home = await harness.newOrganization();
  const id = await exportOf(home, { model: 'persons' });
  await harness.deps.clickhouse.insert({
    table: 'persons',
    values: [
      {
        team_id: home.project.id,
        distinct_id: 'ada',
        person_id: randomUUID(),
        properties: '{}',
        person_version: 1,
        inserted_at: '2026-01-01 00:30:00',
      },
    ],
    format: 'JSONEachRow',
  });
  const [withPerson, without] = [
    await insertRunRow(harness, id, { hour: 0 }),
    await insertRunRow(harness, id, { hour: 1 }),
  ];
  assert.equal(await lookAtAll(), 2);
  assert.deepEqual(await Promise.all([withPerson, without].map(statusOf)), [
    ['Starting', true],
    ['Completed', false],
  ]);
});

test('processes and workers beside each other end a run once', async () => {
  const home = await harness.newOrganization();
  const ids: string[] = [];
  for (let count = 0; count < 20; count += 1) ids.push(await exportOf(home));
  await harness.deps.db.transaction((tx) =>
    insertRuns(
      tx,
      ids.map((id) => ({
        export: { id, revision: 1 },
        backfill_id: null,
        from: first_hour,
        to: first_hour + hour_ms,
        selection: [],
      })),
    ),
  );
  const runs = await harness.deps.db.rows<{ id: string }>(
    sql`SELECT id FROM batch_export_runs WHERE batch_export_id = ANY (${ids}::uuid[])`,
  );
  const worker = async () => {
    for (const { id } of runs.toReversed().slice(0, 8)) {
      const run = await claimRun(harness.deps.db, id, randomUUID());
      if (run !== undefined) await executeRun(engine, run, new AbortController().signal);
    }
  };
  await Promise.all([
    worker(),
    completeEmptyRuns(engine),
    completeEmptyRuns(engine),
    worker(),
    completeEmptyRuns(engine),
  ]);
  await lookAtAll();
  const ends = await harness.deps.db.rows<{ status: string; ends: number }>(sql`
    SELECT run.status, count(*) FILTER (WHERE log.message LIKE 'Run completed%')::int AS ends
    FROM batch_export_runs run LEFT JOIN batch_export_logs log ON log.run_id = run.id
      WHERE run.batch_export_id = ANY (${ids}::uuid[]) GROUP BY run.id`);
  assert.equal(ends.length, 20);
  for (const end of ends) assert.deepEqual(end, { status: 'Completed', ends: 1 });
});

test('a run that somebody has locked waits for the next turn, and is not counted', async () => {
  await lookAtAll();
  const run = await insertRunRow(harness, await exportOf(busy));
  await harness.deps.db.transaction(async (tx) => {
    await tx.row(sql`SELECT 1 FROM batch_export_runs WHERE id = ${run} FOR UPDATE`);
    assert.equal(await completeEmptyRuns(engine), 0);
  });
  assert.equal(await completeEmptyRuns(engine), 1);
  assert.equal(await completeEmptyRuns(engine), 0);
});
