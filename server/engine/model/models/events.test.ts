import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { openClickHouseBytes } from '../../../../test/servers/databases/clickhouse_bytes.ts';
import type { ClickHouseBytes } from '../../../../test/servers/databases/clickhouse_bytes.ts';
import { digest_settings, digestExpression } from '../../destinations/formats/digest_expression.ts';
import { literal } from '../../destinations/formats/expression.ts';
import { content_encoding, selectFor } from '../../destinations/formats/select.ts';
import type { Column } from './column.ts';
import { events } from './events.ts';

let clickhouse: ClickHouseBytes;
before(() => {
  clickhouse = openClickHouseBytes();
});
after(() => clickhouse.close());

/** Each character of a key may be written as an escape of its code. */
function escaped(key: string, at: number): string {
  const code = key.charCodeAt(at).toString(16).padStart(4, '0');
  return `${key.slice(0, at)}\\u${code}${key.slice(at + 1)}`;
}

const keys = ['$set', '$set_once', '$ip', '$current_url', '$SET', 'set', '$set ', '$unset'];
const objects = keys.flatMap((key) => [
  `{"${key}":{"a":1}}`,
  `{"nested":{"${key}":{"a":1}}}`,
  `{"a":"${key}"}`,
  `{"a":"\\"${key}\\":{}"}`,
  `{"${key}":1,"${key}":{"b": [2]}}`,
  `{ "x" : 1 , "${key}" : "" }`,
  `{"${key}":null}`,
  `{"${key}":"x \\u0000 \\"y\\" \\ud83d\\ude00"}`,
  `{"${key}":7.50,"a":"${key}"}`,
  ...Array.from(key, (_character, at) => `{"${escaped(key, at)}":{"a":1}}`),
  ...Array.from(key, (_character, at) => `{"${escaped(key, at).toUpperCase()}":{"a":1}}`),
]);
const odd = ['', '{', '$set', '"$set"', '["$set"]', '{"$set":{"a":1}', 'null'];
const generated = fc
  .sample(
    fc.record(
      { $set: fc.json(), '\\u0024set_once': fc.json(), $ip: fc.json(), other: fc.json() },
      { requiredKeys: [] },
    ),
    { numRuns: 300, seed: 74 },
  )
  .map((entries) => `{${Object.entries(entries).map(([key, value]) => `"${key}":${value}`)}}`)
  // The extraction finds nothing in JSON with such a number; see the test below.
  .filter((text) => !/\d{19}/.test(text));

const plain_expressions: Record<string, string> = {
  set: "nullIf(JSONExtractRaw(properties, '$set'), '')",
  set_once: "nullIf(JSONExtractRaw(properties, '$set_once'), '')",
  ip: "nullIf(JSONExtractString(properties, '$ip'), '')",
  site_url: "nullIf(JSONExtractString(properties, '$current_url'), '')",
};

test('$set is found in any form that JSON gives its name', async () => {
  const columns = events.columns.tables.filter(({ name }) => name in plain_expressions);
  // As it was before the names were looked for: an older receipt has the digest of these.
  const plain: Column[] = columns.map((column) => ({
    ...column,
    expression: plain_expressions[column.name] ?? '',
  }));
  const texts = [...objects, ...odd, ...generated];
  const from = `(SELECT arrayJoin([${texts.map(literal).join(', ')}]) AS properties)`;
  for (const encoding of [
    content_encoding,
    { format: 'TabSeparated', compression: null } as const,
    { format: 'TabSeparated', compression: null, is_exact: true } as const,
  ]) {
    const bytesOf = (of: Column[]) => clickhouse.bytes(selectFor(encoding, of), from);
    const [found, expected] = [await bytesOf(columns), await bytesOf(plain)];
    assert.equal(found.toString(), expected.toString());
    assert.ok(
      found
        .toString()
        .split('\n')
        .filter((line) => line.includes('{')).length > 50,
    );
  }
  const digestOf = async (of: Column[]) => {
    const { expressions, settings } = selectFor(content_encoding, of);
    const digest = { expressions: digestExpression(of), format: 'TSVRaw' };
    return clickhouse.bytes(
      { ...digest, settings: { ...settings, ...digest_settings } },
      `(SELECT ${expressions} FROM ${from})`,
    );
  };
  assert.deepEqual(await digestOf(columns), await digestOf(plain));
});

test('one number beyond 64 bits takes nothing of an event from its columns', async () => {
  const columns = events.columns.tables.filter(({ name }) => name in plain_expressions);
  const wide = '12345678901234567890123';
  const cases: [properties: string, values: (string | null)[]][] = [
    [
      `{"$set":{"p":"q"},"$set_once":[1.10,"2"],"$ip":"1.2.3.4","$current_url":"a","n":${wide}}`,
      ['{"p":"q"}', '[1.10,"2"]', '1.2.3.4', 'a'],
    ],
    [`{"$set":{"n":${wide},"s":"${wide}"}}`, [`{"n":${wide},"s":"${wide}"}`, null, null, null]],
    [`{"$set":1e400,"$ip":${wide}}`, ['1e400', null, wide, null]],
    [`{"$set":"a\\"b: ${wide}","n":-${wide}}`, [`"a\\"b: ${wide}"`, null, null, null]],
    [`{"$ip":"","$current_url":null,"a":"$set","n":${wide}}`, [null, null, null, null]],
    ['{"$ip":"1.2.3.4","half":"\\ud800"}', [null, null, '1.2.3.4', null]],
  ];
  const texts = cases.map(([text]) => literal(text));
  const from = `(SELECT arrayJoin([${texts.join(', ')}]) AS properties)`;
  const bytes = await clickhouse.bytes(selectFor(content_encoding, columns), from);
  const cell = (value: string | null) => (value === null ? '' : `"${value.replaceAll('"', '""')}"`);
  assert.equal(
    bytes.toString(),
    ['set,set_once,ip,site_url'.replaceAll(/\w+/g, '"$&"')]
      .concat(cases.map(([, values]) => values.map(cell).join(',')))
      .map((line) => `${line}\n`)
      .join(''),
  );
});
