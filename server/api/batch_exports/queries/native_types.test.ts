import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parquetMetadata } from 'hyparquet';
import { inTurn } from '../../../../test/depth.ts';
import { aroundTests } from '../../../../test/around_tests.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import { deliver, toFolder } from '../../../../test/factories/batch_exports/query_deliveries.ts';
import { openPostgresServer } from '../../../../test/servers/databases/postgres_destination.ts';
import { avroSchema, readAvroRecords } from '../../../../test/watchers/read_avro.ts';
import { compressionsOf, fileFormats } from '../../../engine/model/destination/encoding.ts';
import { verifyExports } from '../../../engine/exports/verification/verify_exports.ts';

const exporting = aroundTests(openQueryHarness);
const postgres = aroundTests(openPostgresServer);

const digits = '-12345678901234567890123456789.123456789';
const columns = `toDate('1900-01-01') AS early, toDate(timestamp, 'Asia/Tokyo') AS day,
  toDateOrNull(properties.none) AS no_day, toDecimal('${digits}') AS exact,
  toDecimalOrNull('x') AS no_number, [9007199254740993, toInt64OrNull('x'), -1] AS numbers,
  JSONExtractArrayRaw('["a", {"b": 9007199254740993}]') AS raws,
  [[toDate('1969-12-31')], []] AS days, [toDecimal('0.1'), toDecimal('-0.000000001')] AS exacts,
  map('a "quoted" key', toFloat64(0.5), 'b', toFloat64(-2)) AS shares,
  map('k', ['x', NULL]) AS words, [(1, 'x')] AS pairs`;
const query = `SELECT ${columns} FROM events WHERE properties.n = 0`;
const native = `${query} SETTINGS native_types = 1;`;

const row = {
  early: '1900-01-01',
  day: '2026-01-01',
  no_day: null,
  no_number: null,
  days: [['1969-12-31'], []],
  shares: { 'a "quoted" key': 0.5, b: -2 },
  words: { k: ['x', null] },
};

test('JSON lines and CSV have native values in their own spelling', async () => {
  const { hours } = await deliver(exporting, 'native_json', native, {}, 1);
  const [[found]] = hours as [[Record<string, unknown>]];
  for (const [name, value] of Object.entries(row)) assert.deepEqual(found[name], value, name);
  const [bytes] = await exporting.filesIn('native_json', '.jsonl');
  for (const piece of [
    `"exact":${digits},`,
    '"numbers":[9007199254740993,null,-1]',
    '"exacts":[0.1,-0.000000001]',
  ])
    assert.ok(String(bytes).includes(piece), String(bytes));
  await deliver(exporting, 'native_csv', native, toFolder('native_csv', { file_format: 'CSV' }), 1);
  const [csv] = await exporting.filesIn('native_csv', '.csv');
  assert.ok(String(csv).includes(`"1900-01-01","2026-01-01",,${digits},,`), String(csv));
});

test('Parquet has days, exact numbers, lists and maps as logical types', async () => {
  const config = toFolder('native_parquet', { file_format: 'Parquet' });
  await deliver(exporting, 'native_parquet', native, config, 1);
  const [bytes] = await exporting.filesIn('native_parquet', '.parquet');
  const schema = parquetMetadata(new Uint8Array(bytes!).buffer).schema;
  const typeOf = (name: string) => {
    const { logical_type, converted_type, precision, scale } = schema.find(
      (one) => one.name === name,
    )!;
    return [logical_type?.type ?? converted_type, precision, scale];
  };
  assert.deepEqual(typeOf('early'), ['DATE', undefined, undefined]);
  assert.deepEqual(typeOf('exact'), ['DECIMAL', 38, 9]);
  assert.equal(typeOf('numbers')[0], 'LIST');
  assert.equal(typeOf('shares')[0], 'MAP');
  assert.equal(typeOf('pairs')[0], 'STRING');
});

test('Avro has them too, and another library reads their values', async () => {
  const config = toFolder('native_avro', { file_format: 'Avro' });
  await deliver(exporting, 'native_avro', native, config, 1);
  const [bytes] = await exporting.filesIn('native_avro', '.avro');
  const types = new Map(avroSchema(bytes!).fields.map(({ name, type }) => [name, type]));
  assert.deepEqual(types.get('early'), { type: 'int', logicalType: 'date' });
  assert.deepEqual(types.get('exact'), {
    type: 'bytes',
    logicalType: 'decimal',
    precision: 38,
    scale: 9,
  });
  assert.deepEqual(types.get('numbers'), { type: 'array', items: ['null', 'long'] });
  assert.deepEqual(types.get('shares'), { type: 'map', values: 'double' });
  const [record] = await readAvroRecords(bytes!);
  assert.deepEqual(record!['early'], -25567);
  const exact = BigInt.asIntN(128, BigInt(`0x${(record!['exact'] as Buffer).toString('hex')}`));
  assert.equal(exact, BigInt(digits.replace('.', '')));
  assert.deepEqual(record!['numbers'], [9007199254740993n, null, -1n]);
});

test('what was delivered can be verified, in every format and codec', async () => {
  const ways = fileFormats.flatMap((file_format) =>
    [null, compressionsOf(file_format)[0]!].map((compression) => ({ file_format, compression })),
  );
  for (const { file_format, compression } of inTurn(ways, 4)) {
    const prefix = `native_${file_format}_${compression}`;
    const config = toFolder(prefix, { file_format, compression });
    const { created, runs } = await deliver(exporting, prefix, native, config, 1);
    assert.equal(runs[0]!.status, 'Completed', `${runs[0]!.latest_error}`);
    const [sound] = await verifyExports(exporting.harness.deps.engine, created.id);
    assert.deepEqual([sound!.fault, sound!.differences], [null, []], prefix);
  }
});

test('a table of PostgreSQL has a date, a number and JSON', async () => {
  const config = await postgres.freshConfig();
  const to = { destination: { type: 'Postgres', config } };
  const { created, runs } = await deliver(exporting, 'none', native, to, 1);
  assert.equal(runs[0]!.status, 'Completed', `${runs[0]!.latest_error}`);
  const { rows } = await postgres.pool.query(
    `SELECT pg_typeof(early) AS early, pg_typeof(exact) AS exact, pg_typeof(numbers) AS numbers,
      exact::text AS digits, numbers::text AS list, early::text AS day
     FROM ${config.schema}.${config.table_name ?? 'events'}`,
  );
  assert.deepEqual(rows, [
    {
      early: 'date',
      exact: 'numeric',
      numbers: 'jsonb',
      digits,
      list: '[9007199254740993, null, -1]',
      day: '1900-01-01',
    },
  ]);
  const [sound] = await verifyExports(exporting.harness.deps.engine, created.id);
  assert.deepEqual([sound!.fault, sound!.differences], [null, []]);
});

test('without the setting dates stay text, and lists JSON: the bytes of before', async () => {
  const plain =
    'SELECT toDate(timestamp) AS day, [1, 2] AS list FROM events WHERE properties.n = 0';
  const config = toFolder('not_native', { file_format: 'Parquet' });
  const { created, runs } = await deliver(exporting, 'not_native', plain, config, 1);
  const { body } = await created.get(`runs/${runs[0]!.id}/receipt/`);
  const types = (of: { columns: { name: string; type: string }[] }) =>
    of.columns.map(({ name, type }) => `${name} ${type}`);
  assert.deepEqual(types(body), ['day text', 'list json']);
  const [bytes] = await exporting.filesIn('not_native', '.parquet');
  const { schema } = parquetMetadata(new Uint8Array(bytes!).buffer);
  assert.deepEqual(
    schema.slice(1).map(({ name, logical_type }) => [name, logical_type?.type]),
    [
      ['day', 'STRING'],
      ['list', 'STRING'],
    ],
  );
  const off = `${plain} SETTINGS native_types = 0`;
  const again = await deliver(
    exporting,
    'off',
    off,
    toFolder('off', { file_format: 'Parquet' }),
    1,
  );
  assert.equal(again.runs[0]!.status, 'Completed');
  assert.ok((await exporting.filesIn('off', '.parquet'))[0]!.equals(bytes!));
});

test('exact numbers are added up exactly, and compared with whole ones', async () => {
  const { hours } = await deliver(
    exporting,
    'sums',
    "SELECT sum(toDecimal(toString(properties.price))) AS total, max(toDecimal('7.5')) AS most, " +
      "countIf(toDecimal('2.5') > 2) AS more FROM events",
    {},
    1,
  );
  assert.deepEqual(hours, [[{ total: 1.5, most: 7.5, more: 2 }]]);
});
