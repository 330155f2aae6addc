import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { insertRunRow, newExport } from '../../../../test/factories/batch_exports/batch_exports.ts';
import { endedRun, failed, toldOf } from '../../../../test/factories/batch_exports/ended_runs.ts';
import { openHarness } from '../../../../test/harness.ts';
import type { TestOrganization } from '../../../../test/harness.ts';
import { until } from '../../../../test/processes/server_process.ts';
import { claimRun } from '../workers/claims.ts';
import type { Engine } from '../engine.ts';
import { noteInRunLog } from '../../model/run_log.ts';
import {
  beginCommit,
  giveDeliveryBack,
  resetProgress,
  retryLater,
  storeProgress,
  storeSlices,
  takeCommitBack,
} from './progress.ts';
import { endRun } from './end_runs.ts';
import { LostRunError } from '../../model/run.ts';
import type { ClaimedRun } from '../../model/run.ts';
import { aroundTests } from '../../../../test/around_tests.ts';

let engine: Engine;
let home: TestOrganization;

const harness = aroundTests(
  () => openHarness({ clickhouse: false }),
  async (opened) => {
    engine = opened.deps.engine;
    home = await opened.newOrganization();
  },
);

async function newTaken(exportId?: string, hour = 0): Promise<ClaimedRun> {
  const id = exportId ?? ((await newExport(home)) as { id: string }).id;
  return (await claimRun(
    harness.deps.db,
    await insertRunRow(harness, id, { hour }),
    randomUUID(),
  ))!;
}

const slice = { number: 0, inserted_from: null, inserted_to: null, records: 3, outcome: null };
const outcome = { number: 0, name: 'slice 0', records: 3, bytes: 30, sha256: 'ab', state: null };
type Row = Record<string, unknown>;
const rowOf = (run: ClaimedRun) =>
  harness.deps.db.row<Row>(sql`
  SELECT status, records_total_count, records_completed, bytes_completed, "cursor", slices_safe_max,
    receipt, destination_type, finished_at IS NOT NULL AS is_finished FROM batch_export_runs
    WHERE id = ${run.id}`);
const logOf = async (run: ClaimedRun) =>
  (
    await harness.deps.db.rows<{ message: string }>(
      sql`SELECT message FROM batch_export_logs WHERE run_id = ${run.id} ORDER BY id`,
    )
  ).map(({ message }) => message);

test('runs take their steps together, each as if alone', async () => {
  const runs: ClaimedRun[] = [];
  for (let count = 0; count < 12; count += 1) runs.push(await newTaken());
  const [first, lost, cancelled] = runs as [ClaimedRun, ClaimedRun, ClaimedRun];
  runs.push(await newTaken(first.batch_export_id, 1));
  await harness.deps.db.run(
    sql`UPDATE batch_export_runs SET attempt = attempt + 1 WHERE id = ${lost.id}`,
  );
  await harness.deps.db.run(
    sql`UPDATE batch_export_runs SET cancel_requested_at = now() WHERE id = ${cancelled.id}`,
  );
  const before = harness.deps.db.statementCount();
  const each = (work: (run: ClaimedRun) => Promise<unknown>) => Promise.allSettled(runs.map(work));
  const isLost = (results: PromiseSettledResult<unknown>[]) =>
    results.map((result, index) => {
      if (result.status === 'fulfilled') return false;
      assert.ok(result.reason instanceof LostRunError, String(index));
      return true;
    });
  const only_lost = runs.map((run) => run === lost);
  assert.deepEqual(isLost(await each((run) => storeSlices(engine, run, [slice]))), only_lost);
  assert.deepEqual(isLost(await each((run) => storeProgress(engine, run, [outcome]))), only_lost);
  const marked = await each((run) => beginCommit(engine, run, `receipt of ${run.id}`));
  assert.deepEqual(isLost(marked), only_lost);
  assert.deepEqual(
    marked.map((result) => result.status === 'fulfilled' && result.value),
    runs.map((run) => run !== lost && run !== cancelled),
  );
  runs.splice(runs.indexOf(cancelled), 1);
  assert.deepEqual(
    isLost(await each((run) => endRun(engine, run, { status: 'Completed' }))),
    runs.map((run) => run === lost),
  );
  assert.ok(harness.deps.db.statementCount() - before < 80, 'together they need few statements');
  for (const run of runs.filter((one) => one !== lost)) {
    const progress = {
      records_total_count: 3,
      records_completed: 3,
      bytes_completed: 30,
      cursor: '1',
      slices_safe_max: 1,
    };
    assert.deepEqual(await rowOf(run), {
      status: 'Completed',
      ...progress,
      receipt: `receipt of ${run.id}`,
      destination_type: null,
      is_finished: true,
    });
    assert.deepEqual(await logOf(run), ['Run completed.']);
    const slices = await harness.deps.db.rows<Row>(
      sql`SELECT number, records, outcome FROM batch_export_slices WHERE run_id = ${run.id}`,
    );
    assert.deepEqual(slices, [{ number: 0, records: 3, outcome }]);
    const until =
      run.batch_export_id === first.batch_export_id
        ? '2026-01-01T02:00:00.000000Z'
        : '2026-01-01T01:00:00.000000Z';
    assert.deepEqual(await ledgerOf(run), [
      [
        {
          event_from: null,
          event_to: null,
          inserted_from: Date.parse('2026-01-01T00:00:00Z'),
          inserted_to: Date.parse(until),
        },
      ],
    ]);
    const health = await harness.deps.db.row<Row>(
      sql`SELECT delivered_until FROM batch_export_health
        WHERE batch_export_id = ${run.batch_export_id}`,
    );
    assert.deepEqual(health, { delivered_until: until });
  }
  assert.deepEqual(
    [(await rowOf(lost))!.status, (await rowOf(cancelled))!.receipt, await ledgerOf(lost)],
    ['Running', null, []],
  );
});

const ledgerOf = async (run: ClaimedRun) =>
  (
    await harness.deps.db.rows<Row>(
      sql`SELECT delivered FROM batch_export_ledgers
        WHERE batch_export_id = ${run.batch_export_id}`,
    )
  ).map(({ delivered }) => delivered);

test('a worker that lost its run changes nothing of it', async () => {
  const steps: ((run: ClaimedRun) => Promise<unknown>)[] = [
    (run) => retryLater(engine, run, { code: 'timed_out', message: 'No answer came.' }),
    (run) => resetProgress(engine, run, []),
    (run) => takeCommitBack(engine, run),
    (run) => giveDeliveryBack(engine, run),
  ];
  for (const step of steps) {
    const run = await newTaken();
    await harness.deps.db.run(
      sql`UPDATE batch_export_runs SET attempt = attempt + 1, records_completed = 7,
        committing_at = now() WHERE id = ${run.id}`,
    );
    const whole = () =>
      harness.deps.db.row<Row>(sql`SELECT * FROM batch_export_runs WHERE id = ${run.id}`);
    const before = await whole();
    await assert.rejects(step(run), LostRunError);
    assert.deepEqual(await whole(), before);
    assert.deepEqual(await logOf(run), []);
  }
});

test('the notices of an end are sent, even if other runs end with it', async () => {
  const [usual, failing] = [await newTaken(), await newTaken()];
  await endedRun(harness, failing.batch_export_id, failed, { hour: 5 });
  const later = await newTaken(failing.batch_export_id, 6);
  await harness.deps.db.run(
    sql`UPDATE batch_export_runs SET records_completed = 3 WHERE id = ${later.id}`,
  );
  await Promise.all(
    [usual, await newTaken(), later, await newTaken()].map((run) =>
      endRun(engine, run, { status: 'Completed' }),
    ),
  );
  assert.deepEqual(await toldOf(harness, failing.batch_export_id), [
    'failing',
    'recovered from failing',
  ]);
  assert.deepEqual(
    [(await rowOf(later))!.status, (await rowOf(usual))!.status],
    ['Completed', 'Completed'],
  );
});

test('an export that somebody is changing keeps only its own run waiting', async () => {
  const [held, free] = [await newTaken(), await newTaken()];
  const line = (run: ClaimedRun) =>
    noteInRunLog(harness.deps.db, {
      batch_export_id: run.batch_export_id,
      run_id: run.id,
      level: 'INFO',
      message: 'A line.',
    });
  let waits: Promise<unknown>[] = [];
  let over = 0;
  await harness.deps.db.transaction(async (tx) => {
    await tx.row(sql`SELECT 1 FROM batch_exports WHERE id = ${held.batch_export_id} FOR UPDATE`);
    waits = [line(held), endRun(engine, held, { status: 'Completed' })].map((work) =>
      work.then(() => (over += 1)),
    );
    await Promise.all([line(free), endRun(engine, free, { status: 'Completed' })]);
    assert.equal(over, 0);
  });
  await Promise.all(waits);
  for (const run of [held, free])
    assert.deepEqual(
      [(await rowOf(run))!.status, (await logOf(run)).toSorted()],
      ['Completed', ['A line.', 'Run completed.']],
    );
});

test('a step waits for who is changing its run, and goes by what it has become', async () => {
  const [touched, cancelled, taken] = [await newTaken(), await newTaken(), await newTaken()];
  const [committing, lost] = [await newTaken(), await newTaken()];
  let waits: Promise<unknown>[] = [];
  await harness.deps.db.transaction(async (tx) => {
    await tx.run(
      sql`UPDATE batch_export_runs SET last_updated_at = now() WHERE id = ${touched.id}`,
    );
    await tx.run(
      sql`UPDATE batch_export_runs SET cancel_requested_at = now() WHERE id = ${cancelled.id}`,
    );
    await tx.run(sql`UPDATE batch_export_runs SET attempt = attempt + 1 WHERE id = ${taken.id}`);
    await tx.run(
      sql`UPDATE batch_export_runs SET committing_at = now(), records_completed = 7
        WHERE id = ${committing.id}`,
    );
    await tx.run(sql`UPDATE batch_export_runs SET attempt = attempt + 1 WHERE id = ${lost.id}`);
    waits = [
      storeSlices(engine, touched, [slice]),
      beginCommit(engine, cancelled, '{}'),
      assert.rejects(storeSlices(engine, taken, [slice]), LostRunError),
      endRun(engine, committing, failed),
      assert.rejects(endRun(engine, lost, { status: 'Completed' }), LostRunError),
    ];
    // All of them are in line behind this transaction.
    await until('five that wait', 60_000, 20, async () => {
      const row = await harness.deps.db.row<{ waiting: number }>(
        sql`SELECT count(*)::int AS waiting FROM pg_stat_activity WHERE datname = current_database()
          AND wait_event_type = 'Lock'`,
      );
      return row?.waiting === 5 ? true : undefined;
    });
  });
  assert.deepEqual(await Promise.all(waits), [undefined, false, undefined, undefined, undefined]);
  assert.deepEqual(
    [
      (await rowOf(touched))!.records_total_count,
      (await rowOf(cancelled))!.receipt,
      (await rowOf(taken))!.records_total_count,
    ],
    [3, null, null],
  );
  assert.deepEqual(
    await Promise.all(
      [committing, lost].map(async (run) => {
        const { status, records_completed } = (await rowOf(run))!;
        return [status, records_completed];
      }),
    ),
    [
      ['Failed', 7],
      ['Running', null],
    ],
  );
});
