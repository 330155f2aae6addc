import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { inDepth } from '../../../../test/depth.ts';
import { eventually } from '../../../../test/eventually.ts';
import { openOwnClickHouse } from '../../../../test/factories/events/embedded_clickhouse.ts';
import { aroundTests } from '../../../../test/around_tests.ts';

const own = aroundTests(openOwnClickHouse);

test('an error in mid-result breaks the connection and does not reach the next one', async () => {
  for (const format of ['TabSeparated', 'JSONEachRow', 'Parquet']) {
    await assert.rejects(
      own.bytes(
        `SELECT number, throwIf(number = 200000) AS thrown FROM numbers(500000)
          FORMAT ${format}`,
        {
          max_block_size: '10000',
          output_format_parquet_row_group_size: '10000',
          // As exports ask: several encoders hang now and then.
          output_format_parquet_parallel_encoding: 0,
        },
      ),
    );
    assert.equal((await own.bytes('SELECT 1 FORMAT TabSeparated')).toString(), '1\n');
  }
});

test('20 streams at once are each correct to the byte', async () => {
  const totals = await Promise.all(
    Array.from({ length: 20 }, async (_, n) => {
      const hash = createHash('sha256');
      for await (const chunk of (
        await own.client.exec({ query: `SELECT number + ${n} FROM numbers(50000) FORMAT TSV` })
      ).stream)
        hash.update(chunk as Buffer);
      return hash.digest('hex');
    }),
  );
  const numbers = Array.from({ length: 50_020 }, (_, number) => `${number}\n`);
  const all = numbers.join('');
  const bytesOf = (some: string[]) => some.join('').length;
  const wanted = Array.from({ length: 20 }, (_, n) =>
    createHash('sha256')
      .update(all.slice(bytesOf(numbers.slice(0, n)), -bytesOf(numbers.slice(n + 50_000))))
      .digest('hex'),
  );
  assert.deepEqual(totals, wanted);
});

test('an aborted request stops, even if the client was slow before', async () => {
  for (const slow of [false, true]) {
    const leaving = new AbortController();
    const marker = slow ? 'numbers(900000000001)' : 'numbers(900000000000)';
    const query = slow
      ? `SELECT * FROM ${marker} FORMAT TSV`
      : `SELECT count() FROM ${marker} FORMAT TSV`;
    const asked = own.client.exec({ query, abort_signal: leaving.signal });
    asked.catch(() => {});
    if (slow) (await asked).stream.once('readable', () => {}).on('error', () => {});
    await eventually('the query does not run', async () => (await own.running(marker)) === 1);
    if (slow) (await asked).stream.destroy();
    else leaving.abort();
    // By itself it would work for many minutes.
    await eventually('the query still runs', async () => (await own.running(marker)) === 0);
  }
});

test('a big result streams through bounded memory', async (context) => {
  const rss = (): number =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${own.store.pid}/status`, 'utf8'))?.[1]) /
    1024;
  const rows = inDepth(150_000, 300_000);
  const start = rss();
  let peak = 0;
  let total = 0;
  const { stream } = await own.client.exec({
    query: `SELECT number, repeat('x', 500) AS s FROM numbers(${rows}) FORMAT JSONEachRow`,
    clickhouse_settings: { max_threads: 1, max_block_size: '1000' },
  });
  for await (const chunk of stream) {
    // A client that is slow at first: whatever is not held back by it lies in the child's memory.
    if (total === 0) await pause(1_000);
    total += (chunk as Buffer).length;
    peak = Math.max(peak, rss());
  }
  context.diagnostic(
    `${Math.round(total / 1e6)} MB through the child: ${Math.round(start)} MB before, ` +
      `${Math.round(peak)} MB at most`,
  );
  assert.ok(total > rows * 500);
  assert.ok(peak - start < 40);
});
