import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createClient } from '@clickhouse/client';
import { eventually } from '../../../../test/eventually.ts';
import { silentLog } from '../../log.ts';
import type { EmbeddedStore } from '../supervise.ts';
import { openEmbeddedClickHouse } from './clickhouse.ts';

/** In production two minutes. */
const hung_ms = 5_000;
let folder: string;
let opened_at: number;
let store: EmbeddedStore;
let client: ReturnType<typeof createClient>;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-clickhouse-'));
  store = await openEmbeddedClickHouse({ folder, log: silentLog(), hung_ms });
  opened_at = performance.now();
  client = createClient({
    url: store.url,
    log: { level: 127 },
    max_open_connections: 100,
    keep_alive: { idle_socket_ttl: 0 },
  });
});
after(async () => {
  await client?.close();
  await store?.stop();
  await rm(folder, { recursive: true, force: true });
});

async function memory(): Promise<number> {
  const result = await client.query({
    query: "SELECT toFloat64(value) FROM system.metrics WHERE metric = 'MemoryTracking'",
    format: 'TabSeparated',
  });
  return Number(await result.text());
}

test('an answer without a reader returns its pipe', async () => {
  const pipes = readdirSync(join(folder, 'pipes')).length;
  // One block, larger than a pipe and than what is on its way: the query is over, and its end waits
  // for a reader.
  const query = "SELECT number, repeat('x', 2000) FROM numbers(900) FORMAT JSONEachRow";
  const text = await (
    await client.query({ query: query.replace(' FORMAT JSONEachRow', ''), format: 'JSONEachRow' })
  ).text();
  assert.ok(text.length > 1_800_000, `${text.length} bytes`);
  for (let count = 0; count < pipes + 8; count += 1) {
    const { stream } = await client.exec({ query, abort_signal: AbortSignal.timeout(20_000) });
    stream.destroy();
  }
  const asked = await client.query({
    query: 'SELECT 1',
    format: 'TabSeparated',
    abort_signal: AbortSignal.timeout(20_000),
  });
  assert.equal(await asked.text(), '1\n');
});

test('beside one long query the connections of the others are not kept', async () => {
  const leaving = new AbortController();
  const long = client.query({
    query: 'SELECT sleepEachRow(1) FROM numbers(100)',
    clickhouse_settings: {
      max_block_size: '1',
      function_sleep_max_microseconds_per_block: '1000000000',
    },
    abort_signal: leaving.signal,
  });
  long.catch(() => {});
  const before_bytes = await memory();
  for (let count = 0; count < 75; count += 1)
    await (await client.query({ query: `SELECT ${count}`, format: 'TabSeparated' })).text();
  const grown = ((await memory()) - before_bytes) / 1e6;
  leaving.abort();
  await assert.rejects(long);
  // Kept, each of them would be counted with 2 MB.
  assert.ok(grown < 100, `${Math.round(grown)} MB more`);
});

test('a process that hangs is killed and started again', async () => {
  const first = store.pid;
  assert.ok(first !== undefined);
  // For as long as it works it is left alone, also by itself.
  await pause(Math.max(0, opened_at + hung_ms + 1_000 - performance.now()));
  assert.equal(store.pid, first);
  process.kill(first, 'SIGSTOP');
  await eventually(
    'it has not been started again',
    async () => store.pid !== first && (await client.ping()).success,
  );
});
