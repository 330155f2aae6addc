import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { after, before, test } from 'node:test';
import { openClickHouseBytes } from '../../../../test/servers/databases/clickhouse_bytes.ts';
import type { ClickHouseBytes } from '../../../../test/servers/databases/clickhouse_bytes.ts';
import { literal } from '../../../platform/clickhouse/quote.ts';
import { readCsv } from '../../destinations/formats/text/read_csv.ts';
import { content_encoding, selectFor } from '../../destinations/formats/select.ts';
import { ownColumn } from '../models/column.ts';
import type { PropertyType } from './property_type.ts';
import { property_types } from './property_type.ts';
import { typedRelation, unfitProperties, withTypedColumns } from './typed_relation.ts';
import type { TypedColumn } from './typed_relation.ts';

let clickhouse: ClickHouseBytes;
before(() => {
  clickhouse = openClickHouseBytes();
});
after(() => clickhouse.close());

type Row = { columns: (string | null)[]; rest: string; unfit: string[] };

async function typedRows(documents: string[], typed: TypedColumn[]): Promise<Row[]> {
  const list = documents.map((text, index) => `(${index}, ${literal(text)})`);
  const from = `(SELECT pair.1 AS number, pair.2 AS properties
    FROM (SELECT arrayJoin([${list.join(', ')}]) AS pair))`;
  const relation = typedRelation({ text: from, parameters: {} }, typed);
  const columns = [
    ...withTypedColumns([ownColumn('properties', 'json')], typed),
    {
      name: 'unfit',
      type: 'text' as const,
      nullable: false,
      expression: `toJSONString(${unfitProperties(typed)})`,
    },
  ];
  const select = selectFor(content_encoding, columns);
  const bytes = await clickhouse.bytes(select, `${relation.text} ORDER BY number`);
  const rows = await Array.fromAsync(readCsv(Readable.from([bytes])));
  return rows.map(([rest, ...values]) => ({
    columns: values.slice(0, -1),
    rest: rest!,
    unfit: JSON.parse(values.at(-1)!) as string[],
  }));
}

const of = (type: PropertyType): TypedColumn => ({ property: 'v', type, column: `p_v_${type}` });

/** A value as it was sent, and what each type makes of it; a type that is left out takes none. */
const cases: [sent: string, columns: Partial<Record<PropertyType, string>>][] = [
  ['7', { integer: '7', float: '7', json: '7' }],
  ['-7', { integer: '-7', float: '-7', json: '-7' }],
  ['"7"', { text: '7', json: '"7"' }],
  ['"007"', { text: '007', json: '"007"' }],
  ['""', { text: '', json: '""' }],
  ['"null"', { text: 'null', json: '"null"' }],
  ['"true"', { text: 'true', json: '"true"' }],
  ['true', { boolean: 'true', json: 'true' }],
  ['false', { boolean: 'false', json: 'false' }],
  ['1', { integer: '1', float: '1', json: '1' }],
  ['10.0', { integer: '10', float: '10', json: '10.0' }],
  ['-0', { integer: '0', float: '0', json: '0' }],
  ['9.99', { float: '9.99', json: '9.99' }],
  ['1e3', { float: '1000', json: '1e3' }],
  ['9007199254740993', { integer: '9007199254740993', json: '9007199254740993' }],
  ['9007199254740993.0', { integer: '9007199254740993', json: '9007199254740993.0' }],
  [
    '9007199254740992',
    { integer: '9007199254740992', float: '9007199254740992', json: '9007199254740992' },
  ],
  ['9223372036854775807', { integer: '9223372036854775807', json: '9223372036854775807' }],
  ['-9223372036854775808', { integer: '-9223372036854775808', json: '-9223372036854775808' }],
  ['9223372036854775808', { json: '9223372036854775808' }],
  ['18446744073709551615', { json: '18446744073709551615' }],
  ['36893488147419103232', { json: '36893488147419103232' }],
  ['1e400', { json: '1e400' }],
  ['1e-400', { json: '1e-400' }],
  ['1e22', { float: '1e22', json: '1e22' }],
  ['1E+2', { float: '100', json: '1E+2' }],
  ['5e-324', { float: '5e-324', json: '5e-324' }],
  ['1.7976931348623157e308', { float: '1.7976931348623157e308', json: '1.7976931348623157e308' }],
  ['0.1', { float: '0.1', json: '0.1' }],
  ['0.30000000000000004', { float: '0.30000000000000004', json: '0.30000000000000004' }],
  ['0.3000000000000000400', { float: '0.30000000000000004', json: '0.3000000000000000400' }],
  ['0.1234567890123456789', { json: '0.1234567890123456789' }],
  ['123456789012345.6', { float: '123456789012345.6', json: '123456789012345.6' }],
  ['{"a":1}', { json: '{"a":1}' }],
  ['[1,"2",null]', { json: '[1,"2",null]' }],
  [
    '[18446744073709551616,0.1234567890123456789]',
    { json: '[18446744073709551616,0.1234567890123456789]' },
  ],
  [
    '"a\\"b\\\\c\\u00e9\\n\\t/\\/"',
    { text: 'a"b\\c\u00e9\n\t//', json: '"a\\"b\\\\c\u00e9\\n\\t/\\/"' },
  ],
  ['"\\ud83d\\ude00"', { text: '\u{1f600}', json: '"\u{1f600}"' }],
  [
    '"2026-11-29T20:00:00Z"',
    {
      text: '2026-11-29T20:00:00Z',
      timestamp: '2026-11-29T20:00:00.000000Z',
      json: '"2026-11-29T20:00:00Z"',
    },
  ],
  [
    '"2026-11-29T20:00:00.123456+02:00"',
    {
      text: '2026-11-29T20:00:00.123456+02:00',
      timestamp: '2026-11-29T18:00:00.123456Z',
      json: '"2026-11-29T20:00:00.123456+02:00"',
    },
  ],
  [
    '"2026-11-29T20:00:00.5-09:30"',
    {
      text: '2026-11-29T20:00:00.5-09:30',
      timestamp: '2026-11-30T05:30:00.500000Z',
      json: '"2026-11-29T20:00:00.5-09:30"',
    },
  ],
  [
    '"1969-12-31T23:59:59.9Z"',
    {
      text: '1969-12-31T23:59:59.9Z',
      timestamp: '1969-12-31T23:59:59.900000Z',
      json: '"1969-12-31T23:59:59.9Z"',
    },
  ],
  ...[
    '2026-02-30T00:00:00Z',
    '2026-11-29T24:00:00Z',
    '2026-11-29T23:59:60Z',
    '2026-11-29',
    '2026-11-29T20:00:00',
    '2026-11-29 20:00:00Z',
    '2026-11-29T20:00:00.1234567Z',
    '1800-01-01T00:00:00Z',
    '1900-01-01T00:00:00+01:00',
    '2299-12-31T23:59:59-01:00',
    '2300-01-01T00:00:00Z',
    '1764446400',
  ].map((text): (typeof cases)[number] => [`"${text}"`, { text, json: `"${text}"` }]),
];

test('a type takes the values that it keeps, and others stay in the rest', async () => {
  for (const type of property_types) {
    const documents = cases.map(([sent]) => `{"a":1.50,"v":${sent},"z":"\\u00e9"}`);
    const rows = await typedRows(documents, [of(type)]);
    for (const [index, [sent, columns]] of cases.entries()) {
      const {
        columns: [value],
        rest,
        unfit,
      } = rows[index]!;
      const about = `${sent} as ${type}`;
      const wanted = columns[type] ?? null;
      const isNumber = type === 'float' && wanted !== null;
      // One zero is the other.
      if (isNumber) assert.ok(value !== null && Number(value) === Number(wanted), about);
      else if (type === 'json' && wanted !== null)
        assert.deepEqual(JSON.parse(value!), JSON.parse(wanted), about);
      else assert.equal(value, wanted, about);
      assert.equal('v' in (JSON.parse(rest) as object), wanted === null, about);
      assert.deepEqual(unfit, wanted === null ? ['v'] : [], about);
    }
  }
});

test('what has no one value stays whole in the rest', async () => {
  const cases: [sent: string, value: string | null, rest: string, unfit: string[]][] = [
    ['{"v":1,"v":2,"w":3}', null, '{"v":1,"v":2,"w":3}', ['v']],
    ['{"w":1,"w":2,"v":3}', '3', '{"w":1,"w":2}', []],
    ['{"v":1,"w":"\\u0001"}', null, '{"v":1,"w":"\\u0001"}', ['']],
    // The half of a pair is what no reader of JSON takes; the whole one stays.
    ['{"v":1,"w":"\\ud800 \\ud83d\\ude00"}', null, '{"v":1,"w":"\\ufffd \\ud83d\\ude00"}', ['']],
    ['{"v":null}', null, '{"v":null}', []],
    ['{ "v" : 7 }', '7', '{}', []],
    ['{}', null, '{}', []],
    ['{"n":{"v":1}}', null, '{"n":{"v":1}}', []],
    ['{"w":123456789012345678901234.50,"v":7}', '7', '{"w":123456789012345678901234.50}', []],
  ];
  const rows = await typedRows(
    cases.map(([sent]) => sent),
    [of('integer')],
  );
  assert.deepEqual(
    rows.map(({ columns, rest, unfit }) => [columns[0], rest, unfit]),
    cases.map(([, ...expected]) => expected),
  );
});

test('without columns the rest is all that was sent', async () => {
  const sent = '{"a": 1.50, "b" : [ ] }';
  assert.deepEqual(
    (await typedRows([sent], [])).map(({ rest }) => JSON.parse(rest)),
    [JSON.parse(sent)],
  );
});
