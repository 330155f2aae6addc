import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parquetMetadata } from 'hyparquet';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../test/around_tests.ts';
import { openBigQueryServer } from '../../../../test/servers/bigquery/server.ts';
import { assertChanged } from '../../../../test/factories/batch_exports/deliveries.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import { openS3Server } from '../../../../test/servers/object_stores/s3_server.ts';
import { bigquery } from '../../../engine/destinations/bigquery/bigquery.ts';
import { slice_encoding } from '../../../engine/destinations/bigquery/stage.ts';
import { destinationDeps } from '../../../engine/exports/engine.ts';
import { selectFor } from '../../../engine/destinations/formats/select.ts';
import { models } from '../../../engine/model/models/index.ts';
import { openBucket } from '../../../engine/destinations/object_store/s3_bucket.ts';
import { columnsOf } from '../../../engine/exports/source/source_query.ts';
import { sampleRow } from '../../../engine/destinations/sql_tables/trial/sample_row.ts';
import { statuses } from '../../../../test/factories/batch_exports/query_deliveries.ts';
import { openProxiedPostgres } from '../../../../test/factories/batch_exports/proxied_postgres.ts';

const bucket_name = 'test-bucket';
const exporting = aroundTests(openQueryHarness);
const server = aroundTests(() => openS3Server([bucket_name]));
const postgres = aroundTests(openProxiedPostgres);

function s3Config(prefix: string, more: object = {}) {
  const keys = { aws_access_key_id: server.access_key, aws_secret_access_key: server.secret_key };
  return {
    bucket_name,
    region: 'us-east-1',
    prefix,
    endpoint_url: server.endpoint,
    ...keys,
    ...more,
  };
}

async function objectsIn(prefix: string): Promise<Buffer[]> {
  const bucket = openBucket(
    s3Config(prefix),
    exporting.harness.deps.outbound,
    new AbortController().signal,
  );
  const keys: string[] = [];
  for await (const key of bucket.list(`${prefix}/`, { direct: false }))
    if (key.endsWith('.jsonl')) keys.push(key);
  return Promise.all(
    keys.toSorted().map(async (key) => Buffer.concat(await (await bucket.read(key))!.toArray())),
  );
}

/** 2.4 MB: three objects. */
const six_hundred = Array.from({ length: 600 }, (_, n) => ({
  event: `e${n}`,
  at: `2026-01-01T00:10:00.${String(n).padStart(6, '0')}Z`,
  properties: { padding: 'x'.repeat(4_000) },
}));

test('S3: another attempt or a retry writes the same bytes as one attempt', async () => {
  const home = await exporting.harness.newOrganization();
  await exporting.insert(home, six_hundred);
  const custom_query = 'SELECT event, properties, now() AS made_at FROM events';
  const create = (prefix: string) =>
    exporting.scheduled(
      home,
      {
        destination: { type: 'S3', config: s3Config(prefix, { max_file_size_mb: 1 }) },
        custom_query,
      },
      1,
    );
  await exporting.runAll((await create('whole')).id);
  const wanted = await objectsIn('whole');
  assert.ok(wanted.length >= 3);
  assert.match(String(wanted[0]!.subarray(0, 5_000)), /"made_at":"2026-01-01T01:00:00.000000Z"/);

  const later = await create('later');
  for (let times = 0; times < 3; times += 1)
    server.failNext(/later.*-0001\.jsonl.*partNumber/, 503, 'SlowDown');
  const [failed] = await exporting.runAll(later.id);
  assert.deepEqual(
    [failed!.status, failed!.error_code, failed!.custom_query],
    ['Running', 'throttled', custom_query],
  );
  const [again] = await exporting.runAll(later.id);
  assert.deepEqual([again!.status, again!.attempt, again!.custom_query], ['Completed', 2, null]);
  assert.deepEqual(await objectsIn('later'), wanted);

  const retried = await create('retried');
  server.failNext(/retried.*-0001\.jsonl/, 403, 'AccessDenied');
  const [doomed] = await exporting.runAll(retried.id);
  assert.deepEqual([doomed!.status, doomed!.error_code], ['Failed', 'permission_denied']);
  assert.equal((await retried.send('POST', `runs/${doomed!.id}/retry/`)).status, 200);
  await exporting.runAll(retried.id);
  assert.deepEqual(await objectsIn('retried'), wanted);
});

/** One more than those whose slice is read by the usual way. */
const large = 10_001;

test('a large slice has the same bytes as one that is read by the usual way', async () => {
  const { clickhouse } = exporting.harness.deps;
  const home = await exporting.harness.newOrganization();
  await clickhouse.command({
    query: `INSERT INTO events (team_id, uuid, event, distinct_id, person_id, properties,
        person_properties, elements_chain, timestamp, created_at, inserted_at)
        SELECT {team_id:Int64}, generateUUIDv4(), 'e', toString(number), generateUUIDv4(),
          concat('{"n":', toString(number), '}'), '{}', '', at, at, at
        FROM (SELECT number, toDateTime64('2026-01-01 00:10:00', 6, 'UTC')
          + toIntervalMicrosecond(number) AS at FROM numbers({count:UInt64}))`,
    query_params: { team_id: home.project.id, count: large },
  });
  const select = selectFor({ format: 'JSONLines', compression: null }, models.events.columns.files);
  const { stream } = await clickhouse.exec({
    query: `SELECT ${select.expressions} FROM events WHERE team_id = ${home.project.id}
      ORDER BY inserted_at, uuid FORMAT ${select.format}`,
    clickhouse_settings: select.settings,
  });
  const wanted = Buffer.concat(await stream.toArray());
  const destinations = {
    File: { prefix: 'large' },
    S3: s3Config('large'),
    Postgres: postgres.config('large'),
  };
  for (const [type, config] of Object.entries(destinations)) {
    const { id } = await exporting.scheduled(home, { destination: { type, config } }, 1);
    assert.deepEqual(statuses(await exporting.runAll(id)), [`Completed ${large}`], type);
  }
  assert.ok(Buffer.concat(await exporting.filesIn('large', '.jsonl')).equals(wanted));
  assert.ok(Buffer.concat(await objectsIn('large')).equals(wanted));
  const events = wanted
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const { rows } = await postgres.pool.query<Record<string, unknown>>(
    'SELECT uuid, distinct_id, properties FROM large',
  );
  const found = new Map(rows.map((row) => [row['uuid'], row]));
  // One by one: the difference of two long lists takes minutes to print.
  for (const { uuid, distinct_id, properties } of events)
    assert.deepEqual(found.get(uuid), { uuid, distinct_id, properties });
  assert.equal(rows.length, events.length);
});

test('S3: a run whose commit is in doubt keeps its query, whatever the export is', async () => {
  const home = await exporting.harness.newOrganization();
  await exporting.insert(home, six_hundred.slice(0, 2));
  const kept = {
    destination: { type: 'S3', config: s3Config('kept') },
    custom_query: 'SELECT event AS old FROM events',
  };
  const created = await exporting.scheduled(home, kept, 1);
  for (let times = 0; times < 3; times += 1)
    server.failNext(/PUT .*kept.*receipt/, 503, 'SlowDown');
  const [inDoubt] = await exporting.runAll(created.id);
  assert.deepEqual(
    [inDoubt!.status, inDoubt!.custom_query],
    ['Running', 'SELECT event AS old FROM events'],
  );
  assert.equal(
    (await created.send('PATCH', '', { custom_query: 'SELECT event AS new FROM events' })).status,
    200,
  );
  // Its objects are gone again, so they are written once more.
  await exporting.harness.deps.db.run(
    sql`UPDATE batch_export_slices SET outcome = NULL WHERE run_id = ${inDoubt!.id}`,
  );
  assert.equal((await exporting.runAll(created.id))[0]!.status, 'Completed');
  assert.deepEqual((await objectsIn('kept')).map(String), ['{"old":"e0"}\n{"old":"e1"}\n']);
});

test('BigQuery: the connection test writes a row of the query and compares it', async (context) => {
  const home = await exporting.harness.newOrganization();
  await exporting.insert(home, six_hundred.slice(0, 1));
  const custom_query =
    'SELECT uuid, event AS c1, properties AS c0, length(event) AS amount, 1.5 AS ratio, event ' +
    "= 'e1' AS is_one, timestamp, [event, 'x'] AS list, properties.nothing AS nothing FROM " +
    'events';
  const columns = columnsOf({ model: 'events', custom_query }, 'tables');
  assert.deepEqual([...new Set(columns.map(({ type }) => type))].toSorted(), [
    'boolean',
    'float',
    'integer',
    'json',
    'text',
    'timestamp',
    'uuid',
  ]);
  const google = await openBigQueryServer();
  context.after(() => google.close());
  google.tables('product');
  const deps = destinationDeps(exporting.harness.deps.engine, new AbortController().signal);
  const check = () =>
    bigquery.check({ ...google.account, dataset_id: 'product' }, columns, {
      ...deps,
      outbound: google.reroute(deps.outbound),
    });
  assert.deepEqual(
    (await check()).filter(({ status }) => status !== 'passed'),
    [],
  );
  for (const [column, value] of [
    ['list', '{"of":"another"}'],
    ['timestamp', '2026-01-02T03:04:05.678900Z'],
    ['nothing', null],
  ] as const) {
    google.jobs.spoilNext((row) => ({ ...row, [column]: value }));
    assertChanged(await check(), [column]);
  }

  const config = { prefix: 'run', file_format: 'Parquet', compression: 'zstd' };
  const body = { destination: { type: 'File', config }, custom_query };
  const created = await exporting.scheduled(home, body, 1);
  await exporting.runAll(created.id);
  const [written] = await exporting.filesIn('run', '.parquet');
  const sent = await deps.encodeRow!(sampleRow(columns), slice_encoding);
  const facts = (bytes: Buffer) => {
    const { num_rows, schema, row_groups } = parquetMetadata(new Uint8Array(bytes).buffer);
    return {
      num_rows,
      schema,
      codecs: row_groups.map((group) => group.columns.map((column) => column.meta_data?.codec)),
    };
  };
  assert.deepEqual(facts(sent), facts(written!));
});
