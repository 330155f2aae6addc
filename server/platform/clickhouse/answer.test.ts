import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../../../test/eventually.ts';
import { openEmbeddedClickHouse } from '../embedded/clickhouse/clickhouse.ts';
import type { EmbeddedStore } from '../embedded/supervise.ts';
import { giveBack, isPooled } from '../memory/buffer_pool.ts';
import { silentLog } from '../log.ts';
import { pipe_header, streamAnswer } from './answer.ts';
import { openClickHouse } from './client.ts';
import type { ClickHouse } from './client.ts';
import { listen, urlOf } from '../../../test/servers/loopback.ts';

let root: string;
let store: EmbeddedStore;
let clickhouse: ClickHouse;

before(async () => {
  root = await mkdtemp(join(tmpdir(), 'sluice-answer-'));
  store = await openEmbeddedClickHouse({ folder: join(root, 'data'), log: silentLog() });
  clickhouse = openClickHouse(store.url, { application: 'sluice-test' });
});

after(async () => {
  await clickhouse.close();
  await store.stop();
  await rm(root, { recursive: true, force: true });
});

const running = async (marker: string): Promise<number> => {
  const like = `%${marker}%`;
  const query =
    'SELECT 1 FROM system.processes WHERE query LIKE {like:String} AND query NOT LIKE ' +
    "'%system.processes%'";
  return (
    await (await clickhouse.query({ query, query_params: { like }, format: 'JSONEachRow' })).json()
  ).length;
};

/**
 * The hash of an answer whose chunks are given back only a while after they came, when later ones
 * are on their way.
 */
async function hashOf(stream: AsyncIterable<Buffer>): Promise<string> {
  const hash = createHash('sha256');
  const held: Buffer[] = [];
  let count = 0;
  for await (const chunk of stream) {
    held.push(chunk);
    count += 1;
    if (count % 50 === 0) await pause(1);
    if (held.length < 40) continue;
    for (const one of held.splice(0, 30)) {
      hash.update(one);
      giveBack(one);
    }
  }
  for (const one of held) hash.update(one);
  return hash.digest('hex');
}

test('an answer through a pipe has the same bytes: 20 at once, large, small, empty', async () => {
  const sizes = Array.from({ length: 20 }, (_, index) => [120_000, 1, 0, 20_000][index % 4]!);
  await Promise.all(
    sizes.map(async (size, index) => {
      const query = `SELECT number + ${index} AS n, repeat('é', number % 40) AS s
        FROM numbers(${size}) FORMAT ${index % 3 === 0 ? 'Parquet' : 'TSV'}`;
      const piped = await streamAnswer(clickhouse, { query });
      assert.equal(
        await hashOf(piped),
        await hashOf((await clickhouse.exec({ query })).stream),
        query,
      );
    }),
  );
  // More than a pipe holds: a smaller one may be through before it is opened here, and is then
  // asked for once more.
  const large = await streamAnswer(clickhouse, {
    query: 'SELECT * FROM numbers(500000) FORMAT TSV',
  });
  const lent: Buffer[] = [];
  large.on('data', (chunk: Buffer) => lent.push(chunk));
  await once(large, 'end');
  assert.ok(lent.length > 1 && lent.every(isPooled));
  // Each costs its reader a turn, so they are large, but for the last.
  assert.ok(lent.slice(0, -1).every(({ length }) => length > 190_000));
});

test('a format that can refuse columns is tried before, unless these are plain', async () => {
  const query = 'SELECT toString(number) AS s FROM numbers(500000) FORMAT Parquet';
  const countSelects = async () => {
    const rows = await clickhouse.rows<{ value: string }>({
      query: "SELECT value FROM system.events WHERE event = 'SelectQuery'",
    });
    return Number(rows[0]?.value);
  };
  const asked = async (is_plain: boolean) => {
    const before = await countSelects();
    await hashOf(await streamAnswer(clickhouse, { query }, { is_plain }));
    // The question of the second count is one of them.
    return (await countSelects()) - before - 1;
  };
  assert.deepEqual([await asked(false), await asked(true)], [2, 1]);
});

test('an error reaches the reader with its code, at any byte, and never as an end', async () => {
  const read = async (query: string) => {
    for await (const _ of await streamAnswer(clickhouse, {
      query,
      clickhouse_settings: { max_block_size: '10000' },
    }));
  };
  await assert.rejects(read('SELECT 1 +'), { code: '62', type: 'SYNTAX_ERROR' });
  await assert.rejects(read('SELECT nothing_like_it FORMAT TSV'), {
    code: '47',
    type: 'UNKNOWN_IDENTIFIER',
  });
  await assert.rejects(read('SELECT sumState(1) FORMAT Parquet'), {
    code: '50',
    type: 'UNKNOWN_TYPE',
  });
  await assert.rejects(
    read('SELECT number, throwIf(number = 200000) FROM numbers(500000) FORMAT TSV'),
    {
      code: '395',
      type: 'FUNCTION_THROW_IF_VALUE_IS_NON_ZERO',
    },
  );
});

test('a reader that leaves stops its query, before the pipe opens and in mid-read', async () => {
  const stopped = (marker: string) =>
    eventually('the query still runs', async () => (await running(marker)) === 0);
  const stream = await streamAnswer(clickhouse, {
    query: 'SELECT * FROM numbers(900000000001) FORMAT TSV',
  });
  stream.once('data', () => stream.pause());
  await eventually('the query does not run', async () => (await running('900000000001')) === 1);
  stream.destroy();
  await stopped('900000000001');

  const leaving = new AbortController();
  const aborted = await streamAnswer(clickhouse, {
    query: 'SELECT * FROM numbers(900000000002) FORMAT TSV',
    abort_signal: leaving.signal,
  });
  const read = hashOf(aborted);
  await eventually('the query does not run', async () => (await running('900000000002')) === 1);
  leaving.abort();
  await assert.rejects(read);
  await stopped('900000000002');

  const { username, password, origin } = new URL(store.url);
  const query = encodeURIComponent('SELECT * FROM numbers(900000000003) FORMAT TSV');
  const gone = request(`${origin}/?query=${query}`, {
    method: 'POST',
    auth: `${username}:${password}`,
    headers: { [pipe_header]: '1' },
  });
  gone.on('error', () => undefined);
  const head = new Promise<unknown>((resolve) => {
    gone.once('response', (response) => resolve(response.headers[pipe_header]));
  });
  gone.end();
  assert.match(String(await head), /pipes/);
  await eventually('the query does not run', async () => (await running('900000000003')) === 1);
  gone.destroy();
  await stopped('900000000003');
});

test('an aborted request without a socket does not end the next user’s socket', async () => {
  await clickhouse.command({ query: 'SELECT 1' });
  // Now there is an idle socket.
  await pause(20);
  const leaving = new AbortController();
  const asked = clickhouse.query({ query: 'SELECT 1', abort_signal: leaving.signal });
  leaving.abort();
  await assert.rejects(asked);
  // Longer than the two seconds after which the client's own timer would end it.
  const { stream } = await clickhouse.exec({
    query: 'SELECT number, sleepEachRow(0.001) FROM numbers(2500) FORMAT TSV',
    clickhouse_settings: {
      max_block_size: '500',
      function_sleep_max_microseconds_per_block: '10000000',
    },
  });
  assert.equal(
    Buffer.concat(await stream.toArray())
      .toString()
      .trimEnd()
      .split('\n').length,
    2_500,
  );
});

test('a store that is killed in the middle is an error', async () => {
  const stream = await streamAnswer(clickhouse, {
    query: 'SELECT * FROM numbers(900000000000) FORMAT TSV',
  });
  stream.once('data', () => process.kill(store.pid!, 'SIGKILL'));
  await assert.rejects(hashOf(stream));
  await eventually('the engine has not come back', async () => (await clickhouse.ping()).success);
});

test('a foreign pipe is not read: the answer comes over HTTP', async () => {
  const file = join(root, 'secret');
  await writeFile(file, 'not for you');
  const asked: unknown[] = [];
  const stranger = createServer((incoming, response) => {
    asked.push(incoming.headers[pipe_header]);
    if (incoming.headers[pipe_header] !== undefined)
      response.setHeader(pipe_header, asked.length === 1 ? file : join(root, 'nowhere'));
    response.end('plain');
  });
  await listen(stranger);
  const away = openClickHouse(urlOf(stranger), {
    application: 'sluice-test',
  });
  for (let round = 0; round < 2; round += 1) {
    const chunks: Buffer[] = [];
    for await (const chunk of await streamAnswer(away, { query: 'SELECT 1' }))
      chunks.push(chunk as Buffer);
    assert.equal(Buffer.concat(chunks).toString(), 'plain');
  }
  assert.deepEqual(asked, ['1', undefined, '1', undefined]);
  await away.close();
  stranger.close();
});
