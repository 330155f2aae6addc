import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { insertRunRow, newExport } from '../../../../test/factories/batch_exports/batch_exports.ts';
import { fillEvents } from '../../../../test/factories/events/fill_events.ts';
import { openHarness } from '../../../../test/harness.ts';
import type { TestOrganization } from '../../../../test/harness.ts';
import { executeRun } from '../delivery/execute.ts';
import { choresOf } from '../../../api/chores.ts';
import type { Engine } from '../engine.ts';
import { claimRun } from '../workers/claims.ts';
import { probe } from './count_windows.ts';
import type { Look } from './count_windows.ts';
import { planDueExports } from './plan_due_exports.ts';
import { readReceipt } from './receipt.ts';
import { aroundTests } from '../../../../test/around_tests.ts';

const hour_ms = 3_600_000;
const from = Date.parse('2026-01-01T00:00:00Z');
let engine: Engine;

const harness = aroundTests(openHarness, async (opened) => {
  engine = { ...opened.deps.engine, settle_seconds: 0 };
});

type Run = Record<string, unknown> & { id: string; status: string; receipt: string };

const runsOf = (id: string) =>
  harness.deps.db.rows<Run>(sql`
    SELECT *, extract(epoch FROM due_at - created_at)::float AS due_after FROM batch_export_runs
    WHERE batch_export_id = ${id} ORDER BY data_interval_start`);

/** An export whose first hour of 2026 is due, and nothing after it. */
async function newDue(home: TestOrganization, body: Record<string, unknown> = {}): Promise<string> {
  const { id } = (await newExport(home, body)) as { id: string };
  const due = new Date(from + hour_ms).toISOString();
  await harness.deps.db.run(sql`
    UPDATE batch_exports SET planned_until = ${new Date(from).toISOString()}, next_run_at = ${due},
      end_at = ${due} WHERE id = ${id}`);
  return id;
}

async function newBusyProject(events: number): Promise<TestOrganization> {
  const home = await harness.newOrganization();
  await fillEvents(harness.deps.clickhouse, {
    team_id: home.project.id,
    events,
    from,
    to: from + hour_ms,
  });
  return home;
}

/** Does something between the look and the plan. */
const lookThen = (work: () => Promise<unknown>): Look => {
  return async (runs) => {
    const parted = await probe(harness.deps.clickhouse, runs);
    await work();
    return parted;
  };
};

test('due exports of many projects are planned together, each run by its own rows', async () => {
  const [empty, few, many] = [
    await harness.newOrganization(),
    await newBusyProject(3),
    await newBusyProject(1_001),
  ];
  const filtered = { destination: { type: 'NoOp', config: { include_events: ['nobody'] } } };
  const ids = [
    await newDue(empty),
    await newDue(few),
    await newDue(few, filtered),
    await newDue(many),
  ];
  let transactions = 0;
  const transaction: Engine['db']['transaction'] = (work) => {
    transactions += 1;
    return engine.db.transaction(work);
  };
  assert.equal(await planDueExports({ ...engine, db: { ...engine.db, transaction } }), 4);
  assert.equal(transactions, 3, 'what is final, what workers wait for, and what has no rows');
  const runs = (await Promise.all(ids.map(runsOf))).map(([run]) => run!);
  assert.deepEqual(
    runs.map((run) => [run.status, run['needs_worker'], run['is_small'], run['due_after']]),
    [
      ['Completed', false, false, 0],
      ['Starting', true, true, 0],
      ['Starting', true, true, 0],
      ['Starting', true, false, 0],
    ],
  );
  assert.equal(await planDueExports(engine), 0);
});

test('an API process says how late exports are planned where no worker is', async () => {
  const home = await harness.newOrganization();
  await newDue(home);
  const look = choresOf({ ...harness.deps, engine }).find(({ name }) =>
    /late planning/.test(name),
  )!;
  const lag = async () => (await engine.metrics.planner_lag_seconds.get()).values[0]!.value;
  await look.work(new AbortController().signal);
  assert.ok((await lag()) > 86_400);
  await planDueExports(engine);
  await look.work(new AbortController().signal);
  assert.equal(await lag(), 0);
});

test('a run without rows is completed as it is planned, like a worker would end it', async () => {
  const home = await harness.newOrganization();
  const body = { destination: { type: 'File', config: { prefix: 'empty' } } };
  const id = await newDue(home, body);
  const { id: worked } = (await newExport(home, body)) as { id: string };
  const claimed = await claimRun(
    harness.deps.db,
    await insertRunRow(harness, worked, { hour: 0 }),
    randomUUID(),
  );
  await executeRun(engine, claimed!, new AbortController().signal);
  const finished = () =>
    harness.deps.engine.metrics.runs_finished
      .get()
      .then(({ values }) => values.reduce((sum, { value }) => sum + value, 0));
  const before_this = await finished();
  assert.equal(await planDueExports(engine), 1);
  assert.equal(await finished(), before_this + 1);
  const [[ended], [expected]] = [await runsOf(id), await runsOf(worked)];
  const own = new Set(
    'id delivery_id batch_export_id receipt steps attempt worker_id created_at started_at'
      .concat(' committing_at finished_at last_updated_at due_at due_after')
      .split(' '),
  );
  const same = (run: Run) => Object.entries(run).filter(([name]) => !own.has(name));
  assert.deepEqual(same(ended!), same(expected!));
  const [receipt, like] = [ended!, expected!].map((run) => {
    const read = readReceipt(run.receipt, harness.deps.secrets.public_key)!;
    return { ...read, run_id: '', delivery_id: '', batch_export_id: '', created_at: '' };
  });
  assert.deepEqual(receipt, like);
  for (const table of ['batch_export_ledgers', 'batch_export_health']) {
    const rowOf = async (of: string) => {
      const text = `SELECT * FROM ${table} WHERE batch_export_id = $1`;
      const {
        batch_export_id: _id,
        updated_at: _at,
        ...row
      } = (await engine.db.text(text, [of])).rows[0]!;
      return row;
    };
    assert.deepEqual(await rowOf(id), await rowOf(worked), table);
  }
  const lines = await harness.deps.db.rows<{ message: string }>(
    sql`SELECT message FROM batch_export_logs WHERE run_id = ${ended!.id}`,
  );
  assert.deepEqual(lines, [
    { message: 'Run completed: there are no rows, so there was nothing to deliver.' },
  ]);
});

test('a row that arrives while the source is asked belongs to a later interval', async () => {
  const home = await harness.newOrganization();
  const { id } = (await newExport(home)) as { id: string };
  // The end of the interval is now, so nothing but the promise to ingestion keeps it final.
  await harness.deps.db.run(sql`
    UPDATE batch_exports SET planned_until = clock_timestamp() - interval '1 hour',
      next_run_at = date_trunc('milliseconds', clock_timestamp()) WHERE id = ${id}`);
  const send = async () => {
    const answer = await harness.request('POST', `/api/projects/${home.project.id}/events/`, {
      key: home.key,
      body: { event: 'late', distinct_id: 'ada' },
    });
    assert.equal(answer.status, 200, answer.text);
  };
  assert.equal(await planDueExports(engine, { look: lookThen(send) }), 1);
  const [run] = await runsOf(id);
  assert.equal(run!.status, 'Completed');
  const [event] = await harness.deps.clickhouse.rows<{ at: string }>({
    query: `SELECT toUnixTimestamp64Milli(inserted_at) AS at FROM events
      WHERE team_id = ${home.project.id}`,
  });
  assert.ok(Number(event!.at) >= Date.parse(String(run!['data_interval_end'])));
});

test('a look at an export that has changed since does not count', async () => {
  const home = await harness.newOrganization();
  const ids: string[] = [];
  for (let count = 0; count < 4; count += 1) ids.push(await newDue(home));
  const change = async () => {
    await harness.deps.db.run(sql`
      UPDATE batch_exports SET planned_until = planned_until - interval '1 hour'
        WHERE id = ${ids[0]}`);
    await harness.deps.db.run(sql`UPDATE batch_exports SET model = 'persons' WHERE id = ${ids[1]}`);
    await harness.deps.db.run(sql`UPDATE batch_exports SET paused = true WHERE id = ${ids[2]}`);
    await harness.deps.db.run(
      sql`UPDATE batch_exports SET custom_query = 'SELECT 1' WHERE id = ${ids[3]}`,
    );
  };
  assert.equal(await planDueExports(engine, { look: lookThen(change) }), 3);
  const runs = await Promise.all(ids.map(runsOf));
  assert.deepEqual(
    runs.map(([run]) => run && [run.status, run['needs_worker'], run['due_after']]),
    [['Starting', false, 5], ['Starting', false, 5], undefined, ['Starting', false, 5]],
  );
});

test('an export that waits for reconciliation is planned and held, even without rows', async () => {
  const id = await newDue(await harness.newOrganization());
  await harness.deps.db.run(
    sql`INSERT INTO reconciliations (batch_export_id, taken_at, goes_on)
      VALUES (${id}, now(), true)`,
  );
  assert.equal(await planDueExports(engine), 1);
  const [run] = await runsOf(id);
  assert.deepEqual([run!.status, run!['needs_worker']], ['Starting', true]);
  assert.ok(Number(run!['due_after']) > 31_536_000);
});

test('the promise of another primary does not count', async () => {
  const id = await newDue(await harness.newOrganization());
  const { rows } = await harness.deps.db.text(
    "SELECT pg_get_functiondef('control_epoch'::regproc) AS text",
  );
  const promote = () =>
    harness.deps.db.text(
      'CREATE OR REPLACE FUNCTION control_epoch() RETURNS integer LANGUAGE sql STABLE AS ' +
        "'SELECT 9'",
    );
  try {
    assert.equal(await planDueExports(engine, { look: lookThen(promote) }), 0);
    assert.deepEqual(await runsOf(id), []);
  } finally {
    await harness.deps.db.text(String(rows[0]!['text']));
  }
  assert.equal(await planDueExports(engine), 1);
});
