import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import { isPassing, manifest } from '../../../../test/factories/batch_exports/deliveries.ts';
import { eventually } from '../../../../test/eventually.ts';
import { only_deep } from '../../../../test/depth.ts';
import {
  deliverAgain,
  killDeliveries,
  killDelivery,
  writtenAgain,
} from '../../../../test/processes/killed_delivery.ts';
import type { DeliveryOrders } from '../../../../test/processes/killed_delivery.ts';
import { mariaDbMissing } from '../../../../test/servers/databases/mariadb_server.ts';
import { openMySqlProxy } from '../../../../test/servers/databases/mysql_proxy.ts';
import { testMySqlStages } from '../../../../test/destinations/mysql_stages.ts';
import { MySqlWorld } from '../../../../test/destinations/mysql_world.ts';
import type { MySqlOrders } from '../../../../test/destinations/mysql_world.ts';
import { RetryableError } from '../../model/destination/errors.ts';
import type { Sink, SliceOutcome } from '../../model/destination/destination.ts';
import { mysql } from './mysql.ts';

function isLost(error: unknown): boolean {
  return (
    error instanceof RetryableError &&
    ['connection_lost', 'connection_failed', 'server_stopping'].includes(error.code)
  );
}

async function writeSlices(sink: Sink, orders: DeliveryOrders): Promise<SliceOutcome[]> {
  const outcomes: SliceOutcome[] = [];
  for (const [number, { base64, records }] of orders.slices.entries()) {
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

// The runner does not count a skipped suite, so this test is counted instead.
if (mariaDbMissing !== undefined)
  test('the tests on MariaDB', { skip: mariaDbMissing }, () => undefined);
describe('on MariaDB', { skip: mariaDbMissing ?? false }, () => {
  const world = new MySqlWorld();
  const { deps } = world;

  before(() => world.start());
  after(() => world.stop());

  testMySqlStages(world);

  test('a killed worker shows all or nothing; the next repeats one slice at most', async () => {
    const places = ['writing', 'writing', 'written', 'committed', 'committing'] as const;
    const all = places.map((place) => world.freshOrders(place));
    const five = all[0]!;
    five.writing = 2;
    five.slices = Array.from({ length: 5 }, (_, number) => ({
      base64: Buffer.from(`${number}\n`).toString('base64'),
      records: 1,
    }));
    const [known] = await killDeliveries(all, { after_milliseconds: 2 });
    for (const orders of all.slice(1)) {
      const isShown = (await world.delivered(orders)).length > 0;
      if (orders.place !== 'committing') assert.equal(isShown, orders.place === 'committed');
      assert.deepEqual(await world.delivered(orders), isShown ? [0, 1, 2, 3] : [], orders.place);
      const isThere = await deliverAgain(mysql, orders, deps);
      if (orders.place !== 'committing') assert.equal(isThere, isShown);
      assert.deepEqual(await world.delivered(orders), [0, 1, 2, 3], orders.place);
    }
    assert.deepEqual(await writtenAgain(mysql, five, deps, known!), [2]);
    assert.deepEqual(await world.delivered(five), [0, 1, 2, 3, 4]);
    assert.deepEqual(await world.stages(), []);
  });

  test(
    'a worker killed anywhere in its commit leaves nothing doubled or missing',
    { skip: only_deep },
    async () => {
      for (const after_milliseconds of [0, 2]) {
        const orders = world.freshOrders('committing');
        await killDelivery(orders, { after_milliseconds });
        await deliverAgain(mysql, orders, deps);
        assert.deepEqual(
          await world.delivered(orders),
          [0, 1, 2, 3],
          `killed after ${after_milliseconds} ms`,
        );
      }
    },
  );

  test('a server killed in a delivery comes back, and the next attempt ends it', async () => {
    for (const isCommitting of [false, true]) {
      const orders = world.freshOrders('written');
      const sink = await mysql.open(orders.config, orders.delivery, deps);
      const outcomes = await writeSlices(sink, orders);
      const killed = world.server.kill();
      if (isCommitting)
        await sink
          .commit(outcomes, manifest)
          .catch((error: unknown) => assert.ok(isLost(error), String(error)));
      await killed;
      if (!isCommitting) await assert.rejects(sink.commit(outcomes, manifest), isLost);
      await sink.close();
      await deliverAgain(mysql, orders, deps);
      assert.deepEqual(await world.delivered(orders), [0, 1, 2, 3]);
    }
  });

  test('a cut connection ends the write at once, and the next attempt does it all', async () => {
    const orders = world.freshOrders('writing');
    const sink = await mysql.open(orders.config, orders.delivery, deps);
    const endless = Readable.from(
      (async function* () {
        for (let sent = 0; ; sent += 1) {
          yield Buffer.from('1\n'.repeat(1_000));
          if (sent === 5) world.proxy.cut();
        }
      })(),
    );
    await assert.rejects(sink.write({ number: 0, records: 1 }, endless), isLost);
    await sink.close();
    await deliverAgain(mysql, orders, deps);
    assert.deepEqual(await world.delivered(orders), [0, 1, 2, 3]);
  });

  test('an attempt at the same delivery is waited for, and its receipt is found', async () => {
    const orders = world.freshOrders('written');
    const first = await world.openSink(orders);
    const second = world.openSink(orders, 2);
    const waiters = () =>
      world.rows(
        "SELECT 1 FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT GET_LOCK%' AND " +
          "STATE LIKE 'User lock'",
      );
    await eventually('nobody waits for the delivery', async () => (await waiters()).length > 0);
    const records = 1;
    await first.write({ number: 0, records, is_last: true }, Readable.from([Buffer.from('7\n')]));
    await first.commit(
      [{ number: 0, name: 'x', records, bytes: 2, sha256: '', state: null }],
      manifest,
    );
    await first.close();
    const late = await second;
    assert.equal(await late.isCommitted(), true);
    await late.close();
    assert.deepEqual(await world.delivered(orders), [7]);
  });

  test('a server that hangs is left at once when the run is stopped', async () => {
    const waits: [string, (sink: Sink, orders: MySqlOrders) => Promise<unknown>][] = [
      ['recover', (sink) => sink.recover([])],
      ['write', (sink, orders) => writeSlices(sink, orders)],
      ['commit', (sink) => sink.commit([], manifest)],
    ];
    for (const [name, wait] of waits) {
      const hanging = await openMySqlProxy(world.server.port, { tls: true });
      const orders = world.freshOrders('written', hanging.port);
      const stop = new AbortController();
      const sink = await mysql.open(orders.config, orders.delivery, {
        ...deps,
        signal: stop.signal,
      });
      hanging.hold();
      const waiting = assert.rejects(wait(sink, orders), /stopped/, name);
      stop.abort('cancelled');
      await waiting;
      await sink.close();
      await assert.rejects(
        mysql.open(orders.config, orders.delivery, { ...deps, signal: stop.signal }),
        /stopped/,
      );
      await assert.rejects(
        mysql.open(orders.config, orders.delivery, { ...deps, signal: AbortSignal.timeout(100) }),
        isPassing('timed_out'),
      );
      await hanging.close();
    }
  });

  test('a write waits for a locked table before it reads, until a stop', async () => {
    const orders = world.freshOrders('written');
    await world.run(`CREATE TABLE warehouse.${orders.config.table_name} (n bigint)`);
    const other = await world.server.admin();
    await other.query(`LOCK TABLES warehouse.${orders.config.table_name} WRITE`);
    const stop = new AbortController();
    const sink = await mysql.open(orders.config, orders.delivery, {
      ...deps,
      signal: stop.signal,
    });
    const waiting = assert.rejects(sink.recover([]), /stopped/);
    const waiters = () =>
      world.rows(
        "SELECT 1 FROM information_schema.PROCESSLIST WHERE STATE LIKE 'Waiting for table " +
          "metadata lock'",
      );
    await eventually('nobody waits for the table', async () => (await waiters()).length > 0);
    stop.abort('cancelled');
    await waiting;
    await sink.close();
    await other.end();
  });
});
