import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isPassing, manifest } from '../../../../test/factories/batch_exports/deliveries.ts';
import { is_deep, only_deep } from '../../../../test/depth.ts';
import { eventually } from '../../../../test/eventually.ts';
import {
  deliverAgain,
  killDeliveries,
  killDelivery,
  writtenAgain,
} from '../../../../test/processes/killed_delivery.ts';
import type { Sink, SliceOutcome } from '../../model/destination/destination.ts';
import { clickhouse } from './clickhouse.ts';
import {
  openAroundTests,
  deps,
  store,
  client,
  proxy,
  run,
  rows,
  freshOrders,
  delivered,
  writeSlices,
  isLost,
} from '../../../../test/destinations/clickhouse_crash_world.ts';

openAroundTests();

async function stages(): Promise<string[]> {
  return (
    await rows<{ name: string }>("SELECT name FROM system.tables WHERE name LIKE 'sluice_stage_%'")
  ).map((row) => row.name);
}

/** The statement that joins slices, and the one that shows them. */
const joins = /ALTER TABLE `default`\.`sluice_stage_\w+` ATTACH PARTITION/;

const shows = /ALTER TABLE `default`\.`place_\d+` ATTACH PARTITION/;

/** One slice, whose two rows are of two partitions. */
async function oneSlice(): Promise<Awaited<ReturnType<typeof freshOrders>>> {
  const orders = await freshOrders('written');
  return { ...orders, slices: orders.slices.slice(0, 1) };
}

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

test('a killed worker shows all or nothing; the next repeats one slice at most', async () => {
  const places = ['writing', 'written', 'committed', 'committing'] as const;
  const all = await Promise.all(places.map(freshOrders));
  const four = all[0]!;
  four.writing = 2;
  four.slices = [0, 1, 2, 3].map((n) => ({
    base64: Buffer.from(`n\n${n}\n`).toString('base64'),
    records: 1,
  }));
  const [known] = await killDeliveries(all, { after_milliseconds: 12 });
  assert.deepEqual(await delivered(four), []);
  for (const orders of all.slice(1)) {
    const isShown = (await delivered(orders)).length > 0;
    if (orders.place !== 'committing') assert.equal(isShown, orders.place === 'committed');
    assert.deepEqual(await delivered(orders), isShown ? [0, 1, 2, 3] : [], orders.place);
    const isThere = await deliverAgain(clickhouse, orders, deps);
    if (orders.place !== 'committing') assert.equal(isThere, isShown);
    assert.deepEqual(await delivered(orders), [0, 1, 2, 3], orders.place);
  }
  assert.deepEqual(await writtenAgain(clickhouse, four, deps, known!), [2]);
  assert.deepEqual(await delivered(four), [0, 1, 2, 3]);
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
  await assert.rejects(writeSlices(dead, orders, 1), isPassing('slice_lost'));
  await dead.close();
  assert.deepEqual(await delivered(orders), [0, 1, 2, 3]);
  assert.deepEqual(await stages(), []);
});

test('the attempt after a broken commit keeps the slices, unless a part was shown', async () => {
  for (const [shown, kept] of [
    ['nothing', 1],
    ['all', 1],
    ['a part', 0],
  ] as const) {
    const orders = await oneSlice();
    const sink = await clickhouse.open(orders.config, orders.delivery, deps);
    const outcomes = await writeSlices(sink, orders);
    await breakOff(sink, outcomes, shown);
    const next = await clickhouse.open(orders.config, { ...orders.delivery, attempt: 2 }, deps);
    assert.equal((await next.recover(outcomes)).length, kept, shown);
    await next.commit(kept === 0 ? await writeSlices(next, orders) : outcomes, manifest);
    await next.close();
    assert.deepEqual(await delivered(orders), [0, 1], shown);
    assert.deepEqual(await stages(), [], shown);
  }
});

test(
  'a worker killed anywhere in its commit leaves nothing doubled or missing',
  { skip: only_deep },
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

test('a server killed in a commit comes back, and the next attempt ends it', async () => {
  const statements = [
    [/manifest.*JSONEachRow/, false],
    [/_partition_id/, false],
    [joins, false],
    [/DROP TABLE/, true],
    [shows, false],
  ] as const;
  for (const [statement, isCommitted] of is_deep ? statements : statements.slice(-1)) {
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
});

test('merged rows of a broken commit come again and stay one a key', async () => {
  for (const shown of ['nothing', 'a part', 'all'] as const) {
    const orders = await oneSlice();
    const table = orders.config.table_name;
    await run(`DROP TABLE ${table} SYNC`);
    await run(
      `CREATE TABLE ${table} (n Int64, sluice_stage_id UUID, sluice_version UInt256)
        ENGINE = ReplacingMergeTree(sluice_version) PARTITION BY n % 2 ORDER BY n`,
    );
    orders.delivery.merge = { key: ['n'], versions: [] };
    const { delivery_id } = orders.delivery;
    const receipts = () =>
      rows<{ manifest: string }>(
        `SELECT manifest FROM sluice_receipts WHERE delivery_id = '${delivery_id}'`,
      );
    const sink = await clickhouse.open(orders.config, orders.delivery, deps);
    const outcomes = await writeSlices(sink, orders);
    await breakOff(sink, outcomes, shown);
    assert.deepEqual(await receipts(), [], shown);
    const next = await clickhouse.open(orders.config, { ...orders.delivery, attempt: 2 }, deps);
    assert.deepEqual(await next.recover(outcomes), outcomes, shown);
    await next.commit(outcomes, manifest);
    await next.close();
    const found = await rows<{ n: string }>(`SELECT n FROM ${table} FINAL ORDER BY n`);
    assert.deepEqual(
      found.map(({ n }) => Number(n)),
      [0, 1],
      shown,
    );
    assert.deepEqual(await receipts(), [{ manifest: manifest.text }], shown);
    assert.deepEqual(await stages(), [], shown);
  }
});

test('a part that a killed server has shown is removed by abort', async () => {
  const orders = await oneSlice();
  const sink = await clickhouse.open(orders.config, orders.delivery, deps);
  await breakOff(sink, await writeSlices(sink, orders), 'a part');
  assert.deepEqual(await delivered(orders), [0]);
  const last = await clickhouse.open(orders.config, { ...orders.delivery, attempt: 2 }, deps);
  await last.abort([]);
  await last.close();
  assert.deepEqual(await delivered(orders), []);
  assert.deepEqual(await stages(), []);
});

test('an attempt believed dead that returns in its commit can show nothing', async () => {
  const wakings = [
    [joins, 'while the next one writes'],
    [/manifest/, 'while the next one writes'],
    [joins, 'after the next one'],
    [/manifest/, 'after the next one'],
    [shows, 'after the next one'],
    [shows, 'while the next one writes'],
  ] as const;
  for (const [statement, wakes] of is_deep ? wakings : wakings.slice(-1)) {
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
    const late = assert.rejects(dead.commit(outcomes, manifest), isPassing('slice_lost'));
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
});
