import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shareHarness } from '../../../../test/harness.ts';
import { filterCondition } from './criteria.ts';

const harness = shareHarness({ clickhouse: true });

/** Returns the documents that a property with this value finds. */
async function found(key: string, value: string | number | boolean, documents: string[]) {
  const { condition, query_params } = filterCondition({ properties: [{ key, value }] });
  const rows = await harness.deps.clickhouse.rows<{ properties: string }>({
    query: `SELECT properties FROM (SELECT arrayJoin({documents:Array(String)}) AS properties)
      WHERE ${condition}`,
    query_params: { ...query_params, documents },
  });
  return rows.map(({ properties }) => properties);
}

test('values are found beside what the reader of the store gives a document up for', async () => {
  const mails = ['{"mail":"x@y.z","n":1e400}', '{"mail":"x@y.z","t":"\\ud800"}'];
  const others = ['{"mail":"other","n":1e400}', '{"mail":1e400}', '{"n":"x@y.z","m":1e400}'];
  const plain = '{"mail":"x@y.z"}';
  assert.deepEqual(await found('mail', 'x@y.z', [...mails, plain, ...others]), [...mails, plain]);
  assert.deepEqual(await found('mail', '1e400', others), []);
});

test('a text is not the number, or the truth, that it looks like', async () => {
  const numbers = ['{"n":1}', '{"n":1,"m":1e400}'];
  const texts = ['{"n":"1"}', '{"n":"1","m":1e400}'];
  assert.deepEqual(await found('n', 1, [...numbers, ...texts]), numbers);
  assert.deepEqual(await found('n', '1', [...numbers, ...texts]), texts);
  const truths = ['{"n":true}', '{"n":true,"m":1e400}'];
  assert.deepEqual(await found('n', true, [...truths, '{"n":"true","m":1e400}']), truths);
});
