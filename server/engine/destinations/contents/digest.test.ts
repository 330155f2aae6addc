import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { inDepth } from '../../../../test/depth.ts';
import { openClickHouseBytes } from '../../../../test/servers/databases/clickhouse_bytes.ts';
import type { ClickHouseBytes } from '../../../../test/servers/databases/clickhouse_bytes.ts';
import {
  contractColumns,
  contractRows,
  contractTable,
} from '../../../../test/factories/batch_exports/contract_rows.ts';
import type { SourceRow } from '../../../../test/factories/batch_exports/contract_rows.ts';
import { digest_settings, digestExpression } from '../formats/digest_expression.ts';
import { readCsv } from '../formats/text/read_csv.ts';
import { content_encoding, selectFor } from '../formats/select.ts';
import { canonicalValue } from './canonical.ts';
import { digestHex, openRowDigest } from './digest.ts';

let clickhouse: ClickHouseBytes;
before(() => {
  clickhouse = openClickHouseBytes();
});
after(() => clickhouse.close());

const columns = [
  ...contractColumns,
  { name: 'set', type: 'json', nullable: true, expression: "nullIf(properties, 'null')" } as const,
];
const select = selectFor(content_encoding, columns);

/**
 * Returns the store's digest of the rows of the table `contract` between two positions, and ours.
 */
async function bothDigests(from: number, to: number): Promise<{ store: string; ours: string }> {
  const rows = `contract WHERE position >= ${from} AND position < ${to}`;
  const bytes = await clickhouse.bytes(
    {
      expressions: digestExpression(columns),
      format: 'TSVRaw',
      settings: { ...select.settings, ...digest_settings },
    },
    `(SELECT ${select.expressions} FROM ${rows})`,
  );
  const sum = openRowDigest(columns);
  for await (const row of readCsv(Readable.from([await clickhouse.bytes(select, rows)])))
    sum.add(row);
  return { store: digestHex(BigInt(bytes.toString().trim())), ours: sum.value() };
}

/** The first row between two positions of which the store makes another digest than we do. */
async function firstDifferent(from: number, to: number): Promise<number | undefined> {
  const { store, ours } = await bothDigests(from, to);
  if (ours === store || to - from === 1) return ours === store ? undefined : from;
  const middle = Math.floor((from + to) / 2);
  return (await firstDifferent(from, middle)) ?? firstDifferent(middle, to);
}

test('the store and we make the same digest of any row', async () => {
  const numbers = ['-0.0', '1.0', '1e5', '1.10', '1e22', '1e-7', '0.000001', '-1.5E+300'];
  const bounds = ['18446744073709551615', '-9223372036854775808', '123456789012345680000.0'];
  const texts = fc
    .sample(fc.json({ maxDepth: 4 }), { numRuns: inDepth(100, 300), seed: 31 })
    .concat(
      `{"numbers":[${[...numbers, ...bounds].join(', ')}],` +
        '"escapes":"\\u2028\\u0001\\/\\u00e9\\u007f"}',
    )
    .concat(
      'null',
      ' null ',
      '[null]',
      '[-0, -0.0, {"a":-0}, 0, -0.5]',
      '18446744073709551616',
      '1e400',
      '[1e-400, 5e-324]',
    );
  const created: SourceRow[] = texts.map((properties, index) => ({
    ...contractRows[index % contractRows.length]!,
    properties,
  }));
  const all = [...contractRows, ...created];
  for (const statement of contractTable(all)) await clickhouse.run(statement);
  const different = await firstDifferent(0, all.length);
  assert.equal(different, undefined, all[different ?? 0]!.properties.slice(0, 500));
});

test('a digest changes with any value and with none of its spellings', () => {
  const columns = [{ type: 'text' }, { type: 'json' }, { type: 'timestamp' }] as const;
  const digestOf = (...rows: (string | null)[][]) => {
    const sum = openRowDigest([...columns]);
    for (const row of rows) sum.add(row);
    return sum.value();
  };
  const row = ['a', '{"a":1,"b":[1.0,"é"]}', '2026-01-01T00:00:00.100000Z'];
  const digest = digestOf(row);
  assert.equal(
    digestOf(['a', '{ "b": [1, "\\u00e9"], "a": 1.0 }', '2026-01-01 00:00:00.1+00']),
    digest,
  );
  for (const other of [
    ['b', row[1]!, row[2]!],
    [null, row[1]!, row[2]!],
    ['a', '{"a":2,"b":[1,"é"]}', row[2]!],
    ['a', '{"a":1,"b":[1,"e"]}', row[2]!],
    ['a', '{"a":1,"c":[1,"é"]}', row[2]!],
    ['a', null, row[2]!],
    ['a', row[1]!, '2026-01-01T00:00:00.100001Z'],
  ])
    assert.notEqual(digestOf(other), digest, JSON.stringify(other));
  assert.equal(digestOf(row, ['b', null, null]), digestOf(['b', null, null], row));
  assert.notEqual(digestOf(row, row), digestOf());
});

test('values have one canonical text for all spellings that stores give them', () => {
  const cases: [Parameters<typeof canonicalValue>[0], string[]][] = [
    [
      'timestamp',
      ['2026-01-01T00:00:00.100000Z', '2026-01-01 00:00:00.1+00', '2026-01-01 00:00:00.100 UTC'],
    ],
    ['boolean', ['true', 't', '1', 'TRUE']],
    ['float', ['1e300', '1E+300', '1.0e300']],
    ['integer', ['1', '+1', '01']],
    ['uuid', ['A0', 'a0']],
    ['json', ['{"a":1,"b":1e5}', '{ "b" : 100000, "a" : 1.0 }']],
    // Values that PostgreSQL, BigQuery and Snowflake cannot hold as JSON are held as text.
    ['json', ['[1e+131072]', '"[1e+131072]"']],
    ['json', ['{"n":0.1234567890123456789}', '"{\\"n\\":0.1234567890123456789}"']],
  ];
  for (const [type, texts] of cases)
    assert.equal(new Set(texts.map((text) => canonicalValue(type, text))).size, 1, texts.join());
  // An object that a store has made a string of for no reason is another value.
  const object = '{"message":"commit 07e95121f318dc32 1.1.1.1.1.1.1.1.1.1.1.1"}';
  assert.notEqual(canonicalValue('json', object), canonicalValue('json', JSON.stringify(object)));
  assert.notEqual(
    canonicalValue('json', '9007199254740993'),
    canonicalValue('json', '9007199254740992'),
  );
  assert.equal(canonicalValue('float', 'nan'), null);
});
