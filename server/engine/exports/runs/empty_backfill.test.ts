import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { newExport, projectBase } from '../../../../test/factories/batch_exports/batch_exports.ts';
import { fillEvents } from '../../../../test/factories/events/fill_events.ts';
import { inDepth } from '../../../../test/depth.ts';
import { isoInstant } from '../../../platform/clock.ts';
import { openHarness } from '../../../../test/harness.ts';
import type { TestOrganization } from '../../../../test/harness.ts';
import { advanceBackfills } from './advance_backfills.ts';
import { claimRun } from '../workers/claims.ts';
import type { Engine } from '../engine.ts';
import { executeRun } from '../delivery/execute.ts';
import { endRun } from './end_runs.ts';
import { readReceipt } from './receipt.ts';
import { aroundTests } from '../../../../test/around_tests.ts';

const hour = 3_600_000;
const start = Date.parse('2026-01-01T00:00:00Z');
const iso = (instant: number) => new Date(instant).toISOString();
let engine: Engine;

const harness = aroundTests(
  () => openHarness({ config: { settle_seconds: 0 } }),
  async (opened) => {
    engine = opened.deps.engine;
  },
);

/** A project with five events in each of the given hours of January, or from there in so many. */
async function newProject(hours: number[], length = 1): Promise<TestOrganization> {
  const home = await harness.newOrganization();
  for (const at of hours)
    await fillEvents(harness.deps.clickhouse, {
      team_id: home.project.id,
      events: 5 * length,
      from: start + at * hour,
      to: start + (at + length) * hour,
      inserted_from: start + 1000 * hour + at,
      inserted_to: start + 1000 * hour + at,
    });
  return home;
}

type Started = { id: string; detail: string; plan: { runs_with_records: number } | null };

async function begin(home: TestOrganization, id: string, hours: number, body = {}) {
  const answer = await harness.request('POST', `${projectBase(home)}${id}/backfill/`, {
    key: home.key,
    body: { start_at: iso(start), end_at: iso(start + hours * hour), ...body },
  });
  assert.equal(answer.status, 200, answer.text);
  return answer.body.backfill as Started;
}

const find = async (home: TestOrganization, exportId: string, id: string) =>
  (
    await harness.request('GET', `${projectBase(home)}${exportId}/backfills/${id}/`, {
      key: home.key,
    })
  ).body;

type Row = { id: string; status: string; receipt: string | null; data_interval_start: string };

const runsOf = (backfillId: string) =>
  harness.deps.db.rows<Row>(
    sql`SELECT id, status, receipt, data_interval_start FROM batch_export_runs
      WHERE backfill_id = ${backfillId} ORDER BY data_interval_start`,
  );

async function work(backfillId: string): Promise<number> {
  const open = (await runsOf(backfillId)).filter(({ status }) => status === 'Starting');
  for (const { id } of open) {
    const run = await claimRun(engine.db, id, randomUUID());
    await executeRun(engine, run!, new AbortController().signal);
  }
  return open.length;
}

/** Advances and works until the backfill is over; gives how many runs went through a worker. */
async function finish(home: TestOrganization, exportId: string, id: string): Promise<number> {
  let worked = 0;
  for (let turn = 0; turn < 200; turn += 1) {
    await advanceBackfills(engine);
    if ((await find(home, exportId, id)).finished_at !== null) return worked;
    worked += await work(id);
  }
  throw new Error('The backfill does not end.');
}

const inWords = (count: number) => count.toLocaleString('en');

test('empty runs of a backfill complete together, workers get the others', async () => {
  // More than one step takes: 2,000.
  const intervals = inDepth(2_100, 4_000);
  const late = intervals - 50;
  const home = await newProject([7, late]);
  const created = await newExport(home, { paused: true });
  const started = await begin(home, created.id, intervals);
  assert.equal(started.plan?.runs_with_records, 2);
  assert.match(
    started.detail,
    new RegExp(`^It starts once .+ 10 rows in 2 of its ${inWords(intervals)} runs; `),
  );
  while ((await advanceBackfills(engine)) > 0);
  const runs = await runsOf(started.id);
  assert.equal(runs.length, intervals);
  const open = runs.filter(({ status }) => status === 'Starting');
  assert.deepEqual(
    open.map((run) => (Date.parse(run.data_interval_start) - start) / hour),
    [7, late],
  );
  const receipt = readReceipt(runs[intervals - 1]!.receipt!, engine.secrets.public_key);
  assert.deepEqual(
    [receipt?.run_id, receipt?.records, receipt?.slices, receipt?.data_interval_start],
    [runs[intervals - 1]!.id, 0, [], isoInstant(start + (intervals - 1) * hour)],
  );
  const lines = await engine.db.rows(
    sql`SELECT message FROM batch_export_logs WHERE batch_export_id = ${created.id}
      AND run_id IS NOT NULL`,
  );
  assert.equal(lines.length, 0, 'no line for a run without rows');
  assert.equal(await finish(home, created.id, started.id), 2);
  const ended = await find(home, created.id, started.id);
  assert.equal(
    ended.detail,
    'Backfill ended: Completed. Delivered 10 rows in 2 runs; ' +
      `${inWords(intervals - 2)} runs had no rows to deliver.`,
  );
  assert.deepEqual(ended.progress, {
    total_runs: intervals,
    finished_runs: intervals,
    completed_runs: intervals,
    records_completed: 10,
    records_total_count: 10,
    records_elsewhere: 0,
  });
});

test('a backfill over delivered rows says where they are, and repeats none', async () => {
  const home = await newProject([1, 2, 30]);
  const created = await newExport(home, { paused: true });
  await finish(home, created.id, (await begin(home, created.id, 20)).id);
  const again = await begin(home, created.id, 40);
  assert.match(again.detail, /5 rows in 1 of its 40 runs.+ 10 rows of the range were left out/);
  assert.equal(await finish(home, created.id, again.id), 1);
  const ended = await find(home, created.id, again.id);
  assert.equal(ended.progress.records_elsewhere, 10);
  assert.match(ended.detail, /^Backfill ended: Completed\. Delivered 5 rows in 1 run; .+ 10 rows/);
  const all = await begin(home, created.id, 40, { mode: 'all' });
  assert.equal(await finish(home, created.id, all.id), 3);
  assert.equal((await find(home, created.id, all.id)).progress.records_completed, 15);
});

/** The engine of a process to which something happens between its look and the plan after it. */
function lookThen(backfillId: string, happens: () => Promise<unknown>): Engine {
  let isOver = false;
  const transaction: Engine['db']['transaction'] = async (work) => {
    const backfill = await engine.db.row<{ status: string }>(
      sql`SELECT status FROM batch_export_backfills WHERE id = ${backfillId}`,
    );
    if (backfill?.status === 'Running' && !isOver) {
      isOver = true;
      await happens();
    }
    return engine.db.transaction(work);
  };
  return { ...engine, db: { ...engine.db, transaction } };
}

test('rows that a run gave back since the look are delivered', async () => {
  const home = await newProject([7]);
  const created = await newExport(home, { paused: true });
  const before = await begin(home, created.id, 12);
  await advanceBackfills(engine);
  const open = (await runsOf(before.id)).find(({ status }) => status === 'Starting')!;
  const { id } = await begin(home, created.id, 12);
  const cancelled = { status: 'Cancelled', code: 'cancelled', message: 'Cancelled.' } as const;
  await advanceBackfills(
    lookThen(id, async () =>
      endRun(engine, (await claimRun(engine.db, open.id, randomUUID()))!, cancelled),
    ),
  );
  await finish(home, created.id, id);
  assert.equal((await find(home, created.id, id)).progress.records_completed, 5);
});

test('intervals that another process planned since the look are not planned again', async () => {
  const home = await newProject([0], 12);
  const created = await newExport(home, { paused: true });
  const { id } = await begin(home, created.id, 12, { mode: 'all' });
  await advanceBackfills(
    lookThen(id, async () => {
      await advanceBackfills(engine);
      assert.equal(await work(id), 8);
    }),
  );
  await finish(home, created.id, id);
  const { progress } = await find(home, created.id, id);
  assert.deepEqual([progress.finished_runs, progress.records_completed], [12, 60]);
});

test('a backfill skips only intervals that cannot give rows of the query', async () => {
  const home = await newProject([1]);
  const rows = await newExport(home, {
    paused: true,
    custom_query: "SELECT uuid, event FROM events WHERE event != 'nothing'",
  });
  assert.equal(await finish(home, rows.id, (await begin(home, rows.id, 3)).id), 1);
  const sums = await newExport(home, {
    paused: true,
    custom_query: 'SELECT count() AS events FROM events',
  });
  const started = await begin(home, sums.id, 3);
  assert.equal(started.plan, null);
  assert.equal(await finish(home, sums.id, started.id), 3, 'a count of nothing is a row');
  assert.equal((await find(home, sums.id, started.id)).progress.records_completed, 3);
});

test('a backfill with rows everywhere keeps few runs open, and a cancel ends it', async () => {
  const home = await newProject([0], 12);
  const created = await newExport(home, { paused: true });
  const { id } = await begin(home, created.id, 500);
  while ((await advanceBackfills(engine)) > 0);
  const runs = await runsOf(id);
  assert.ok(
    runs.length <= 8 && runs.every(({ status }) => status === 'Starting'),
    String(runs.length),
  );
  const answer = await harness.request(
    'POST',
    `${projectBase(home)}${created.id}/backfills/${id}/cancel/`,
    { key: home.key },
  );
  assert.equal(answer.body.detail, 'Cancelled; what had been delivered stays.');
  assert.equal(await advanceBackfills(engine), 0);
  assert.equal((await runsOf(id)).length, runs.length);
});

test('a backfill that failed says how many runs did, and that it went no further', async () => {
  const home = await newProject([0], 10);
  const created = await newExport(home, { paused: true });
  for (const [hours, said] of [
    [2, '2 runs failed.'],
    [10, '8 runs failed, so the rest was not started.'],
  ] as const) {
    const { id } = await begin(home, created.id, hours);
    await advanceBackfills(engine);
    for (const run of await runsOf(id))
      await endRun(engine, (await claimRun(engine.db, run.id, randomUUID()))!, {
        status: 'Failed',
        code: 'ended',
        message: 'The run ended.',
      });
    await advanceBackfills(engine);
    assert.equal(
      (await find(home, created.id, id)).detail,
      `Backfill ended: Failed. Delivered 0 rows in 0 runs. ${said}`,
    );
  }
});
