import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import {
  insertRunRow,
  newExport,
  organizationBase,
  projectBase,
} from '../../../../test/factories/batch_exports/batch_exports.ts';
import { shareHarness } from '../../../../test/harness.ts';
import { addDelivered } from '../../../engine/model/ledger/ledger.ts';
import { fromStored } from '../../../engine/model/ledger/rectangles.ts';
import type { StoredRectangle } from '../../../engine/model/ledger/rectangles.ts';

const harness = shareHarness({ clickhouse: false });

async function withExport() {
  const home = await harness.newOrganization();
  const created = await newExport(home);
  const url = `${projectBase(home)}${created.id}/runs/`;
  return {
    home,
    created,
    url,
    get: (path: string) => home.ask('GET', `${url}${path}`),
    act: (path: string) => home.ask('POST', `${url}${path}`),
  };
}

const selectionOf = async (id: string) =>
  (await harness.deps.db.row<{ selection: StoredRectangle[] }>(
    sql`SELECT selection FROM batch_export_runs WHERE id = ${id}`,
  ))!.selection;

test('the list of runs is a cursor list with orders and filters', async () => {
  const { home, created, get } = await withExport();
  const ids: string[] = [];
  for (const hour of [3, 1, 2, 0]) {
    const status = hour % 2 === 0 ? 'Completed' : 'Failed';
    ids.push(await insertRunRow(harness, created.id, { hour, status }));
  }
  const [three, one, two, zero] = ids;
  const listed = async (query: string) =>
    (await get(query)).body.results.map((run: { id: string }) => run.id);
  assert.deepEqual(await listed(''), [zero, two, one, three]);
  assert.deepEqual(await listed('?ordering=created_at'), [three, one, two, zero]);
  assert.deepEqual(await listed('?ordering=-data_interval_start'), [three, two, one, zero]);
  assert.deepEqual(await listed('?ordering=data_interval_start&status=Completed'), [zero, two]);
  assert.deepEqual(await listed('?status=Completed,Failed'), [zero, two, one, three]);
  assert.deepEqual(await listed('?status=Failed&status=Cancelled'), [one, three]);
  assert.deepEqual(await listed('?status=Failed,Failed,TimedOut&limit=1'), [one]);
  assert.deepEqual(await listed('?status=Failed,Running&ordering=created_at'), [three, one]);
  assert.deepEqual(
    await listed(
      '?ordering=data_interval_start&after=2026-01-01T00:00:00Z&before=2026-01-01T03:00:00.000000Z',
    ),
    [one, two],
  );
  const seen: string[] = [];
  let page = await get('?limit=3&ordering=data_interval_start');
  assert.deepEqual(
    [Object.keys(page.body), page.body.previous],
    [['next', 'previous', 'results', 'retries', 'next_run', 'detail'], null],
  );
  await insertRunRow(harness, created.id, { hour: -1 });
  for (;;) {
    seen.push(...page.body.results.map((run: { id: string }) => run.id));
    if (page.body.next === null) break;
    const next = new URL(page.body.next);
    page = await home.ask('GET', next.pathname + next.search);
  }
  assert.deepEqual(seen, [zero, one, two, three]);
  assert.equal(
    (await home.ask('GET', `${organizationBase(home)}${created.id}/runs/`)).body.results.length,
    5,
  );
  for (const query of [
    'ordering=status',
    'ordering=',
    'cursor=x',
    'limit=0',
    'status=Happy',
    'status=complete',
    'after=x',
    'before=2026-01-01',
    'status=',
  ]) {
    const answer = await get(`?${query}`);
    assert.deepEqual([answer.status, answer.body.attr], [400, query.split('=')[0]], query);
  }
});

test('a run has the fields of the contract, and its counters stay 32-bit', async () => {
  const { created, get } = await withExport();
  const id = await insertRunRow(harness, created.id, { status: 'Completed', total: 5_000_000_000 });
  const { body } = await get(`${id}/`);
  assert.deepEqual(
    [body.records_completed, body.records_total_count, body.batch_export, body.delivery_id],
    [2_147_483_647, 2_147_483_647, created.id, id],
  );
  const fresh = await get(`${await insertRunRow(harness, created.id, { hour: 1 })}/`);
  const {
    id: _id,
    created_at: _created,
    last_updated_at: _updated,
    delivery_id: _delivery,
    ...rest
  } = fresh.body;
  assert.deepEqual(rest, {
    status: 'Starting',
    records_completed: null,
    records_rejected: 0,
    latest_error: null,
    data_interval_start: '2026-01-01T01:00:00.000000Z',
    data_interval_end: '2026-01-01T02:00:00.000000Z',
    cursor: null,
    finished_at: null,
    cancel_requested_at: null,
    records_total_count: null,
    batch_export: created.id,
    backfill: null,
    kind: 'scheduled',
    is_run_now: false,
    bytes_completed: 0,
    error_code: null,
    next_try_at: null,
    oldest_row_seconds: null,
    newest_row_seconds: null,
    repeats: null,
    schema_number: null,
    values_unfit: null,
    steps: [],
  });
  const second = await withExport();
  assert.equal((await second.get(`${id}/`)).status, 404);
  assert.equal((await second.act(`${id}/retry/`)).status, 404);
});

test('cancel asks once, and refuses what is over or being shown', async () => {
  const { home, url, created, act, get } = await withExport();
  const open = await insertRunRow(harness, created.id);
  const list = { key: home.key, body: [] };
  assert.equal((await harness.request('POST', `${url}${open}/cancel/`, list)).status, 400);
  assert.equal((await act(`${open}/cancel/`)).body.status, 'Starting');
  assert.equal((await act(`${open}/cancel/`)).status, 200);
  assert.equal((await get(`${open}/logs/`)).body.count, 1);
  const refused = [
    await insertRunRow(harness, created.id, { hour: 1, status: 'Completed' }),
    await insertRunRow(harness, created.id, { hour: 2, status: 'Cancelled' }),
    await insertRunRow(harness, created.id, { hour: 3, status: 'Running', committing: true }),
  ];
  for (const id of refused)
    assert.deepEqual(
      [(await act(`${id}/cancel/`)).status, (await act(`${id}/cancel/`)).body.code],
      [409, 'conflict'],
    );
});

test('a receipt is there for completed runs only', async () => {
  const { created, get } = await withExport();
  for (const status of ['Starting', 'Failed', 'Completed']) {
    const id = await insertRunRow(harness, created.id, { hour: status.length, status });
    assert.equal((await get(`${id}/receipt/`)).status, 409, status);
  }
});

test('retry refuses runs that are in progress or completed', async () => {
  const { created, act } = await withExport();
  for (const [hour, status] of ['Starting', 'Running', 'Completed', 'ContinuedAsNew'].entries()) {
    const answer = await act(`${await insertRunRow(harness, created.id, { hour, status })}/retry/`);
    assert.deepEqual([answer.status, answer.body.code], [409, 'conflict'], status);
  }
});

test('a retry is a new run of the same delivery, and one at a time', async () => {
  const { created, act } = await withExport();
  for (const [hour, status] of [
    'Failed',
    'FailedRetryable',
    'Cancelled',
    'TimedOut',
    'Terminated',
  ].entries()) {
    const old = await insertRunRow(harness, created.id, { hour, status });
    const { status: code, body } = await act(`${old}/retry/`);
    assert.equal(code, 200);
    assert.notEqual(body.id, old);
    assert.deepEqual(
      [body.status, body.delivery_id, body.data_interval_start],
      ['Starting', old, `2026-01-01T0${hour}:00:00.000000Z`],
    );
    assert.deepEqual(await selectionOf(body.id), await selectionOf(old));
    assert.equal((await act(`${old}/retry/`)).status, 409);
    await harness.deps.db.run(
      sql`UPDATE batch_export_runs SET status = 'Failed', finished_at = now()
        WHERE id = ${body.id}`,
    );
    assert.equal((await act(`${body.id}/retry/`)).body.delivery_id, old);
  }
});

test('two retries at the same time create one run', async () => {
  const { created, act } = await withExport();
  const old = await insertRunRow(harness, created.id, { status: 'Failed' });
  const answers = await Promise.all([
    act(`${old}/retry/`),
    act(`${old}/retry/`),
    act(`${old}/retry/`),
  ]);
  assert.deepEqual(
    answers.map((answer) => answer.status).toSorted((one, other) => one - other),
    [200, 409, 409],
  );
});

test('a retry delivers only undelivered rows, under its own name', async () => {
  const { created, act } = await withExport();
  const from = Date.parse('2026-01-01T00:00:00.000000Z');
  const deliver = (minutes: [number, number]) =>
    harness.deps.db.transaction((tx) =>
      addDelivered(tx, [
        {
          batch_export_id: created.id,
          revision: 1,
          selection: fromStored([
            {
              event_from: null,
              event_to: null,
              inserted_from: from + minutes[0] * 60_000,
              inserted_to: from + minutes[1] * 60_000,
            },
          ]),
        },
      ]),
    );
  const old = await insertRunRow(harness, created.id, { status: 'Failed' });
  await deliver([0, 30]);
  const { body } = await act(`${old}/retry/`);
  assert.notEqual(body.delivery_id, old);
  assert.deepEqual(await selectionOf(body.id), [
    {
      event_from: null,
      event_to: null,
      inserted_from: from + 30 * 60_000,
      inserted_to: from + 60 * 60_000,
    },
  ]);
  const whole = await insertRunRow(harness, created.id, {
    hour: 0,
    status: 'Failed',
    delivery_id: body.id,
  });
  await deliver([30, 60]);
  assert.equal((await act(`${whole}/retry/`)).status, 409);
});

test('a retry of a run that failed in its commit keeps its slices and its place', async () => {
  const { home, created, act } = await withExport();
  const old = await insertRunRow(harness, created.id, {
    status: 'FailedRetryable',
    committing: true,
    total: 7,
  });
  await harness.deps.db.run(
    sql`UPDATE batch_export_runs SET receipt = 'text', "cursor" = '1' WHERE id = ${old}`,
  );
  await harness.deps.db.run(
    sql`INSERT INTO batch_export_slices (run_id, number, inserted_from, inserted_to, key_from,
        key_to, records, outcome)
      VALUES (${old}, 0, now(), now(), 'first row', 'next row', 7, '{"number":0}')`,
  );
  const { body } = await act(`${old}/retry/`);
  assert.deepEqual(
    [body.delivery_id, body.records_total_count, body.records_completed, body.cursor],
    [old, 7, 7, '1'],
  );
  const copied = await harness.deps.db.row(
    sql`SELECT r.receipt, r.committing_at IS NOT NULL AS committing, s.records, s.key_from,
        s.key_to FROM batch_export_runs r JOIN batch_export_slices s ON s.run_id = r.id
      WHERE r.id = ${body.id}`,
  );
  const slice = { records: 7, key_from: 'first row', key_to: 'next row' };
  assert.deepEqual(copied, { receipt: 'text', committing: true, ...slice });
  await harness.deps.db.run(
    sql`UPDATE batch_export_runs SET status = 'Failed', finished_at = now()
        WHERE id = ${body.id}`,
  );
  await home.ask('PATCH', `${projectBase(home)}${created.id}/`, {
    destination: { config: { arg: 'elsewhere' } },
  });
  assert.equal((await act(`${old}/retry/`)).status, 409);
  const other = await insertRunRow(harness, created.id, { hour: 5, status: 'Failed' });
  assert.equal((await act(`${other}/retry/`)).status, 200);
});
