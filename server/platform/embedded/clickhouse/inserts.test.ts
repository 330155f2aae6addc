import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { eventually } from '../../../../test/eventually.ts';
import {
  bytesOf,
  openOwnClickHouse,
} from '../../../../test/factories/events/embedded_clickhouse.ts';
import { aroundTests } from '../../../../test/around_tests.ts';

/** Rows of a kilobyte that one insert streams. */
const streamed = 5_000;
const all = 2 * streamed + 1_000;

const own = aroundTests(openOwnClickHouse);

test('inserts stream, are bound by their format alone, count only when whole', async () => {
  await own.client.command({
    query:
      "CREATE TABLE streamed (n UInt64, s String DEFAULT 'none') ENGINE = MergeTree ORDER BY n",
  });
  const line = (n: number): string => `${JSON.stringify({ n, s: 'x'.repeat(1000) })}\n`;
  await own.client.insert({
    table: 'streamed',
    format: 'JSONEachRow',
    values: Readable.from(Array.from({ length: streamed }, (_, n) => ({ n, s: 'x'.repeat(1000) }))),
  });
  const body = Readable.from(
    Array.from({ length: 20 }, (_, k) =>
      Buffer.from(
        Array.from({ length: 250 }, (_unused, n) => line(streamed + k * 250 + n)).join(''),
      ),
    ),
    { objectMode: false },
  );
  await bytesOf(
    (await own.client.exec({ query: 'INSERT INTO streamed FORMAT JSONEachRow', values: body }))
      .stream,
  );
  await own.client.command({
    query: `INSERT INTO streamed (n) VALUES
      ${Array.from({ length: 1000 }, (_, n) => `(${2 * streamed + n})`).join(', ')}`,
  });
  assert.deepEqual(
    await own.rows(
      "SELECT count()::UInt32 AS c, sum(n)::UInt32 AS sum, countIf(s = 'none')::UInt32 AS d " +
        'FROM streamed',
    ),
    [{ c: all, sum: ((all - 1) * all) / 2, d: 1000 }],
  );
  await assert.rejects(
    own.client.insert({ table: 'streamed', format: 'JSONEachRow', values: [{ n: 'no number' }] }),
    { code: '27' },
  );
  await assert.rejects(
    own.client.insert({
      table: 'nowhere',
      format: 'JSONEachRow',
      values: Readable.from(
        Array.from({ length: streamed }, (_, n) => ({ n, s: 'x'.repeat(1000) })),
      ),
    }),
    { code: '60' },
  );

  const leaving = new AbortController();
  const endless = new Readable({ read() {} });
  endless.push(line(99_999_999));
  const broken = own.client.exec({
    query: 'INSERT INTO streamed FORMAT JSONEachRow',
    values: endless,
    abort_signal: leaving.signal,
  });
  broken.catch(() => {});
  await eventually(
    'the query does not run',
    async () => (await own.running('INTO streamed%INFILE')) === 1,
  );
  leaving.abort();
  await assert.rejects(broken);
  await eventually(
    'the query still runs',
    async () => (await own.running('INTO streamed%INFILE')) === 0,
  );
  assert.deepEqual(await own.rows('SELECT count()::UInt32 AS c FROM streamed'), [{ c: all }]);
});
