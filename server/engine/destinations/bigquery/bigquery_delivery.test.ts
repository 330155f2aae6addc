import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sourceOf } from '../../../../test/factories/batch_exports/content_sources.ts';
import { eventually } from '../../../../test/eventually.ts';
import {
  deps,
  fileOf,
  freshConfig,
  freshDelivery,
  isFault,
  manifestOf,
  openAroundTests,
  server,
  stagesOf,
  tableOf,
  write,
} from '../../../../test/destinations/bigquery_world.ts';
import {
  rival_deliveries,
  rivals_left,
  uuid_only,
} from '../../../../test/factories/batch_exports/deliveries.ts';
import { RetryableError } from '../../model/destination/errors.ts';
import type { Delivery, SliceOutcome } from '../../model/destination/destination.ts';
import type { Column } from '../../model/models/column.ts';
import { persons } from '../../model/models/persons.ts';
import { bigquery } from './bigquery.ts';
import type { BigQueryConfig } from './config.ts';

openAroundTests();

async function deliver(
  config: BigQueryConfig,
  given: Delivery,
  bytes: Buffer,
  records: number,
): Promise<void> {
  const sink = await bigquery.open(config, given, deps);
  await sink.commit([await write(sink, 0, { bytes, records })], manifestOf('{}'));
}

const receiptsOf = (config: BigQueryConfig) =>
  tableOf(config, 'sluice_receipts').rows.map((row) => row['manifest']);

test('persons are merged: a row gives way to higher versions, the first deciding', async () => {
  const config = freshConfig({ table_id: 'persons' });
  const columns = persons.columns.tables;
  type Version = (typeof rival_deliveries)[number][number];
  const row = ([distinct, version, mapping, name]: Version) =>
    `(7, '${distinct}', '018f0000-0000-7000-8000-000000000001', '{"name":"${name}"}', ` +
    `${mapping}, ${version}, toDateTime64('2020-01-01', 6), 0, toDateTime64('2020-01-01', 6))`;
  const types =
    'team_id Int64, distinct_id String, person_id UUID, properties String, ' +
    'person_distinct_id_version Int64, person_version Int64, created_at DateTime64(6), ' +
    'is_deleted UInt8, inserted_at DateTime64(6)';
  const first: Version[] = [
    ['c', 1, 1, 'mapped'],
    ['d', 1, 0, 'low'],
    ['d', 3, 0, 'high'],
  ];
  for (const given of [
    [...first, ...rival_deliveries[0]!],
    [['c', 1, 2, 'remapped'], ...rival_deliveries[1]!] satisfies Version[],
  ])
    await deliver(
      config,
      freshDelivery({ model: 'persons', columns }),
      await fileOf(columns, `values('${types}', ${given.map(row).join(', ')})`),
      given.length,
    );
  assert.deepEqual(
    tableOf(config, 'persons').rows.map(
      (person) =>
        `${person['distinct_id']} ` +
        (JSON.parse(String(person['properties'])) as { name: string }).name,
    ),
    ['c remapped', 'd high', ...rivals_left],
  );
  assert.deepEqual(tableOf(config, 'persons').made_with, {
    clustering: { fields: ['team_id', 'distinct_id'] },
  });
});

test('JSON columns are the text to the byte, or JSON that loses nothing', async () => {
  const columns: Column[] = [
    ...uuid_only,
    { name: 'properties', type: 'json', nullable: true, expression: 'properties' },
  ];
  const texts = [
    '{"a": 1, "b": [0.1, null]}',
    '{"big":123456789012345678901234567890}',
    '"text"',
    'null',
    '18446744073709551615',
    '0.1234567890123456789',
    '1e400',
  ];
  const from =
    `values('uuid String, properties Nullable(String)', ` +
    `${[...texts.map((text) => `('x', '${text}')`), "('x', NULL)"].join(', ')})`;
  const bytes = await fileOf(columns, from);
  const sent = async (config: BigQueryConfig) => {
    await deliver(config, freshDelivery({ columns }), bytes, texts.length + 1);
    return tableOf(config).rows.map((row) => row['properties']);
  };
  assert.deepEqual(await sent(freshConfig()), [...texts, null]);
  const typed = freshConfig({ use_json_type: true });
  const isLossy = new Set([texts[1], texts[5], texts[6]]);
  const expected = [
    ...texts.map((text) => (isLossy.has(text) ? JSON.stringify(text) : text)),
    null,
  ];
  assert.deepEqual(await sent(typed), expected);
  // The existing table decides, not the settings for a new one.
  assert.deepEqual(await sent({ ...typed, use_json_type: false }), [...expected, ...expected]);
});

test('the table of events has partitions by day, and stages end by themselves', async () => {
  const columns: Column[] = [
    ...uuid_only,
    { name: 'timestamp', type: 'timestamp', nullable: false, expression: 'timestamp' },
  ];
  const bytes = await fileOf(
    columns,
    "values('uuid String, timestamp DateTime64(6)', ('x', toDateTime64('1900-01-01 " +
      "00:00:00.000001', 6, 'UTC')))",
  );
  const config = freshConfig();
  const sink = await bigquery.open(config, freshDelivery({ columns }), deps);
  const outcome = await write(sink, 0, { bytes, records: 1 });
  const days =
    (Number(tableOf(config, stagesOf(config)[0]).made_with['expirationTime']) - Date.now()) /
    86_400_000;
  assert.ok(days > 6.9 && days < 7.1, String(days));
  await sink.commit([outcome], manifestOf('{}'));
  assert.deepEqual(tableOf(config).rows, [{ uuid: 'x', timestamp: '1900-01-01T00:00:00.000001Z' }]);
  assert.deepEqual(tableOf(config).made_with, {
    timePartitioning: { type: 'DAY', field: 'timestamp' },
  });
  const calculated = freshConfig();
  await deliver(
    calculated,
    freshDelivery({ columns: columns.map((column) => ({ ...column, is_calculated: true })) }),
    bytes,
    1,
  );
  assert.deepEqual(tableOf(calculated).made_with, {});
});

test('more slices than a query should read are joined first, in their order', async () => {
  const config = freshConfig();
  const sink = await bigquery.open(config, freshDelivery(), deps);
  const first = await write(sink);
  const { table, job_id } = first.state as { table: string; job_id: string };
  // The others are put there: how a slice is written is shown by the first.
  const outcomes: SliceOutcome[] = Array.from({ length: 101 }, (_, number) => ({
    ...first,
    number,
    state: { table: table.replace(/0$/, String(number)), job_id },
  }));
  for (const { number, state } of outcomes.slice(1))
    server.tables(config.dataset_id).set((state as { table: string }).table, {
      ...tableOf(config, table),
      rows: [{ uuid: `${number} a` }, { uuid: `${number} b` }],
    });
  await sink.commit(outcomes, manifestOf('{}'));
  assert.deepEqual(
    tableOf(config).rows.map(({ uuid }) => uuid),
    outcomes.flatMap(({ number }) =>
      number === 0 ? ['one', 'two'] : [`${number} a`, `${number} b`],
    ),
  );
  assert.deepEqual(stagesOf(config), []);
  assert.equal(server.jobs.statements.at(-1)!.match(/sluice_stage_/g)?.length, 1);
});

test('two concurrent commits show the rows once, and the second writes its receipt', async () => {
  const config = freshConfig();
  const given = freshDelivery();
  const first = await bigquery.open(config, given, deps);
  const outcome = await write(first);
  server.jobs.holdNext(/^sluice_commit/);
  const [slow, second] = [
    first.commit([outcome], manifestOf('first')),
    bigquery.open(config, { ...given, attempt: 2 }, deps),
  ];
  await eventually('the statement or the question has not come', () =>
    server.jobs
      .states()
      .some((state) => state.includes(`sluice_commit_${given.delivery_id}_0 RUNNING`)),
  );
  const other = (await second).commit([outcome], manifestOf('second'));
  await eventually(
    'the statement or the question has not come',
    () =>
      server.requests.filter((line) =>
        line.includes(
          `GET /bigquery/v2/projects/test-project/jobs/sluice_commit_${given.delivery_id}`,
        ),
      ).length > 1,
  );
  await server.jobs.release();
  await Promise.all([slow, other]);
  assert.equal(tableOf(config).rows.length, 2);
  assert.deepEqual(receiptsOf(config), ['second']);
});

test('a commit that failed is made again under the next name, with the same slices', async () => {
  const config = freshConfig();
  const given = freshDelivery();
  const dead = await bigquery.open(config, given, deps);
  const outcome = await write(dead);
  server.jobs.failNext(
    /^sluice_commit/,
    'invalidQuery',
    'Transaction is aborted due to concurrent update against table test-project:x.persons.',
  );
  await assert.rejects(
    dead.commit([outcome], manifestOf('{}')),
    isFault(RetryableError, 'conflict'),
  );
  const sink = await bigquery.open(config, { ...given, attempt: 2 }, deps);
  assert.deepEqual(await sink.recover([outcome]), [outcome]);
  await sink.commit([outcome], manifestOf('{}'));
  assert.equal(tableOf(config).rows.length, 2);
  assert.ok(server.jobs.states().includes(`sluice_commit_${given.delivery_id}_1 DONE`));
});

test('a commit whose answer is lost is found, and one believed dead shows nothing', async () => {
  const config = freshConfig();
  const given = freshDelivery();
  const dead = await bigquery.open(config, given, deps);
  const stale = await write(dead);
  const sink = await bigquery.open(config, { ...given, attempt: 2 }, deps);
  await sink.recover([]);
  await assert.rejects(
    dead.commit([stale], manifestOf('dead')),
    isFault(RetryableError, 'slice_lost'),
  );
  const outcome = await write(sink);
  // The second request for a job: the first was that of the dead attempt.
  server.loseAnswerNext(/^POST \/bigquery\/v2\/projects\/test-project\/jobs$/);
  await sink.commit([outcome], manifestOf('{}'));
  assert.equal(tableOf(config).rows.length, 2);
  assert.deepEqual(receiptsOf(config), ['{}']);
});

test('abort ends a commit that is under way', async () => {
  const config = freshConfig();
  const given = freshDelivery();
  const dead = await bigquery.open(config, given, deps);
  const outcome = await write(dead);
  server.jobs.holdNext(/^sluice_commit/);
  const committing = dead.commit([outcome], manifestOf('{}'));
  await eventually('the statement or the question has not come', () =>
    server.jobs
      .states()
      .some((state) => state.includes(`sluice_commit_${given.delivery_id}_0 RUNNING`)),
  );
  const sink = await bigquery.open(config, { ...given, attempt: 2 }, deps);
  await Promise.all([
    sink.abort([]),
    assert.rejects(committing, isFault(RetryableError, 'cancelled_by_server')),
  ]);
  assert.deepEqual([tableOf(config).rows, stagesOf(config)], [[], []]);
});

test('rows of a query without a key are counted; shared tables hide what is added', async () => {
  const config = freshConfig();
  const calculated = freshDelivery({ columns: [{ ...uuid_only[0]!, is_calculated: true }] });
  const source = sourceOf([['one'], ['two']]);
  const delivered = async (given: Delivery) => {
    const sink = await bigquery.open(config, given, deps);
    const outcomes = [await write(sink)];
    await sink.commit(outcomes, manifestOf('{}'));
    return { delivery: given, outcomes, manifest: '{}' };
  };
  const counted = await delivered(calculated);
  assert.deepEqual(await bigquery.verify(config, [counted], source, deps), []);
  tableOf(config).rows.pop();
  assert.deepEqual(
    (await bigquery.verify(config, [counted], source, deps)).map(({ kind }) => kind),
    ['missing'],
  );
  const keyed = await delivered(freshDelivery());
  tableOf(config).rows.push({ uuid: 'stranger' });
  assert.deepEqual(await bigquery.verify(config, [keyed], source, deps), [
    {
      kind: 'changed',
      name: `${config.dataset_id}.events uuid=one`,
      detail: 'It was delivered 1 times and occurs 2 times.',
      about: 'repetition',
      key: 'one',
    },
  ]);
  assert.deepEqual(stagesOf(config), []);
});
