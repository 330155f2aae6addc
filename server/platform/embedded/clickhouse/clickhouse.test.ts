import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createClient } from '@clickhouse/client';
import type { ClickHouseClient } from '@clickhouse/client';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { eventually } from '../../../../test/eventually.ts';
import { silentLog } from '../../log.ts';
import { openEmbeddedClickHouse } from './clickhouse.ts';
import type { EmbeddedStore } from '../supervise.ts';

const quiet = { level: 127 } as const;

async function bytesOf(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

describe('embedded ClickHouse', () => {
  let root: string;
  let store: EmbeddedStore;
  let client: ClickHouseClient;

  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'sluice-clickhouse-'));
    store = await openEmbeddedClickHouse({ folder: join(root, 'data'), log: silentLog() });
    client = createClient({
      url: store.url,
      log: quiet,
      max_open_connections: 64,
      request_timeout: 60_000,
    });
  });

  after(async () => {
    await client.close();
    await store.stop();
    await rm(root, { recursive: true, force: true });
  });

  const rows = async (
    query: string,
    more: Partial<Parameters<ClickHouseClient['query']>[0]> = {},
  ): Promise<unknown[]> => (await client.query({ query, ...more, format: 'JSONEachRow' })).json();
  const bytes = async (query: string, settings = {}): Promise<Buffer> =>
    bytesOf((await client.exec({ query, clickhouse_settings: settings })).stream);
  const running = async (marker: string): Promise<number> =>
    (
      await rows(
        'SELECT 1 FROM system.processes WHERE query LIKE {like:String} AND query NOT LIKE ' +
          "'%system.processes%'",
        {
          query_params: { like: `%${marker}%` },
        },
      )
    ).length;

  test('answers ping and refuses a wrong password, with ClickHouse’s own error', async () => {
    assert.deepEqual(await client.ping(), { success: true });
    const stranger = createClient({
      url: store.url.replace(/:[0-9a-f]{48}@/, ':wrong@'),
      log: quiet,
    });
    await assert.rejects(stranger.query({ query: 'SELECT 1' }), {
      code: '516',
      type: 'AUTHENTICATION_FAILED',
    });
    assert.equal((await stranger.ping()).success, false);
    await stranger.close();
  });

  test('parameters arrive unchanged: nasty strings, milliseconds, arrays, null, names of tables', async () => {
    const nasty =
      "tab\t line\n return\r quote ' double \" back\\slash \\N \\t {x:String} ; -- 😀 \u0001 \\'";
    const query_params = {
      s: nasty,
      d: new Date('2024-05-05T01:02:03.456Z'),
      list: [nasty, ''],
      none: null,
      t: 'one',
      n: 18446744073709551615n,
    };
    assert.deepEqual(
      await rows(
        'SELECT {s:String} AS s, {d:DateTime64(3)} AS d, {list:Array(String)} AS list, ' +
          '{none:Nullable(String)} AS none, {n:UInt64}::String AS n FROM system.{t:Identifier}',
        { query_params },
      ),
      [
        {
          s: nasty,
          d: '2024-05-05 01:02:03.456',
          list: [nasty, ''],
          none: null,
          n: '18446744073709551615',
        },
      ],
    );
    await client.command({
      query:
        'CREATE TABLE {t:Identifier} (s String, d DateTime64(3)) ENGINE = MergeTree ORDER BY s',
      query_params: { t: 'params' },
    });
    await client.command({
      query: 'INSERT INTO params VALUES ({s:String}, {d:DateTime64(3)})',
      query_params,
    });
    await client.command({
      query: 'INSERT INTO params SELECT {s:String}, {d:DateTime64(3)}',
      query_params,
    });
    await client.insert({
      table: 'params',
      values: [{ s: nasty, d: '2024-05-05 01:02:03.456' }],
      format: 'JSONEachRow',
    });
    assert.deepEqual(
      await rows('SELECT s, d, count() AS n FROM params GROUP BY ALL', {
        clickhouse_settings: { output_format_json_quote_64bit_integers: 0 },
      }),
      [{ s: nasty, d: '2024-05-05 01:02:03.456', n: 3 }],
    );
  });

  test('settings hold for their request and for no other', async () => {
    const threads = "SELECT value FROM system.settings WHERE name = 'max_block_size'";
    const seen = await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        rows(threads, n % 2 ? { clickhouse_settings: { max_block_size: String(1000 + n) } } : {}),
      ),
    );
    assert.deepEqual(
      seen,
      Array.from({ length: 30 }, (_, n) => [{ value: n % 2 ? String(1000 + n) : '65409' }]),
    );
    await assert.rejects(
      rows('SELECT count() FROM numbers(1000000000000)', {
        clickhouse_settings: { max_execution_time: 1 },
      }),
      {
        code: '159',
        type: 'TIMEOUT_EXCEEDED',
      },
    );
    await assert.rejects(
      rows('SELECT length(groupArray(number)) FROM numbers(100000000)', {
        clickhouse_settings: { max_memory_usage: '10000000' },
      }),
      {
        code: '241',
      },
    );
    await assert.rejects(
      rows('SELECT number FROM numbers(100000)', {
        clickhouse_settings: { max_result_rows: '10' },
      }),
      { code: '396' },
    );
    await assert.rejects(
      client.command({
        query: 'CREATE TABLE never (n Int8) ENGINE = Memory',
        clickhouse_settings: { readonly: '1' },
      }),
      {
        code: '164',
        type: 'READONLY',
      },
    );
    await assert.rejects(
      rows('SELECT 1 SETTINGS max_threads = 1', { clickhouse_settings: { readonly: '1' } }),
      { code: '164' },
    );
    await assert.rejects(rows('SELECT 1', { clickhouse_settings: { no_such_setting: 1 } }), {
      code: '115',
    });
  });

  test('errors before the first byte are ClickHouse errors about the text that was sent', async () => {
    await assert.rejects(
      rows('SELECT 1 +'),
      (error: Error & { code?: string; type?: string }) =>
        error.code === '62' && error.type === 'SYNTAX_ERROR' && !error.message.includes(root),
    );
    await assert.rejects(rows('SELECT nothing_like_it'), {
      code: '47',
      type: 'UNKNOWN_IDENTIFIER',
    });
    await assert.rejects(rows('SELECT 1 FROM nowhere'), { code: '60', type: 'UNKNOWN_TABLE' });
    await assert.rejects(rows('SELECT 1; SELECT 2'), /Only one statement/);
    await assert.rejects(client.exec({ query: 'SELECT 1 FORMAT Nonsense' }), {
      code: '73',
      type: 'UNKNOWN_FORMAT',
    });
    await assert.rejects(client.exec({ query: 'SELECT sumState(1) FORMAT Parquet' }), {
      code: '50',
      type: 'UNKNOWN_TYPE',
    });
    for (const format of ['Protobuf', 'GeoJSON', 'PNG', 'Template'])
      await assert.rejects(client.exec({ query: `SELECT 1 FORMAT ${format}` }), /./, format);
  });

  test('an error in mid-result breaks the connection and does not reach the next result', async () => {
    for (const format of ['TabSeparated', 'JSONEachRow', 'Parquet']) {
      await assert.rejects(
        bytes(
          `SELECT number, throwIf(number = 3000000) AS thrown FROM numbers(10000000)
            FORMAT ${format}`,
          {
            max_block_size: '10000',
            output_format_parquet_row_group_size: '10000',
          },
        ),
      );
      assert.equal((await bytes('SELECT 1 FORMAT TabSeparated')).toString(), '1\n');
    }
  });

  test('20 streams at once are each correct to the byte', async () => {
    const totals = await Promise.all(
      Array.from({ length: 20 }, async (_, n) => {
        const hash = createHash('sha256');
        for await (const chunk of (
          await client.exec({ query: `SELECT number + ${n} FROM numbers(300000) FORMAT TSV` })
        ).stream)
          hash.update(chunk as Buffer);
        return hash.digest('hex');
      }),
    );
    const wanted = Array.from({ length: 20 }, (_, n) =>
      createHash('sha256')
        .update(Array.from({ length: 300_000 }, (_unused, i) => `${i + n}\n`).join(''))
        .digest('hex'),
    );
    assert.deepEqual(totals, wanted);
  });

  test('every format is one valid document', async () => {
    const select = "SELECT number AS n, concat('row\t', number) AS s FROM numbers(200000)";
    const lines = (
      await bytes(`${select} FORMAT JSONEachRow`, { output_format_json_quote_64bit_integers: 0 })
    )
      .toString()
      .trimEnd()
      .split('\n');
    assert.deepEqual(
      [lines.length, JSON.parse(lines.at(-1) ?? '')],
      [200_000, { n: 199_999, s: 'row\t199999' }],
    );
    assert.ok((await bytes(`${select} FORMAT TSV`)).toString().endsWith('199999\trow\\t199999\n'));
    const parquet = await bytes(`${select} FORMAT Parquet`, {
      output_format_parquet_row_group_size: '50000',
      output_format_parquet_compression_method: 'snappy',
    });
    const file = parquet.buffer.slice(
      parquet.byteOffset,
      parquet.byteOffset + parquet.length,
    ) as ArrayBuffer;
    assert.deepEqual(
      [parquetMetadata(file).num_rows, parquetMetadata(file).row_groups.length],
      [200_000n, 4],
    );
    assert.deepEqual(await parquetReadObjects({ file, rowStart: 199_999, rowEnd: 200_000 }), [
      { n: 199_999n, s: 'row\t199999' },
    ]);
    assert.equal(
      (JSON.parse((await bytes(`${select} FORMAT JSON`)).toString()) as { rows: number }).rows,
      200_000,
    );
    for (const format of ['Native', 'ArrowStream', 'ORC', 'CSVWithNames']) {
      const copy = await bytes(`${select} FORMAT ${format}`);
      await client.command({
        query: `CREATE OR REPLACE TABLE copied (n UInt64, s String) ENGINE = MergeTree ORDER BY n`,
      });
      const { stream } = await client.exec({
        query: `INSERT INTO copied FORMAT ${format}`,
        values: Readable.from([copy], { objectMode: false }),
      });
      await bytesOf(stream);
      assert.deepEqual(
        await rows('SELECT count()::String AS c, sum(n)::String AS n, max(s) AS s FROM copied'),
        [{ c: '200000', n: '19999900000', s: 'row\t99999' }],
        format,
      );
    }
  });

  test('what is aborted stops within a second, also when the client was slow before it left', async () => {
    for (const slow of [false, true]) {
      const leaving = new AbortController();
      const marker = slow ? 'numbers(900000000001)' : 'numbers(900000000000)';
      const query = slow
        ? `SELECT * FROM ${marker} FORMAT TSV`
        : `SELECT count() FROM ${marker} FORMAT TSV`;
      const asked = client.exec({ query, abort_signal: leaving.signal });
      asked.catch(() => {});
      if (slow) (await asked).stream.once('readable', () => {}).on('error', () => {});
      await eventually('the query does not run', async () => (await running(marker)) === 1);
      const began = performance.now();
      if (slow) (await asked).stream.destroy();
      else leaving.abort();
      await eventually('the query still runs', async () => (await running(marker)) === 0);
      assert.ok(performance.now() - began < 1_000);
    }
  });

  test('inserts stream, are bound by nothing but their format, and count only when whole', async () => {
    await client.command({
      query:
        "CREATE TABLE streamed (n UInt64, s String DEFAULT 'none') ENGINE = MergeTree ORDER BY n",
    });
    const line = (n: number): string => `${JSON.stringify({ n, s: 'x'.repeat(1000) })}\n`;
    await client.insert({
      table: 'streamed',
      format: 'JSONEachRow',
      values: Readable.from(Array.from({ length: 20_000 }, (_, n) => ({ n, s: 'x'.repeat(1000) }))),
    });
    const body = Readable.from(
      Array.from({ length: 20 }, (_, k) =>
        Buffer.from(
          Array.from({ length: 1000 }, (_unused, n) => line(20_000 + k * 1000 + n)).join(''),
        ),
      ),
      { objectMode: false },
    );
    await bytesOf(
      (await client.exec({ query: 'INSERT INTO streamed FORMAT JSONEachRow', values: body }))
        .stream,
    );
    await client.command({
      query: `INSERT INTO streamed (n) VALUES
        ${Array.from({ length: 1000 }, (_, n) => `(${40_000 + n})`).join(', ')}`,
    });
    assert.deepEqual(
      await rows(
        "SELECT count()::UInt32 AS c, sum(n)::UInt32 AS sum, countIf(s = 'none')::UInt32 AS d " +
          'FROM streamed',
      ),
      [{ c: 41_000, sum: (40_999 * 41_000) / 2, d: 1000 }],
    );
    await assert.rejects(
      client.insert({ table: 'streamed', format: 'JSONEachRow', values: [{ n: 'no number' }] }),
      { code: '27' },
    );
    await assert.rejects(
      client.insert({
        table: 'nowhere',
        format: 'JSONEachRow',
        values: Readable.from(
          Array.from({ length: 20_000 }, (_, n) => ({ n, s: 'x'.repeat(1000) })),
        ),
      }),
      { code: '60' },
    );

    const leaving = new AbortController();
    const endless = new Readable({ read() {} });
    endless.push(line(99_999_999));
    const broken = client.exec({
      query: 'INSERT INTO streamed FORMAT JSONEachRow',
      values: endless,
      abort_signal: leaving.signal,
    });
    broken.catch(() => {});
    await eventually(
      'the query does not run',
      async () => (await running('INTO streamed%INFILE')) === 1,
    );
    leaving.abort();
    await assert.rejects(broken);
    await eventually(
      'the query still runs',
      async () => (await running('INTO streamed%INFILE')) === 0,
    );
    assert.deepEqual(await rows('SELECT count()::UInt32 AS c FROM streamed'), [{ c: 41_000 }]);
  });

  test('a big result streams through bounded memory', async (context) => {
    const rss = (): number =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${store.pid}/status`, 'utf8'))?.[1]) / 1024;
    const start = rss();
    let peak = 0;
    let total = 0;
    const { stream } = await client.exec({
      query: "SELECT number, repeat('x', 500) AS s FROM numbers(1000000) FORMAT JSONEachRow",
    });
    for await (const chunk of stream) {
      total += (chunk as Buffer).length;
      if (total % 8 === 0) await pause(1);
      peak = Math.max(peak, rss());
    }
    context.diagnostic(
      `${Math.round(total / 1e6)} MB through the child: ${Math.round(start)} MB before, ` +
        `${Math.round(peak)} MB at most`,
    );
    assert.ok(total > 500e6);
    assert.ok(peak - start < 400);
  });

  test('a second process on the folder is refused with a sentence', async () => {
    await assert.rejects(
      openEmbeddedClickHouse({ folder: join(root, 'data'), log: silentLog() }),
      /in use by another process/,
    );
  });

  test('after kill -9 it comes back on the same URL with everything acknowledged', async () => {
    await client.command({
      query:
        'CREATE TABLE written (n UInt64) ENGINE = MergeTree ORDER BY n SETTINGS ' +
        'fsync_after_insert = 1',
    });
    for (let round = 0; round < 2; round++) {
      const first = store.pid;
      assert.ok(first);
      let acknowledged = 0;
      const reader = bytes('SELECT number FROM numbers(1000000000) FORMAT TSV');
      reader.catch(() => {});
      const writers = Array.from({ length: 3 }, async (_, w) => {
        for (let n = 0; ; n++) {
          await client.insert({
            table: 'written',
            format: 'JSONEachRow',
            values: [{ n: (round * 3 + w) * 1_000_000 + n }],
          });
          acknowledged += 1;
          if (acknowledged === 30) process.kill(first, 'SIGKILL');
        }
      });
      await Promise.all([
        ...writers.map((writer) => assert.rejects(writer)),
        assert.rejects(reader),
      ]);
      await eventually('the engine has not come back', async () => (await client.ping()).success);
      const [found] = (await rows(
        'SELECT count()::UInt32 AS c FROM written WHERE n >= {from:UInt64}',
        { query_params: { from: round * 3_000_000 } },
      )) as {
        c: number;
      }[];
      // What was under way when it died may be there too: three inserts at most.
      assert.ok(
        found && found.c >= acknowledged && found.c <= acknowledged + 3,
        `${found?.c} found, ${acknowledged} acknowledged`,
      );
      assert.notEqual(store.pid, first);
    }
  });
});
