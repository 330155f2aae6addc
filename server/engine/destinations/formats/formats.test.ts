import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import {
  contractColumns,
  contractRows,
  expectedRow,
} from '../../../../test/factories/batch_exports/contract_rows.ts';
import { parseCsv, parseJsonLines, parseParquet } from '../../../../test/watchers/read_formats.ts';
import { compressionsOf, extensionOf, fileFormats } from '../../model/destination/encoding.ts';
import type { Encoding } from '../../model/destination/encoding.ts';
import { selectFor } from './select.ts';
import {
  openAroundTests,
  clickhouse,
  none,
  from,
  encode,
} from '../../../../test/factories/batch_exports/encoded_contract.ts';

openAroundTests();

const expected = contractRows.map((row) => expectedRow(row, { has_nul: true }));

test('JSON lines hold every value exactly, one object a line', async () => {
  const text = (
    await clickhouse.bytes(selectFor({ format: 'JSONLines', ...none }, contractColumns), from)
  ).toString('utf8');
  assert.equal(text.split('\n').length, contractRows.length + 1);
  assert.ok(!text.includes('\r'));
  assert.deepEqual(parseJsonLines(Buffer.from(text)), expected);
});

test('ClickHouse knows the settings that every query gets', async () => {
  for (const format of fileFormats) {
    const { settings } = selectFor({ format, ...none }, contractColumns);
    assert.deepEqual(
      [settings['http_send_timeout'], settings['max_query_size']],
      [3_600, 16_000_000],
    );
    const known = {
      expressions: "getSetting('http_send_timeout'), getSetting('max_query_size')",
      format: 'TSV',
      settings,
    };
    assert.equal((await clickhouse.bytes(known, 'system.one')).toString(), '3600\t16000000\n');
  }
});

test('CSV holds every value exactly', async () => {
  const bytes = await clickhouse.bytes(
    selectFor({ format: 'CSV', ...none }, contractColumns),
    from,
  );
  assert.deepEqual(parseCsv(bytes, contractColumns), expected);
  assert.equal(
    bytes.toString('utf8').split('\n')[0],
    contractColumns.map((column) => `"${column.name}"`).join(','),
  );
});

test('Parquet holds every value exactly in every compression', async () => {
  for (const compression of [null, ...compressionsOf('Parquet')]) {
    const bytes = await clickhouse.bytes(
      selectFor({ format: 'Parquet', compression }, contractColumns),
      from,
    );
    const codec = {
      gzip: 'GZIP',
      zstd: 'ZSTD',
      brotli: 'BROTLI',
      snappy: 'SNAPPY',
      lz4: 'LZ4_RAW',
      deflate: undefined,
      none: 'UNCOMPRESSED',
    }[compression ?? 'none'];
    const metadata = parquetMetadata(new Uint8Array(bytes).buffer);
    assert.deepEqual(
      new Set(
        metadata.row_groups.flatMap((group) =>
          group.columns.map((column) => column.meta_data?.codec),
        ),
      ),
      new Set([codec]),
    );
    if (compression === null || compression === 'snappy')
      assert.deepEqual(await parseParquet(bytes, contractColumns), expected);
  }
});

test('the schema of a Parquet file follows from the columns', async () => {
  const bytes = await clickhouse.bytes(
    selectFor({ format: 'Parquet', ...none }, contractColumns),
    from,
  );
  const schema = parquetMetadata(new Uint8Array(bytes).buffer).schema.slice(1);
  assert.deepEqual(
    schema.map((field) => [
      field.name,
      field.type,
      field.repetition_type,
      field.logical_type?.type,
    ]),
    [
      ['uuid', 'BYTE_ARRAY', 'REQUIRED', 'STRING'],
      ['event', 'BYTE_ARRAY', 'REQUIRED', 'STRING'],
      ['properties', 'BYTE_ARRAY', 'REQUIRED', 'STRING'],
      ['note', 'BYTE_ARRAY', 'OPTIONAL', 'STRING'],
      ['timestamp', 'INT64', 'REQUIRED', 'TIMESTAMP'],
      ['amount', 'INT64', 'REQUIRED', undefined],
      ['ratio', 'DOUBLE', 'OPTIONAL', undefined],
      ['is_new', 'BOOLEAN', 'REQUIRED', undefined],
    ],
  );
});

test('JSON that ClickHouse wrongly calls invalid stays JSON, other text is text', async () => {
  const cases: [string, boolean][] = [
    ['{"a":1e400}', true],
    ['{"a":-12345678901234567890123.5e+1000}', true],
    ['{"a":"\\u1e400","b":123456789012345678901234567890}', true],
    ['{"a":"\\u123456789012345678901234567890","b":1e999}', true],
    ['{"a":000000000000000000000001}', false],
    ['{"a":1}{"b":2}', false],
    ['{"a":NaN}', false],
    ['\ufeff{"a":1}', false],
    ['{"a":"raw\ttab"}', false],
    ['', false],
  ];
  for (const [text, isKept] of cases) {
    const column = { name: 'p', type: 'json', nullable: false, expression: 'properties' } as const;
    await clickhouse.run(
      'CREATE OR REPLACE TABLE one (properties String) ENGINE = MergeTree ORDER BY tuple()',
    );
    await clickhouse.run(`INSERT INTO one VALUES ('${text.replaceAll('\\', '\\\\')}')`);
    const line = (
      await clickhouse.bytes(selectFor({ format: 'JSONLines', ...none }, [column]), 'one')
    ).toString('utf8');
    assert.equal(line, isKept ? `{"p":${text}}\n` : `{"p":${JSON.stringify(text)}}\n`);
  }
});

test('values of other types arrive as their column says', async () => {
  const column = (
    type: 'text' | 'integer' | 'float' | 'boolean' | 'uuid' | 'timestamp' | 'json',
    expression: string,
  ) => ({
    name: 'v',
    type,
    nullable: true,
    expression,
  });
  const cases: [ReturnType<typeof column>, string][] = [
    [column('text', "unhex('61FF62')"), '"a\ufffdb"'],
    [column('text', "toFixedString('ab', 2)"), '"ab"'],
    [column('text', "toLowCardinality('ab')"), '"ab"'],
    [column('integer', 'toUInt64(18446744073709551615)'), '18446744073709551615'],
    [column('float', 'nan'), 'null'],
    [column('float', '-inf'), 'null'],
    [column('boolean', 'toUInt8(1)'), 'true'],
    [column('boolean', 'NULL'), 'null'],
    [column('uuid', "CAST(NULL, 'Nullable(UUID)')"), 'null'],
    [
      column('timestamp', "toDateTime64('2020-01-01 00:00:00.5', 6, 'Europe/Berlin')"),
      '"2019-12-31T23:00:00.500000Z"',
    ],
    [
      column('timestamp', "toDateTime('2020-01-01 00:00:00', 'UTC')"),
      '"2020-01-01T00:00:00.000000Z"',
    ],
    [column('json', "CAST(NULL, 'Nullable(String)')"), 'null'],
  ];
  for (const [value, text] of cases) {
    const line = (
      await clickhouse.bytes(selectFor({ format: 'JSONLines', ...none }, [value]), 'numbers(1)')
    ).toString('utf8');
    assert.equal(line, `{"v":${text}}\n`);
  }
});

test('names end in the extension of format and compression', () => {
  const cases: [Encoding, string][] = [
    [{ format: 'JSONLines', compression: null }, '.jsonl'],
    [{ format: 'JSONLines', compression: 'gzip' }, '.jsonl.gz'],
    [{ format: 'JSONLines', compression: 'brotli' }, '.jsonl.br'],
    [{ format: 'CSV', compression: 'zstd' }, '.csv.zst'],
    [{ format: 'Parquet', compression: 'zstd' }, '.parquet'],
  ];
  for (const [encoding, extension] of cases) assert.equal(extensionOf(encoding), extension);
});

test('an empty Parquet file has no rows', async () => {
  const bytes = await clickhouse.bytes(
    selectFor({ format: 'Parquet', ...none }, contractColumns),
    'contract WHERE position < 0',
  );
  assert.equal((await parquetReadObjects({ file: new Uint8Array(bytes).buffer })).length, 0);
  assert.equal((await encode({ format: 'Parquet', ...none }, [bytes])).records, 0);
});
