import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { isPassing, manifest } from '../../../../test/factories/batch_exports/deliveries.ts';
import { openClickHouseProxy } from '../../../../test/servers/databases/clickhouse_proxy.ts';
import { deliverAgain } from '../../../../test/processes/killed_delivery.ts';
import type { DeliveryOrders } from '../../../../test/processes/killed_delivery.ts';
import type { Sink } from '../../model/destination/destination.ts';
import { clickhouse } from './clickhouse.ts';
import {
  openAroundTests,
  deps,
  store,
  proxy,
  freshOrders,
  delivered,
  writeSlices,
  isLost,
} from '../../../../test/destinations/clickhouse_crash_world.ts';

openAroundTests();

test('a connection that is cut in the middle of a slice ends the write at once', async () => {
  const orders = await freshOrders('writing');
  const sink = await clickhouse.open(orders.config, orders.delivery, deps);
  const { promise: begun, resolve } = Promise.withResolvers<void>();
  proxy.watch((statement) =>
    statement.includes('FORMAT TabSeparatedWithNames') ? resolve() : undefined,
  );
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
      isPassing('timed_out'),
    );
    await hanging.close();
  }
});
