import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../test/around_tests.ts';
import {
  insertRunRow,
  newExport,
  projectBase,
} from '../../../../test/factories/batch_exports/batch_exports.ts';
import {
  completed,
  endedRun,
  failed,
} from '../../../../test/factories/batch_exports/ended_runs.ts';
import { openHarness } from '../../../../test/harness.ts';
import type { TestOrganization } from '../../../../test/harness.ts';
import { judgeFreshness } from '../../../engine/exports/health/freshness.ts';
import { stateOf } from '../../../engine/exports/health/state.ts';
import { endRun } from '../../../engine/exports/runs/end_runs.ts';
import { retryLater } from '../../../engine/exports/runs/progress.ts';
import { claimRun } from '../../../engine/exports/workers/claims.ts';
import type { ExportOverview } from './schema.ts';

const hour_ms = 3_600_000;
const start = Date.parse('2026-01-01T00:00:00Z');
const at = (hours: number) => new Date(start + hours * hour_ms).toISOString();
let now = start;
const harness = aroundTests(() =>
  openHarness({ clickhouse: false, deps: { clock: { now: () => now } } }),
);
const down = { code: 'unreachable', message: 'The server does not answer.' };

/** An export whose schedule is planned up to an hour, with what the overview says of it. */
async function withExport(hours = 0) {
  const home = await harness.newOrganization();
  const { id } = await newExport(home);
  await planned(id, hours);
  const told = async (query = '') => (await overview(home, query)).results[0] as ExportOverview;
  const change = async (body: object) => {
    const { status, text } = await home.ask('PATCH', `${projectBase(home)}${id}/`, body);
    assert.equal(status, 200, text);
  };
  return { home, id, told, change };
}

/** Moves the schedule of an export to an hour, and the clock to where that one is planned. */
async function planned(id: string, hours: number): Promise<void> {
  now = start + hours * hour_ms + 20_000;
  await harness.deps.db.run(sql`UPDATE batch_exports SET created_at = ${at(0)},
    schedule_changed_at = ${at(0)}, planned_until = ${at(hours)}, next_run_at = ${at(hours + 1)}
    WHERE id = ${id}`);
}

async function overview(home: TestOrganization, query = '') {
  const { status, text, body } = await home.ask(
    'GET',
    `/api/projects/${home.project.id}/overview/${query}`,
  );
  assert.equal(status, 200, text);
  return body;
}

/** A run of an hour in which a worker fails, and which waits for its next attempt. */
async function tried(id: string, hour: number): Promise<string> {
  const run_id = await insertRunRow(harness, id, { hour, total: 675 });
  const run = await claimRun(harness.deps.db, run_id, randomUUID());
  await retryLater(harness.deps.engine, run!, down);
  return run_id;
}

/** Lets a worker take a run that waits, and end it. */
async function end(run_id: string, how: Parameters<typeof endRun>[2]): Promise<void> {
  await harness.deps.db.run(sql`UPDATE batch_export_runs SET due_at = now() WHERE id = ${run_id}`);
  const run = await claimRun(harness.deps.db, run_id, randomUUID());
  await endRun(harness.deps.engine, run!, how);
}

test('of several runs that wait, the one that is due first is the next try', async () => {
  const { id, told } = await withExport(6);
  const [earliest, later] = [await tried(id, 1), await tried(id, 2)];
  const isDue = (run_id: string, due_at: string) =>
    harness.deps.db.run(sql`UPDATE batch_export_runs SET due_at = ${due_at} WHERE id = ${run_id}`);
  await isDue(earliest, at(8));
  await isDue(later, at(7));
  const { health, retrying } = await told();
  assert.equal(retrying!.run_id, earliest);
  assert.equal(health.next_try_at, '2026-01-01T07:00:00.000000Z');
});

test('failing since its first failure, with what waits, whatever fails later', async () => {
  const { id, told } = await withExport(6);
  await endedRun(harness, id, completed, { hour: 0 });
  const first = await tried(id, 1);
  const began = (await told()).health.since;
  await end(first, { status: 'FailedRetryable', ...down });
  for (const hour of [2, 3]) await endedRun(harness, id, failed, { hour, rows: 5 });
  const { health } = await told();
  assert.deepEqual(
    [health.code, health.since, health.intervals, health.rows_waiting, health.cause],
    ['failing', began, 3, 685, failed.message],
  );
  assert.equal(
    health.detail,
    `Failing since ${began}: 3 intervals, 685 rows waiting. The bucket may not be written to. ` +
      'Retry them after you remove the cause. The next interval runs at ' +
      '2026-01-01T07:00:00.000000Z.',
  );
  // A run without rows proves nothing; one with rows ends it, and what failed is still missing.
  await endedRun(harness, id, completed, { hour: 4, rows: 0 });
  assert.equal((await told()).health.since, began);
  await endedRun(harness, id, completed, { hour: 5 });
  const partly = (await told()).health;
  assert.deepEqual([partly.code, partly.intervals], ['partly_delivered', 3]);
  await endedRun(harness, id, failed, { hour: 6 });
  assert.notEqual((await told()).health.since, began);
});

test('an export in retry is retrying in its word, filter, counts, order and run', async () => {
  const { home, id, told } = await withExport(3);
  const well = await newExport(home, { name: 'A' });
  await planned(well.id, 3);
  for (const one of [id, well.id]) await endedRun(harness, one, completed, { hour: 1 });
  const run_id = await tried(id, 2);
  const { counts, results } = await overview(home, '?ordering=health');
  assert.deepEqual([counts.retrying, counts.up_to_date], [1, 1]);
  assert.deepEqual(
    results.map((one: ExportOverview) => one.id),
    [id, well.id],
  );
  const found = await overview(home, '?health=retrying');
  assert.deepEqual([found.count, found.results[0].id], [1, id]);
  const { health } = await told('?health=retrying');
  const run = await home.ask('GET', `${projectBase(home)}${id}/runs/${run_id}/`);
  assert.ok(run.body.next_try_at !== null);
  assert.deepEqual(
    [health.attempt, health.next_try_at, health.intervals, health.rows_waiting, health.cause],
    [1, run.body.next_try_at, 1, 675, down.message],
  );
  assert.match(health.detail, /^Retrying since \S+: attempt 1 of 15 failed: The server does not/);
  // While a worker tries again there is no next try, and the state stays.
  await harness.deps.db.run(sql`UPDATE batch_export_runs SET due_at = now() WHERE id = ${run_id}`);
  const taken = await claimRun(harness.deps.db, run_id, randomUUID());
  const trying = (await told('?health=retrying')).health;
  assert.deepEqual([trying.since, trying.next_try_at], [health.since, null]);
  assert.match(trying.detail, /Sluice is trying again now\./);
  await endRun(harness.deps.engine, taken!, completed);
  assert.equal((await overview(home)).counts.retrying, 0);
  const after = await home.ask('GET', `${projectBase(home)}${id}/runs/${run_id}/`);
  assert.equal(after.body.next_try_at, null);
});

test('late and no longer late at once, without waiting for a look', async () => {
  const { id, told } = await withExport(9);
  await endedRun(harness, id, completed, { hour: 1 });
  const { health } = await told();
  assert.deepEqual([health.code, health.since], ['late', '2026-01-01T04:10:00.000000Z']);
  assert.match(health.detail, /^Late since 2026-01-01T04:10:00\S+Z\. The newest delivered inter/);
  await judgeFreshness({ ...harness.deps, settle_seconds: harness.deps.config.settle_seconds });
  await endedRun(harness, id, completed, { hour: 8 });
  assert.equal((await told()).health.code, 'up_to_date');
});

test('a change after a failure says that it was not tried yet', async () => {
  const { id, told, change } = await withExport(3);
  await endedRun(harness, id, failed, { hour: 1 });
  assert.equal((await told()).health.changed_at, null);
  await change({ rejected_rows_max: 500 });
  const { health } = await told();
  assert.equal(health.code, 'failing');
  assert.ok(
    health.detail.includes(
      `The settings were changed at ${health.changed_at} and have not been tried yet.`,
    ),
    health.detail,
  );
  // A run that is open tries it, before the next one of the schedule is due.
  const retry = await insertRunRow(harness, id, { hour: 2 });
  const trying = (await told()).health;
  assert.equal(trying.next_try_at, null);
  assert.match(trying.detail, /have not been tried yet\. Sluice is trying again now\.$/);
  await end(retry, { status: 'Failed', ...down });
  // A name or a pause is nothing that an attempt would show.
  await change({ name: 'Another' });
  assert.equal((await told()).health.changed_at, null);
});

test('never up to date while a changed export lacks what was delivered before', async () => {
  const { home, id, told, change } = await withExport(4);
  await endedRun(harness, id, completed, { hour: 1, rows: 100 });
  const erased = await endedRun(harness, id, completed, { hour: 2, rows: 103 });
  await endedRun(harness, id, completed, { hour: 3, rows: 0 });
  assert.equal((await told()).health.code, 'up_to_date');
  // An erasure wrote a delivery again without three rows, which do not count twice.
  const run_id = await insertRunRow(harness, id, {
    hour: 2,
    delivery_id: erased,
    replaces: true,
    status: 'Completed',
    total: 100,
  });
  await harness.deps.db.run(sql`UPDATE batch_export_runs
    SET replaces = jsonb_build_object('run_id', ${erased}::text) WHERE id = ${run_id}`);
  await change({ model: 'persons' });
  const lacking = (await told('?health=partly_delivered')).health;
  assert.deepEqual(lacking.missing_since_change, {
    since: lacking.since,
    rows: 200,
    from: '2026-01-01T01:00:00.000000Z',
    until: '2026-01-01T04:00:00.000000Z',
  });
  assert.equal(
    lacking.detail,
    `Partly delivered since ${lacking.since}: the 200 rows that the export delivered before ` +
      'it started again have not been delivered since (ingested from ' +
      '2026-01-01T01:00:00.000000Z to 2026-01-01T04:00:00.000000Z). Start a backfill by ' +
      'insertion time (`inserted_at`) to deliver them, unless the destination still has them.',
  );
  // The schedule goes on, which delivers nothing of that; a backfill of a part leaves the rest.
  await endedRun(harness, id, completed, { hour: 4, revision: 2 });
  assert.equal((await told()).health.code, 'partly_delivered');
  const backfill = async (from: number, to: number) => {
    const { body } = await home.ask('POST', `${projectBase(home)}${id}/backfill/`, {
      start_at: at(from),
      end_at: at(to),
    });
    const selection = [
      {
        event_from: null,
        event_to: null,
        inserted_from: Date.parse(at(from)),
        inserted_to: Date.parse(at(to)),
      },
    ];
    const wanted = { revision: 2, backfill_id: body.backfill.id, selection };
    await endedRun(harness, id, completed, wanted);
  };
  await backfill(1, 2);
  const { missing_since_change: rest, detail } = (await told()).health;
  assert.match(detail, / A backfill is in progress\.$/);
  assert.deepEqual([rest?.rows, rest?.from], [null, '2026-01-01T02:00:00.000000Z']);
  await backfill(2, 4);
  assert.deepEqual(
    [(await told()).health.code, (await told()).health.missing_since_change],
    ['up_to_date', null],
  );
});

test('a change of an export that delivered no row lacks nothing', async () => {
  const { id, told, change } = await withExport(3);
  await endedRun(harness, id, completed, { hour: 1, rows: 0 });
  await change({ model: 'persons' });
  assert.equal((await told()).health.code, 'waiting');
  await endedRun(harness, id, completed, { hour: 2, revision: 2 });
  assert.equal((await told()).health.code, 'up_to_date');
});

test('rows set aside, and a failed backfill until it is delivered, are missing', async () => {
  const { home, id, told } = await withExport(3);
  await endedRun(harness, id, completed, { hour: 1 });
  const { body } = await home.ask('POST', `${projectBase(home)}${id}/backfill/`, {
    start_at: at(-5),
    end_at: at(-4),
  });
  const wanted = { hour: -5, backfill_id: body.backfill.id };
  await endedRun(harness, id, failed, wanted);
  const { health } = await told();
  assert.deepEqual([health.code, health.intervals], ['partly_delivered', 0]);
  assert.match(health.detail, /: a backfill or a run on request failed, .* since: The bucket/);
  await endedRun(harness, id, completed, wanted);
  assert.equal((await told()).health.code, 'up_to_date');
  const run_id = await insertRunRow(harness, id, { hour: 2, total: 9 });
  await harness.deps.db.run(sql`UPDATE batch_export_runs SET records_rejected = 2,
    committing_at = now() WHERE id = ${run_id}`);
  await end(run_id, completed);
  const set_aside = (await told()).health;
  assert.equal(set_aside.code, 'partly_delivered');
  assert.match(set_aside.detail, /: the destination refused 2 rows of the newest run\. They are/);
});

test('a state that is running, and the plan of a list with counts', async () => {
  const { home, id, told } = await withExport(3);
  await endedRun(harness, id, completed, { hour: 1 });
  await insertRunRow(harness, id, { hour: 2, status: 'Running' });
  assert.equal((await told('?health=running')).health.intervals, 1);
  assert.equal((await overview(home)).counts.running, 1);
  const { code, joined, joined_to_many } = stateOf(harness.deps.engine);
  for (const join of [joined, joined_to_many]) {
    const counted = sql`EXPLAIN SELECT ${code} FROM batch_exports e ${join}`;
    const plan = await harness.deps.db.transaction(async (tx) => {
      // The few runs of this test are sooner read in a row.
      await tx.text('SET LOCAL enable_seqscan = off');
      const { rows } = await tx.text(counted.text, counted.values);
      return rows.map((row) => row['QUERY PLAN']).join('\n');
    });
    assert.match(plan, /batch_export_runs_taken/, plan);
  }
});
