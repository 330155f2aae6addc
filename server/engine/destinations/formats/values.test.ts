import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { openClickHouseBytes } from '../../../../test/servers/databases/clickhouse_bytes.ts';
import type { ClickHouseBytes } from '../../../../test/servers/databases/clickhouse_bytes.ts';
import {
  contractColumns,
  contractRows,
  contractTable,
  expectedRow,
  insertRows,
} from '../../../../test/factories/batch_exports/contract_rows.ts';
import {
  generated,
  generated_position,
  generatedRows,
} from '../../../../test/factories/events/generated_rows.ts';
import { parseCsv, parseJsonLines, parseParquet } from '../../../../test/watchers/read_formats.ts';
import { parseAvro } from '../../../../test/watchers/read_avro.ts';
import { encodeStage } from './encode_stage.ts';
import { isBinary } from '../../model/destination/encoding.ts';
import type { Encoding } from '../../model/destination/encoding.ts';
import { openUnmarking, sayChanged } from './marks.ts';
import { selectFor } from './select.ts';

let clickhouse: ClickHouseBytes;
const rows = generatedRows(generated);

before(async () => {
  clickhouse = openClickHouseBytes();
  for (const statement of contractTable(contractRows)) await clickhouse.run(statement);
  for (let from = 0; from < rows.length; from += 500)
    await clickhouse.run(insertRows(rows.slice(from, from + 500), generated_position + from));
});

after(() => clickhouse.close());

const formats: [Encoding, (bytes: Buffer) => unknown][] = [
  [{ format: 'JSONLines', compression: null }, parseJsonLines],
  [{ format: 'CSV', compression: null }, (bytes) => parseCsv(bytes, contractColumns)],
  [{ format: 'Parquet', compression: null }, (bytes) => parseParquet(bytes, contractColumns)],
  [{ format: 'Avro', compression: null }, (bytes) => parseAvro(bytes, contractColumns)],
];

for (const [encoding, read] of formats)
  test(`generated values come back from ${encoding.format}`, async (context) => {
    const bytes = await clickhouse.bytes(
      selectFor(encoding, contractColumns),
      `contract WHERE position >= ${generated_position} ORDER BY position`,
    );
    assert.deepEqual(
      await read(bytes),
      rows.map((row) => expectedRow(row, { has_nul: true })),
    );
    context.diagnostic(
      `${encoding.format}: ${rows.length} generated values, seed ${generated.seed}: 0 differ`,
    );
  });

const exact = { format: 'TabSeparated', compression: null, is_exact: true } as const;
const numeric = { format: 'TabSeparated', compression: null } as const;

test('changed values are counted as they pass, and their marks are removed', async () => {
  for (const encoding of [...formats.map(([one]) => one), numeric, exact]) {
    const from = 'contract ORDER BY position';
    const plain = await clickhouse.bytes(selectFor(encoding, contractColumns), from);
    const select = selectFor(encoding, contractColumns, { marked: true });
    const stage = encodeStage(encoding);
    const passed = await buffer(
      stage.pipeline(Readable.from([await clickhouse.bytes(select, from)])),
    );
    // The store draws another marker each time.
    if (encoding.format !== 'Avro') assert.ok(passed.equals(plain), encoding.format);
    const changed = stage.changed();
    if (isBinary(encoding)) assert.deepEqual(changed, { text: 0, altered: 0 });
    else if (encoding === numeric) assert.ok(changed.text > 3 && changed.altered > 2);
    else {
      const count = (isChanged: (text: string) => boolean) =>
        [...contractRows, ...rows].filter(({ properties }) => isChanged(properties)).length;
      assert.deepEqual(changed, { text: count(isNoJson), altered: count(hasHalfPair) });
    }
  }
});

function isNoJson(text: string): boolean {
  try {
    JSON.parse(text);
    return false;
  } catch {
    return true;
  }
}

function hasHalfPair(text: string): boolean {
  if (isNoJson(text)) return false;
  let found = false;
  JSON.parse(text, (key, value: unknown) => {
    found ||= !key.isWellFormed() || (typeof value === 'string' && !value.isWellFormed());
    return value;
  });
  return found;
}

test('JSON becomes text for PostgreSQL only where a number is beyond its own', async () => {
  const seven_thousand = '1'.repeat(7_000);
  const cases: [json: string, changed: 'text' | 'altered' | undefined][] = [
    ['{"message": "commit 07e95121f318dc32"}', undefined],
    [`{"a":"\\": 1e99999","b":"\\\\","c":"[1e99999, ${seven_thousand}"}`, undefined],
    [`{"1e99999":[" ${'.'.repeat(7_000)}"]}`, undefined],
    ['{"a":1e9999,"b":-1E-9999,"c":1e00012}', undefined],
    [`{"a":"${'x'.repeat(7_000)}","b":${seven_thousand.slice(0, 6_000)}e9999}`, undefined],
    ['{"a":"\\\\u0000"}', undefined],
    ['{"a":"\\u0000"}', 'altered'],
    ['{"a":"\\ud800"}', 'altered'],
    ['{"a":1e10000}', 'text'],
    ['{"a":"x","b":[0,-1.5E-00010000]}', 'text'],
    [`{"a":${seven_thousand}}`, 'text'],
    [`{"a":0.${seven_thousand}}`, 'text'],
    ['{"a":1e99999,"a":1}', 'text'],
    ['{"a":', 'text'],
    ['', 'text'],
  ];
  for (const [properties, kind] of cases) {
    await clickhouse.run('CREATE OR REPLACE TABLE one (p String) ENGINE = MergeTree ORDER BY ()');
    await clickhouse.run(`INSERT INTO one VALUES ('${properties.replaceAll('\\', '\\\\')}')`);
    const column = { name: 'p', type: 'json', nullable: false, expression: 'p' } as const;
    const bytes = await clickhouse.bytes(selectFor(numeric, [column], { marked: true }), 'one');
    const { changed, take } = openUnmarking();
    const line = take(bytes).toString('utf8').trimEnd().replaceAll('\\\\', '\\');
    const wanted = { text: 0, altered: 0, ...(kind === undefined ? {} : { [kind]: 1 }) };
    assert.deepEqual(changed, wanted, properties.slice(0, 60));
    if (kind === undefined) assert.equal(line, properties);
    if (kind === 'text') assert.equal(JSON.parse(line), properties);
  }
});

test('marks are found however the bytes are cut', () => {
  const bytes = Buffer.from('\xffa\xfe\xfeb\xff', 'latin1');
  for (let cut = 0; cut <= bytes.length; cut += 1) {
    const { changed, take } = openUnmarking();
    const parts = [take(bytes.subarray(0, cut)), take(bytes.subarray(cut))];
    assert.equal(Buffer.concat(parts).toString(), 'ab');
    assert.deepEqual(changed, { text: 2, altered: 2 });
  }
  const unmarked = Buffer.from('é');
  assert.equal(openUnmarking().take(unmarked), unmarked);
});

test('a user learns how many values were changed, if any', () => {
  assert.equal(sayChanged({ text: 0, altered: 0 }), undefined);
  assert.equal(
    sayChanged({ text: 3, altered: 1 }),
    '3 values could not be held as JSON and became text; of 1 value characters were removed ' +
      'or replaced. The docs page of the destination lists the values that it cannot hold.',
  );
});
