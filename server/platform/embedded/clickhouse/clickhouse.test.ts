import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { createClient } from '@clickhouse/client';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { inDepth } from '../../../../test/depth.ts';
import { eventually } from '../../../../test/eventually.ts';
import { silentLog } from '../../log.ts';
import { mayRaisePriority } from '../../processes/process_priority.ts';
import { openEmbeddedClickHouse } from './clickhouse.ts';
import {
  bytesOf,
  openOwnClickHouse,
} from '../../../../test/factories/events/embedded_clickhouse.ts';
import { aroundTests } from '../../../../test/around_tests.ts';

const quiet = { level: 127 } as const;
const own = aroundTests(openOwnClickHouse);

test('answers ping and refuses a wrong password, with ClickHouse’s own error', async () => {
  assert.deepEqual(await own.client.ping(), { success: true });
  const stranger = createClient({
    url: own.store.url.replace(/:[0-9a-f]{48}@/, ':wrong@'),
    log: quiet,
  });
  await assert.rejects(stranger.query({ query: 'SELECT 1' }), {
    code: '516',
    type: 'AUTHENTICATION_FAILED',
  });
  assert.equal((await stranger.ping()).success, false);
  await stranger.close();
});

test('stands back from others, as far as from large answers where it could not come back', () => {
  assert.equal(getPriority(own.store.pid), mayRaisePriority() ? 5 : 15);
});

test('parameters arrive unchanged: strings, milliseconds, arrays, null, tables', async () => {
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
    await own.rows(
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
  await own.client.command({
    query: 'CREATE TABLE {t:Identifier} (s String, d DateTime64(3)) ENGINE = MergeTree ORDER BY s',
    query_params: { t: 'params' },
  });
  await own.client.command({
    query: 'INSERT INTO params VALUES ({s:String}, {d:DateTime64(3)})',
    query_params,
  });
  await own.client.command({
    query: 'INSERT INTO params SELECT {s:String}, {d:DateTime64(3)}',
    query_params,
  });
  await own.client.insert({
    table: 'params',
    values: [{ s: nasty, d: '2024-05-05 01:02:03.456' }],
    format: 'JSONEachRow',
  });
  assert.deepEqual(
    await own.rows('SELECT s, d, count() AS n FROM params GROUP BY ALL', {
      clickhouse_settings: { output_format_json_quote_64bit_integers: 0 },
    }),
    [{ s: nasty, d: '2024-05-05 01:02:03.456', n: 3 }],
  );
});

test('settings hold for their request and for no other', async () => {
  const threads = "SELECT value FROM system.settings WHERE name = 'max_block_size'";
  const seen = await Promise.all(
    Array.from({ length: 30 }, (_, n) =>
      own.rows(threads, n % 2 ? { clickhouse_settings: { max_block_size: String(1000 + n) } } : {}),
    ),
  );
  assert.deepEqual(
    seen,
    Array.from({ length: 30 }, (_, n) => [{ value: n % 2 ? String(1000 + n) : '65409' }]),
  );
  await assert.rejects(
    // One that counts would hold all cores until its time is over.
    own.rows('SELECT sum(sleepEachRow(0.02)) FROM numbers(300)', {
      clickhouse_settings: { max_execution_time: 1, max_block_size: '1' },
    }),
    {
      code: '159',
      type: 'TIMEOUT_EXCEEDED',
    },
  );
  await assert.rejects(
    own.rows('SELECT length(groupArray(number)) FROM numbers(100000000)', {
      clickhouse_settings: { max_memory_usage: '10000000' },
    }),
    {
      code: '241',
    },
  );
  await assert.rejects(
    own.rows('SELECT number FROM numbers(100000)', {
      clickhouse_settings: { max_result_rows: '10' },
    }),
    { code: '396' },
  );
  await assert.rejects(
    own.client.command({
      query: 'CREATE TABLE never (n Int8) ENGINE = Memory',
      clickhouse_settings: { readonly: '1' },
    }),
    {
      code: '164',
      type: 'READONLY',
    },
  );
  await assert.rejects(
    own.rows('SELECT 1 SETTINGS max_threads = 1', { clickhouse_settings: { readonly: '1' } }),
    { code: '164' },
  );
  await assert.rejects(own.rows('SELECT 1', { clickhouse_settings: { no_such_setting: 1 } }), {
    code: '115',
  });
});

test("errors before the first byte are ClickHouse's, about the text that was sent", async () => {
  await assert.rejects(
    own.rows('SELECT 1 +'),
    (error: Error & { code?: string; type?: string }) =>
      error.code === '62' && error.type === 'SYNTAX_ERROR' && !error.message.includes(own.root),
  );
  await assert.rejects(own.rows('SELECT nothing_like_it'), {
    code: '47',
    type: 'UNKNOWN_IDENTIFIER',
  });
  await assert.rejects(own.rows('SELECT 1 FROM nowhere'), { code: '60', type: 'UNKNOWN_TABLE' });
  await assert.rejects(own.rows('SELECT 1; SELECT 2'), /Only one statement/);
  await assert.rejects(own.client.exec({ query: 'SELECT 1 FORMAT Nonsense' }), {
    code: '73',
    type: 'UNKNOWN_FORMAT',
  });
  await assert.rejects(own.client.exec({ query: 'SELECT sumState(1) FORMAT Parquet' }), {
    code: '50',
    type: 'UNKNOWN_TYPE',
  });
  for (const format of ['Protobuf', 'GeoJSON', 'PNG', 'Template'])
    await assert.rejects(own.client.exec({ query: `SELECT 1 FORMAT ${format}` }), /./, format);
});

test('every format is one valid document', async () => {
  const select = "SELECT number AS n, concat('row\t', number) AS s FROM numbers(20000)";
  const lines = (
    await own.bytes(`${select} FORMAT JSONEachRow`, { output_format_json_quote_64bit_integers: 0 })
  )
    .toString()
    .trimEnd()
    .split('\n');
  assert.deepEqual(
    [lines.length, JSON.parse(lines.at(-1) ?? '')],
    [20_000, { n: 19_999, s: 'row\t19999' }],
  );
  assert.ok((await own.bytes(`${select} FORMAT TSV`)).toString().endsWith('19999\trow\\t19999\n'));
  const parquet = await own.bytes(`${select} FORMAT Parquet`, {
    output_format_parquet_row_group_size: '5000',
    output_format_parquet_compression_method: 'snappy',
  });
  const file = parquet.buffer.slice(
    parquet.byteOffset,
    parquet.byteOffset + parquet.length,
  ) as ArrayBuffer;
  assert.deepEqual(
    [parquetMetadata(file).num_rows, parquetMetadata(file).row_groups.length],
    [20_000n, 4],
  );
  assert.deepEqual(await parquetReadObjects({ file, rowStart: 19_999, rowEnd: 20_000 }), [
    { n: 19_999n, s: 'row\t19999' },
  ]);
  assert.equal(
    (JSON.parse((await own.bytes(`${select} FORMAT JSON`)).toString()) as { rows: number }).rows,
    20_000,
  );
  for (const format of ['Native', 'ArrowStream', 'ORC', 'CSVWithNames']) {
    const copy = await own.bytes(`${select} FORMAT ${format}`);
    await own.client.command({
      query: `CREATE OR REPLACE TABLE copied (n UInt64, s String) ENGINE = MergeTree ORDER BY n`,
    });
    const { stream } = await own.client.exec({
      query: `INSERT INTO copied FORMAT ${format}`,
      values: Readable.from([copy], { objectMode: false }),
    });
    await bytesOf(stream);
    assert.deepEqual(
      await own.rows('SELECT count()::String AS c, sum(n)::String AS n, max(s) AS s FROM copied'),
      [{ c: '20000', n: '199990000', s: 'row\t9999' }],
      format,
    );
  }
});

test('a second process on the folder is refused with a sentence', async () => {
  await assert.rejects(
    openEmbeddedClickHouse({
      folder: join(own.root, 'data'),
      log: silentLog(),
      // In production ten.
      start_seconds_max: 0.5,
    }),
    /in use by another process/,
  );
});

test('an engine that does not start says what its log told', async () => {
  const folder = join(own.root, 'no_folder');
  mkdirSync(folder);
  writeFileSync(join(folder, 'data'), 'a file where its folder is to be');
  await assert.rejects(
    openEmbeddedClickHouse({ folder, log: silentLog(), start_seconds_max: 0.05 }),
    /says why: Error: Failed to create connection/,
  );
});

test('after kill -9 it comes back on the same URL with everything acknowledged', async () => {
  await own.client.command({
    query:
      'CREATE TABLE written (n UInt64) ENGINE = MergeTree ORDER BY n SETTINGS ' +
      'fsync_after_insert = 1',
  });
  for (let round = 0; round < inDepth(1, 2); round++) {
    const first = own.store.pid;
    assert.ok(first);
    let acknowledged = 0;
    // A megabyte each second: what is read as fast as it can be costs whole cores until the kill.
    const reader = own.bytes(
      "SELECT repeat('x', 1000), sleepEachRow(0.001) FROM numbers(1000000) FORMAT TSV",
      { max_block_size: '100' },
    );
    reader.catch(() => {});
    const writers = Array.from({ length: 3 }, async (_, w) => {
      for (let n = 0; ; n++) {
        await own.client.insert({
          table: 'written',
          format: 'JSONEachRow',
          values: [{ n: (round * 3 + w) * 1_000_000 + n }],
        });
        acknowledged += 1;
        if (acknowledged === 30) process.kill(first, 'SIGKILL');
      }
    });
    await Promise.all([...writers.map((writer) => assert.rejects(writer)), assert.rejects(reader)]);
    await eventually('the engine has not come back', async () => (await own.client.ping()).success);
    const [found] = (await own.rows(
      'SELECT count()::UInt32 AS c FROM written WHERE n >= {from:UInt64}',
      { query_params: { from: round * 3_000_000 } },
    )) as {
      c: number;
    }[];
    // The three inserts in progress when it died may be stored too.
    assert.ok(
      found && found.c >= acknowledged && found.c <= acknowledged + 3,
      `${found?.c} found, ${acknowledged} acknowledged`,
    );
    assert.notEqual(own.store.pid, first);
  }
});
