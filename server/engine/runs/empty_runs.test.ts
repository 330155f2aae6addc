import assert from 'node:assert/strict';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import sql from 'sql-template-tag';
import { insertRunRow, newExport } from '../../../test/factories/batch_exports.ts';
import { endedRun, failed, toldOf } from '../../../test/factories/ended_runs.ts';
import { fillEvents } from '../../../test/factories/fill_events.ts';
import { openHarness } from '../../../test/harness.ts';
import type { Harness, TestOrganization } from '../../../test/harness.ts';
import { claimRun } from '../workers/claims.ts';
import { destinations } from '../destinations/index.ts';
import type { Engine } from '../engine.ts';
import { executeRun } from '../delivery/execute.ts';
import { insertRuns } from '../planning/plan.ts';
import { completeQuietRuns } from './empty_runs.ts';
import { readReceipt } from './receipt.ts';

const first_hour = Date.parse('2026-01-01T00:00:00Z');
const hour_ms = 3_600_000;
let house: Harness;
let engine: Engine;
/** Has one event in each of the first two hours. */
let busy: TestOrganization;

before(async () => {
  house = await openHarness();
  engine = house.deps.engine;
  busy = await house.newOrganization();
  for (const from of [first_hour, first_hour + hour_ms])
    await fillEvents(house.deps.clickhouse, {
      team_id: busy.project.id,
      events: 1,
      from,
      to: from + hour_ms,
    });
});
after(() => house.close());

type Run = Record<string, unknown> & {
  status: string;
  receipt: string;
  needs_worker: boolean;
  is_small: boolean;
};
const runOf = async (id: string): Promise<Run> =>
  (await house.deps.db.row<Run>(sql`SELECT * FROM batch_export_runs WHERE id = ${id}`))!;
const exportOf = async (home: TestOrganization, body: Record<string, unknown> = {}) =>
  ((await newExport(house, home, body)) as { id: string }).id;
const statusOf = async (id: string) =>
  (({ status, needs_worker }) => [status, needs_worker])(await runOf(id));
/** Looks until there is nothing left to look at; gives how many runs were looked at. */
async function lookAtAll(): Promise<number> {
  let count = 0;
  for (let more = await completeQuietRuns(engine); more > 0; more = await completeQuietRuns(engine))
    count += more;
  return count;
}
const healthOf = (id: string) =>
  house.deps.db.row(
    sql`SELECT consecutive_failures, is_failing, is_late, is_volume_unusual, delivered_until
      FROM batch_export_health WHERE batch_export_id = ${id}`,
  );
const ledgerOf = (id: string) =>
  house.deps.db.row(
    sql`SELECT revision, delivered FROM batch_export_ledgers WHERE batch_export_id = ${id}`,
  );

test('a run without rows ends as a worker would end it', async () => {
  const home = await house.newOrganization();
  const config = { type: 'File', config: { prefix: 'quiet', include_events: ['signed in'] } };
  const [quiet, worked] = [
    await exportOf(home, { destination: config }),
    await exportOf(home, { destination: config }),
  ];
  const [quietRun, workedRun] = [
    await insertRunRow(house, quiet),
    await insertRunRow(house, worked),
  ];
  await executeRun(
    engine,
    (await claimRun(house.deps.db, workedRun, randomUUID()))!,
    new AbortController().signal,
  );
  assert.equal(await lookAtAll(), 1);
  const [ended, expected] = [await runOf(quietRun), await runOf(workedRun)];
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
    ...readReceipt(text, house.deps.secrets.public_key)!,
    created_at: '',
  }));
  assert.deepEqual(signed[0], {
    ...signed[1],
    run_id: quietRun,
    delivery_id: quietRun,
    batch_export_id: quiet,
  });
  assert.deepEqual(await ledgerOf(quiet), await ledgerOf(worked));
  assert.deepEqual(await healthOf(quiet), await healthOf(worked));
  const lines = await house.deps.db.rows<{ message: string }>(
    sql`SELECT message FROM batch_export_logs WHERE run_id = ${quietRun}`,
  );
  assert.deepEqual(lines, [
    { message: 'Run completed: there are no rows, so there was nothing to deliver.' },
  ]);
});

test('many are completed together, and the runs of one export in turn', async () => {
  const home = await house.newOrganization();
  const ids: string[] = [];
  for (let count = 0; count < 20; count += 1) ids.push(await exportOf(home));
  const runs: string[] = [];
  for (const id of ids)
    for (const hour of [2, 0, 1]) runs.push(await insertRunRow(house, id, { hour }));
  const before = house.deps.db.statementCount();
  assert.equal(await lookAtAll(), 60);
  assert.ok(
    house.deps.db.statementCount() - before < 180,
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

test('where there are rows the run is for a worker, and is not looked at again', async () => {
  const id = await exportOf(busy);
  // Filters are not looked into: the worker counts.
  const filtered = await exportOf(busy, {
    destination: { type: 'NoOp', config: { include_events: ['nobody did this'] } },
  });
  const [withRows, without, other] = [
    await insertRunRow(house, id, { hour: 0 }),
    await insertRunRow(house, id, { hour: 2 }),
    await insertRunRow(house, filtered, { hour: 1 }),
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
  const home = await house.newOrganization();
  const id = await exportOf(home, { model: 'persons' });
  await house.deps.clickhouse.insert({
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
    await insertRunRow(house, id, { hour: 0 }),
    await insertRunRow(house, id, { hour: 1 }),
  ];
  assert.equal(await lookAtAll(), 2);
  assert.deepEqual(await Promise.all([withPerson, without].map(statusOf)), [
    ['Starting', true],
    ['Completed', false],
  ]);
});

test('runs of few rows are marked as small, by what their project has in the interval', async () => {
  const home = await house.newOrganization();
  for (const [hour, count] of [1000, 1001].entries()) {
    const from = first_hour + hour * hour_ms;
    await fillEvents(house.deps.clickhouse, {
      team_id: home.project.id,
      events: count,
      from,
      to: from + hour_ms,
    });
  }
  const id = await exportOf(home);
  const runs = [
    await insertRunRow(house, id, { hour: 0 }),
    await insertRunRow(house, id, { hour: 1 }),
  ];
  assert.equal(await lookAtAll(), 2);
  assert.deepEqual(await Promise.all(runs.map(async (run) => (await runOf(run)).is_small)), [
    true,
    false,
  ]);
});

test('queries, and what makes up for a backfill, are for workers', async () => {
  const home = await house.newOrganization();
  const query = await exportOf(home, { custom_query: 'SELECT count() AS events FROM events' });
  const made_up = await exportOf(home);
  const runs = [
    await insertRunRow(house, query),
    await insertRunRow(house, made_up, {
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

test('an end that has to be told is left to a worker, who tells it', async () => {
  const home = await house.newOrganization();
  const [failing, usual] = [await exportOf(home), await exportOf(home)];
  await endedRun(house, failing, failed, { hour: 100 });
  for (let day = 0; day < 30; day += 1)
    await insertRunRow(house, usual, { status: 'Completed', hour: day * 24, total: 1000 });
  const runs = [
    await insertRunRow(house, failing, { hour: 101 }),
    await insertRunRow(house, usual, { hour: 30 * 24 }),
  ];
  await lookAtAll();
  // That there is nothing to deliver tells nothing of the destination that failed.
  assert.deepEqual(await Promise.all(runs.map(statusOf)), [
    ['Completed', false],
    ['Starting', true],
  ]);
  await executeRun(
    engine,
    (await claimRun(house.deps.db, runs[1]!, randomUUID()))!,
    new AbortController().signal,
  );
  assert.deepEqual(
    [await toldOf(house, failing), await toldOf(house, usual)],
    [['failing'], ['unusual_volume']],
  );
});

test('what is cancelled, changed, deleted, taken or being changed is left alone', async () => {
  const home = await house.newOrganization();
  const ids: string[] = [];
  const runs: string[] = [];
  for (let count = 0; count < 5; count += 1) {
    ids.push(await exportOf(home));
    runs.push(await insertRunRow(house, ids[count]!));
  }
  const [cancelled, changed, deleted, taken] = ids;
  await house.deps.db.run(
    sql`UPDATE batch_export_runs SET cancel_requested_at = now()
      WHERE batch_export_id = ${cancelled}`,
  );
  await house.deps.db.run(sql`UPDATE batch_exports SET revision = 2 WHERE id = ${changed}`);
  await house.deps.db.run(sql`UPDATE batch_exports SET deleted_at = now() WHERE id = ${deleted}`);
  await house.deps.db.run(
    sql`UPDATE batch_export_runs SET worker_id = gen_random_uuid(), status = 'Running', attempt = 1
      WHERE batch_export_id = ${taken}`,
  );
  await house.deps.db.transaction(async (tx) => {
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

test('processes and workers beside each other end a run once', async () => {
  const home = await house.newOrganization();
  const ids: string[] = [];
  for (let count = 0; count < 20; count += 1) ids.push(await exportOf(home));
  await house.deps.db.transaction((tx) =>
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
  const runs = await house.deps.db.rows<{ id: string }>(
    sql`SELECT id FROM batch_export_runs WHERE batch_export_id = ANY (${ids}::uuid[])`,
  );
  const worker = async () => {
    for (const { id } of runs.toReversed().slice(0, 8)) {
      const run = await claimRun(house.deps.db, id, randomUUID());
      if (run !== undefined) await executeRun(engine, run, new AbortController().signal);
    }
  };
  await Promise.all([
    worker(),
    completeQuietRuns(engine),
    completeQuietRuns(engine),
    worker(),
    completeQuietRuns(engine),
  ]);
  await lookAtAll();
  const ends = await house.deps.db.rows<{ status: string; ends: number }>(sql`
    SELECT run.status, count(*) FILTER (WHERE log.message LIKE 'Run completed%')::int AS ends
    FROM batch_export_runs run LEFT JOIN batch_export_logs log ON log.run_id = run.id
      WHERE run.batch_export_id = ANY (${ids}::uuid[]) GROUP BY run.id`);
  assert.equal(ends.length, 20);
  for (const end of ends) assert.deepEqual(end, { status: 'Completed', ends: 1 });
});

/**
 * Configs of every destination that lead to nothing that answers, so that a run which turns to it
 * fails.
 */
const nowhere = 'no-such-host.invalid';
const key_file = generateKeyPairSync('rsa', { modulusLength: 2048 })
  .privateKey.export({ type: 'pkcs8', format: 'pem' })
  .toString();
const login = { user: 'u', password: 'a-password', host: nowhere, database: 'd' };
const account = {
  client_email: 'exports@example.com',
  private_key: key_file,
  private_key_id: 'key-1234567',
  token_uri: `https://${nowhere}/token`,
};
const unreachable: Record<string, Record<string, unknown>> = {
  AzureBlob: {
    container_name: 'events',
    prefix: 'a',
    account_name: 'account',
    account_key: 'a2V5',
    endpoint_url: `https://${nowhere}/`,
  },
  BigQuery: { project_id: 'a-project', dataset_id: 'd', ...account },
  ClickHouse: { url: `https://${nowhere}:8443`, user: 'u', password: 'a-password', database: 'd' },
  File: { prefix: 'not-a-folder/events' },
  GCS: {
    bucket_name: 'events',
    prefix: 'a',
    service_account_json: JSON.stringify({ type: 'service_account', ...account }),
    endpoint_url: `https://${nowhere}`,
  },
  HTTP: { url: `https://${nowhere}/` },
  MySQL: login,
  NoOp: {},
  Postgres: login,
  Redshift: login,
  S3: {
    bucket_name: 'events',
    prefix: 'a',
    region: 'us-east-1',
    aws_access_key_id: 'key',
    aws_secret_access_key: 'a-secret',
    endpoint_url: `https://${nowhere}`,
  },
  Snowflake: {
    account: 'org-account',
    user: 'u',
    password: 'a-password',
    host: nowhere,
    database: 'D',
    warehouse: 'W',
    schema: 'S',
  },
};

test(
  'an interval without rows turns to no destination, whoever ends its run; with a row each is ' +
    'turned to',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-nowhere-'));
    await writeFile(join(folder, 'not-a-folder'), '');
    const own = { ...engine, export_dir: folder };
    const work = async (run: string) =>
      executeRun(
        own,
        (await claimRun(house.deps.db, run, randomUUID()))!,
        new AbortController().signal,
      );
    assert.deepEqual(
      Object.keys(unreachable).toSorted(),
      destinations.map(({ type }) => type).toSorted(),
    );
    const home = await house.newOrganization();
    const onType = async (type: string): Promise<void> => {
      const destination = { type, config: unreachable[type] };
      const empty = await insertRunRow(house, await exportOf(home, { destination }));
      await work(empty);
      assert.deepEqual(endOf(await runOf(empty)), ['Completed', 0, null], type);
      const full = await insertRunRow(house, await exportOf(busy, { destination }));
      await work(full);
      const [, , error_code] = endOf(await runOf(full));
      assert.equal(error_code === null, type === 'NoOp', type);
      await house.deps.db.run(
        sql`UPDATE batch_export_runs SET status = 'Cancelled' WHERE id = ${full}`,
      );
      await insertRunRow(house, await exportOf(home, { destination }));
    };
    await Promise.all(destinations.map(({ type }) => onType(type)));
    assert.equal(await lookAtAll(), destinations.length);
    const quiet = await house.deps.db.rows<Run>(
      sql`SELECT * FROM batch_export_runs WHERE team_id = ${home.project.id}`,
    );
    assert.equal(quiet.length, 2 * destinations.length);
    assert.deepEqual(
      quiet.map(endOf),
      quiet.map(() => ['Completed', 0, null]),
    );
    await rm(folder, { recursive: true });
  },
);

const endOf = ({ status, records_completed, error_code }: Run) => [
  status,
  records_completed,
  error_code,
];
