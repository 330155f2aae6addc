import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after, before, test } from 'node:test';
import { zstdCompressSync } from 'node:zlib';
import { createClient } from '@clickhouse/client';
import type { ClickHouseClient } from '@clickhouse/client';
import { openClickHouseProxy } from '../../../../test/servers/clickhouse_proxy.ts';
import type { ClickHouseProxy } from '../../../../test/servers/clickhouse_proxy.ts';
import { eventually } from '../../../../test/eventually.ts';
import {
  deliverAgain,
  killDelivery,
  repeatedSlices,
} from '../../../../test/processes/killed_delivery.ts';
import type { DeliveryOrders, KillPlace } from '../../../../test/processes/killed_delivery.ts';
import { uuidDelivery } from '../../../../test/servers/postgres_destination.ts';
import { openEmbeddedClickHouse } from '../../../platform/embedded/clickhouse/clickhouse.ts';
import type { EmbeddedStore } from '../../../platform/embedded/supervise.ts';
import { silentLog } from '../../../platform/log.ts';
import { openOutbound } from '../../../platform/outbound/outbound.ts';
import { RetryableError } from '../../destination/errors.ts';
import type { Sink, SliceOutcome } from '../../destination/destination.ts';
import { clickhouse } from './clickhouse.ts';
import type { ClickHouseConfig } from './config.ts';

const outbound = openOutbound({ allow: ['127.0.0.0/8'] });
const deps = {
  log: silentLog(),
  outbound,
  export_dir: '/nowhere',
  signal: new AbortController().signal,
};
let folder: string;
let store: EmbeddedStore;
let client: ClickHouseClient;
let proxy: ClickHouseProxy;
let base: ClickHouseConfig;
let places = 0;

// A server of its own, because it is killed.
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-clickhouse-crash-'));
  store = await openEmbeddedClickHouse({ folder: join(folder, 'data'), log: silentLog() });
  client = createClient({ url: store.url, log: { level: 127 } });
  const url = new URL(store.url);
  proxy = await openClickHouseProxy(url.origin, { tls: false });
  base = { url: proxy.url, user: url.username, password: url.password };
});

after(async () => {
  await client.close();
  await proxy.close();
  await store.stop();
  await outbound.close();
  await rm(folder, { recursive: true, force: true });
});

async function run(query: string): Promise<void> {
  await client.command({ query });
}

async function rows<Row>(query: string): Promise<Row[]> {
  return (await client.query({ query, format: 'JSONEachRow' })).json<Row>();
}

/** A fresh table, with a partition for each of the two rows of a slice, and a delivery to it. */
async function freshOrders(
  place: KillPlace,
): Promise<DeliveryOrders & { config: ClickHouseConfig }> {
  const table_name = `place_${(places += 1)}`;
  await run(
    `CREATE TABLE ${table_name} (n Int64, sluice_stage_id UUID) ENGINE = MergeTree PARTITION BY n %
      2 ORDER BY n`,
  );
  const slice = (from: number) => ({
    base64: zstdCompressSync(`"n"\n${from}\n${from + 1}\n`).toString('base64'),
    records: 2,
  });
  return {
    type: 'ClickHouse',
    config: { ...base, table_name },
    delivery: uuidDelivery({
      columns: [{ name: 'n', type: 'integer', nullable: false, expression: 'n' }],
    }),
    slices: [slice(0), slice(2)],
    place,
  };
}

async function delivered({ config }: { config: ClickHouseConfig }): Promise<number[]> {
  return (await rows<{ n: string }>(`SELECT n FROM ${config.table_name} ORDER BY n`)).map((row) =>
    Number(row.n),
  );
}

async function stages(): Promise<string[]> {
  return (
    await rows<{ name: string }>("SELECT name FROM system.tables WHERE name LIKE 'sluice_stage_%'")
  ).map((row) => row.name);
}

async function writeSlices(sink: Sink, orders: DeliveryOrders, from = 0): Promise<SliceOutcome[]> {
  const outcomes: SliceOutcome[] = [];
  for (const [number, { base64, records }] of orders.slices.entries()) {
    if (number < from) continue;
    const written = await sink.write(
      { number, records },
      Readable.from([Buffer.from(base64, 'base64')]),
    );
    outcomes.push({
      number,
      ...written,
      records,
      bytes: Buffer.from(base64, 'base64').length,
      sha256: '',
    });
  }
  return outcomes;
}

const manifest = { name: 'manifest', text: '{}' };
/** The statement that joins slices, and the one that shows them. */
const joins = /ALTER TABLE `default`\.`sluice_stage_\w+` ATTACH PARTITION/;
const shows = /ALTER TABLE `default`\.`place_\d+` ATTACH PARTITION/;
const isLost = (error: unknown) =>
  error instanceof RetryableError &&
  ['connection_lost', 'connection_failed', 'server_fault'].includes(error.code);

/** Commits and breaks off at the statement that shows, after this much of it was done. */
async function breakOff(
  sink: Sink,
  outcomes: SliceOutcome[],
  done: 'nothing' | 'all' | 'a part',
): Promise<void> {
  proxy.watch(async (text) => {
    if (!shows.test(text)) return;
    proxy.watch(undefined);
    if (done !== 'nothing') await run(done === 'all' ? text : text.replace(/,[^,]*$/, ''));
    proxy.cut();
  });
  await assert.rejects(sink.commit(outcomes, manifest), isLost);
  await sink.close();
}

for (const [place, visible, isThere] of [
  ['writing', [], false],
  ['written', [], false],
  ['committed', [0, 1, 2, 3], true],
] as const) {
  test(
    `a worker that is killed (${place}) has shown all or nothing, and the next one completes it ` +
      'once',
    async () => {
      const orders = await freshOrders(place);
      await killDelivery(orders, { after_milliseconds: 0 });
      assert.deepEqual(await delivered(orders), visible);
      assert.equal(await deliverAgain(clickhouse, orders, deps), isThere);
      assert.deepEqual(await delivered(orders), [0, 1, 2, 3]);
      assert.deepEqual(await stages(), []);
    },
  );
}

test('a worker that is killed in the third of five slices has only that one repeated', async () => {
  const orders = await freshOrders('writing');
  orders.slices = [0, 1, 2, 3, 4].map((n) => ({
    base64: zstdCompressSync(`"n"\n${n}\n`).toString('base64'),
    records: 1,
  }));
  assert.deepEqual(await repeatedSlices(clickhouse, orders, deps), [2]);
  assert.deepEqual(await delivered(orders), [0, 1, 2, 3, 4]);
  assert.deepEqual(await stages(), []);
});

test('a worker that was believed dead and writes when all is over leaves nothing', async () => {
  const orders = await freshOrders('written');
  const dead = await clickhouse.open(orders.config, orders.delivery, deps);
  const [first] = await writeSlices(dead, { ...orders, slices: orders.slices.slice(0, 1) });
  const next = await clickhouse.open(orders.config, { ...orders.delivery, attempt: 2 }, deps);
  assert.deepEqual(await next.recover([first!]), [first]);
  await next.commit([first!, ...(await writeSlices(next, orders, 1))], manifest);
  await next.close();
  await assert.rejects(
    writeSlices(dead, orders, 1),
    (error) => error instanceof RetryableError && error.code === 'slice_lost',
  );
  await dead.close();
  assert.deepEqual(await delivered(orders), [0, 1, 2, 3]);
  assert.deepEqual(await stages(), []);
});

test(
  'a commit that broke off is settled by the next attempt, which keeps the slices unless a part ' +
    'of them was shown',
  async () => {
    for (const [shown, kept] of [
      ['nothing', 2],
      ['all', 2],
      ['a part', 0],
    ] as const) {
      const orders = await freshOrders('written');
      const sink = await clickhouse.open(orders.config, orders.delivery, deps);
      const outcomes = await writeSlices(sink, orders);
      await breakOff(sink, outcomes, shown);
      const next = await clickhouse.open(orders.config, { ...orders.delivery, attempt: 2 }, deps);
      assert.equal((await next.recover(outcomes)).length, kept, shown);
      await next.commit(kept === 0 ? await writeSlices(next, orders) : outcomes, manifest);
      await next.close();
      assert.deepEqual(await delivered(orders), [0, 1, 2, 3], shown);
      assert.deepEqual(await stages(), [], shown);
    }
  },
);

test(
  'a worker that is killed anywhere in its commit leaves nothing that the next one doubles or ' +
    'misses',
  async () => {
    for (const after_milliseconds of [0, 12, 24]) {
      const orders = await freshOrders('committing');
      await killDelivery(orders, { after_milliseconds });
      await deliverAgain(clickhouse, orders, deps);
      assert.deepEqual(
        await delivered(orders),
        [0, 1, 2, 3],
        `killed after ${after_milliseconds} ms`,
      );
    }
    assert.deepEqual(await stages(), []);
  },
);

test(
  'a server that is killed at any statement of a commit comes back, and the next attempt makes ' +
    'it all',
  async () => {
    for (const [statement, isCommitted] of [
      [/manifest.*JSONEachRow/, false],
      [/_partition_id/, false],
      [joins, false],
      [shows, false],
      [/DROP TABLE/, true],
    ] as const) {
      const orders = await freshOrders('written');
      const sink = await clickhouse.open(orders.config, orders.delivery, deps);
      const outcomes = await writeSlices(sink, orders);
      proxy.watch((text) => {
        if (!statement.test(text)) return;
        proxy.watch(undefined);
        process.kill(store.pid!, 'SIGKILL');
      });
      if (isCommitted) await sink.commit(outcomes, manifest);
      else await assert.rejects(sink.commit(outcomes, manifest), isLost, String(statement));
      await sink.close();
      await eventually('the server does not come back', async () => (await client.ping()).success);
      assert.equal(await deliverAgain(clickhouse, orders, deps), isCommitted);
      assert.deepEqual(await delivered(orders), [0, 1, 2, 3], String(statement));
      assert.deepEqual(await stages(), []);
    }
  },
);

test('a part that a killed server has shown is removed by abort', async () => {
  const orders = await freshOrders('written');
  const sink = await clickhouse.open(orders.config, orders.delivery, deps);
  await breakOff(sink, await writeSlices(sink, orders), 'a part');
  assert.deepEqual(await delivered(orders), [0, 2]);
  const last = await clickhouse.open(orders.config, { ...orders.delivery, attempt: 2 }, deps);
  await last.abort([]);
  await last.close();
  assert.deepEqual(await delivered(orders), []);
  assert.deepEqual(await stages(), []);
});

test(
  'an attempt that was believed dead and comes back in the middle of its commit can show ' +
    'nothing any more',
  async () => {
    for (const [statement, wakes] of [
      [joins, 'while the next one writes'],
      [/manifest/, 'while the next one writes'],
      [shows, 'while the next one writes'],
      [joins, 'after the next one'],
      [/manifest/, 'after the next one'],
      [shows, 'after the next one'],
    ] as const) {
      const orders = await freshOrders('written');
      const dead = await clickhouse.open(orders.config, orders.delivery, deps);
      const outcomes = await writeSlices(dead, orders);
      const { promise: woken, resolve: wake } = Promise.withResolvers<void>();
      const { promise: asleep, resolve: sleep } = Promise.withResolvers<void>();
      proxy.watch(async (text) => {
        if (!statement.test(text)) return;
        proxy.watch(undefined);
        sleep();
        await woken;
      });
      const late = assert.rejects(
        dead.commit(outcomes, manifest),
        (error) => error instanceof RetryableError && error.code === 'slice_lost',
      );
      await asleep;
      const next = await clickhouse.open(orders.config, { ...orders.delivery, attempt: 2 }, deps);
      const [kept] = outcomes;
      assert.deepEqual(await next.recover([kept!]), [kept]);
      const comeBack = async () => {
        wake();
        await late;
        await dead.close();
      };
      if (wakes === 'while the next one writes') await comeBack();
      await next.commit([kept!, ...(await writeSlices(next, orders, 1))], manifest);
      await next.close();
      if (wakes === 'after the next one') await comeBack();
      assert.deepEqual(await delivered(orders), [0, 1, 2, 3], `${statement} ${wakes}`);
      assert.deepEqual(await stages(), [], `${statement} ${wakes}`);
    }
  },
);

test('a connection that is cut in the middle of a slice ends the write at once', async () => {
  const orders = await freshOrders('writing');
  const sink = await clickhouse.open(orders.config, orders.delivery, deps);
  const { promise: begun, resolve } = Promise.withResolvers<void>();
  proxy.watch((statement) => (statement.includes('FORMAT CSVWithNames') ? resolve() : undefined));
  const hanging = Readable.from(
    (async function* () {
      // More than the compression holds back before it sends anything.
      yield randomBytes(1 << 20);
      await begun;
      proxy.cut();
      await new Promise(() => {});
    })(),
  );
  await assert.rejects(sink.write({ number: 0, records: 2 }, hanging), isLost);
  proxy.watch(undefined);
  await sink.close();
  await deliverAgain(clickhouse, orders, deps);
  assert.deepEqual(await delivered(orders), [0, 1, 2, 3]);
});

test('a server that hangs is left at once when the run is stopped', async () => {
  const waits: [string, (sink: Sink, orders: DeliveryOrders) => Promise<unknown>][] = [
    ['recover', (sink) => sink.recover([])],
    ['write', (sink, orders) => writeSlices(sink, orders)],
    ['commit', (sink) => sink.commit([], manifest)],
    ['abort', (sink) => sink.abort([])],
  ];
  for (const [name, wait] of waits) {
    const hanging = await openClickHouseProxy(new URL(store.url).origin, { tls: false });
    const orders = await freshOrders('written');
    const config = { ...orders.config, url: hanging.url };
    const stop = new AbortController();
    const sink = await clickhouse.open(config, orders.delivery, { ...deps, signal: stop.signal });
    hanging.hold();
    const waiting = assert.rejects(wait(sink, orders), /stopped/, name);
    stop.abort('cancelled');
    await waiting;
    await sink.close();
    await assert.rejects(
      clickhouse.open(config, orders.delivery, { ...deps, signal: stop.signal }),
      /stopped/,
    );
    await assert.rejects(
      clickhouse.open(config, orders.delivery, { ...deps, signal: AbortSignal.timeout(100) }),
      (error) => error instanceof RetryableError && error.code === 'timed_out',
    );
    await hanging.close();
  }
});
