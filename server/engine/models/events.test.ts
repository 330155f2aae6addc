import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { openClickHouseBytes } from '../../../test/servers/databases/clickhouse_bytes.ts';
import type { ClickHouseBytes } from '../../../test/servers/databases/clickhouse_bytes.ts';
import { digest_settings, digestExpression } from '../formats/digest_expression.ts';
import { literal } from '../formats/expression.ts';
import { content_encoding, selectFor } from '../formats/select.ts';
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

const objects = ['$set', '$set_once', '$SET', 'set', '$set ', '$unset'].flatMap((key) => [
  `{"${key}":{"a":1}}`,
  `{"nested":{"${key}":{"a":1}}}`,
  `{"a":"${key}"}`,
  `{"a":"\\"${key}\\":{}"}`,
  `{"${key}":1,"${key}":{"b": [2]}}`,
  `{ "x" : 1 , "${key}" : "" }`,
  `{"${key}":null}`,
  ...Array.from(key, (_character, at) => `{"${escaped(key, at)}":{"a":1}}`),
  ...Array.from(key, (_character, at) => `{"${escaped(key, at).toUpperCase()}":{"a":1}}`),
]);
const odd = ['', '{', '$set', '"$set"', '["$set"]', '{"$set":{"a":1}', '{"$set":1e400}', 'null'];
const generated = fc
  .sample(
    fc.record(
      { $set: fc.json(), '\\u0024set_once': fc.json(), other: fc.json() },
      { requiredKeys: [] },
    ),
    { numRuns: 300, seed: 74 },
  )
  .map((entries) => `{${Object.entries(entries).map(([key, value]) => `"${key}":${value}`)}}`);

test('what an event sets is found in any form that JSON gives its name', async () => {
  const columns = events.columns.tables.filter(({ name }) => name.startsWith('set'));
  // As it was before the names were looked for: an older receipt has the digest of these.
  const plain: Column[] = columns.map((column) => ({
    ...column,
    expression: `nullIf(JSONExtractRaw(properties, '$${column.name}'), '')`,
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
