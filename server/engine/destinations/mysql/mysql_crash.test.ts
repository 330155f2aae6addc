import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import type { RowDataPacket } from 'mysql2/promise';
import { deliverAgain, killDelivery } from '../../../../test/killed_delivery.ts';
import type { DeliveryOrders, KillPlace } from '../../../../test/killed_delivery.ts';
import { mariaDbMissing, openMariaDb } from '../../../../test/mariadb_server.ts';
import type { MariaDbServer } from '../../../../test/mariadb_server.ts';
import { openMySqlProxy } from '../../../../test/mysql_proxy.ts';
import type { MySqlProxy } from '../../../../test/mysql_proxy.ts';
import { silentLog } from '../../../platform/log.ts';
import { openOutbound } from '../../../platform/outbound.ts';
import { RetryableError } from '../../destination.ts';
import type { Sink, SliceOutcome } from '../../destination.ts';
import type { MySqlConfig } from './config.ts';
import { mysql } from './mysql.ts';

const outbound = openOutbound({ allow: ['127.0.0.0/8'] });
const deps = { log: silentLog(), outbound, export_dir: '/nowhere', signal: new AbortController().signal };
const manifest = { name: 'manifest', text: '{}' };

type Orders = DeliveryOrders & { config: MySqlConfig };

function isLost(error: unknown): boolean {
  return error instanceof RetryableError && ['connection_lost', 'connection_failed', 'server_stopping'].includes(error.code);
}

async function writeSlices(sink: Sink, orders: DeliveryOrders): Promise<SliceOutcome[]> {
  const outcomes: SliceOutcome[] = [];
  for (const [number, { base64, records }] of orders.slices.entries()) {
    const written = await sink.write({ number, records }, Readable.from([Buffer.from(base64, 'base64')]));
    outcomes.push({ number, ...written, records, bytes: 0, sha256: '' });
  }
  return outcomes;
}

describe('on MariaDB', { skip: mariaDbMissing ?? false }, () => {
  let server: MariaDbServer;
  let proxy: MySqlProxy;
  let places = 0;

  before(async () => {
    server = await openMariaDb();
    proxy = await openMySqlProxy(server.port, { tls: true });
    await run('CREATE DATABASE warehouse');
  });

  after(async () => {
    await proxy.close();
    await server.close();
    await outbound.close();
  });

  async function rows<Row>(statement: string): Promise<Row[]> {
    const admin = await server.admin();
    try {
      return (await admin.query<RowDataPacket[]>(statement))[0] as Row[];
    } finally {
      await admin.end();
    }
  }

  async function run(statement: string): Promise<void> {
    await rows(statement);
  }

  function freshOrders(place: KillPlace, port = proxy.port): Orders {
    const run_id = randomUUID();
    const slice = (from: number) => ({ base64: Buffer.from(`${from}\n${from + 1}\n`).toString('base64'), records: 2 });
    return {
      type: 'MySQL',
      config: {
        user: server.user,
        password: server.password,
        host: '127.0.0.1',
        port,
        has_self_signed_cert: true,
        database: 'warehouse',
        table_name: `place_${(places += 1)}`,
      },
      delivery: {
        delivery_id: run_id,
        run_id,
        attempt: 1,
        batch_export_id: randomUUID(),
        team_id: 7,
        model: 'events',
        data_interval_start: '2015-09-12T00:00:00Z',
        data_interval_end: '2015-09-12T01:00:00Z',
        columns: [{ name: 'n', type: 'integer', nullable: false, expression: 'n' }],
      },
      slices: [slice(0), slice(2)],
      place,
    };
  }

  async function delivered({ config }: Orders): Promise<number[]> {
    return (await rows<{ n: number }>(`SELECT n FROM warehouse.${config.table_name} ORDER BY n`)).map((row) => row.n);
  }

  for (const [place, visible, isThere] of [
    ['writing', [], false],
    ['written', [], false],
    ['committed', [0, 1, 2, 3], true],
  ] as const) {
    test(`a worker that is killed (${place}) has shown all or nothing, and the next one completes it once`, async () => {
      const orders = freshOrders(place);
      await killDelivery(orders, { after_milliseconds: 0 });
      assert.deepEqual(await delivered(orders), visible);
      assert.equal(await deliverAgain(mysql, orders, deps), isThere);
      assert.deepEqual(await delivered(orders), [0, 1, 2, 3]);
    });
  }

  test('a worker that is killed anywhere in its commit leaves nothing that the next one doubles or misses', async () => {
    for (const after_milliseconds of [0, 2]) {
      const orders = freshOrders('committing');
      await killDelivery(orders, { after_milliseconds });
      await deliverAgain(mysql, orders, deps);
      assert.deepEqual(await delivered(orders), [0, 1, 2, 3], `killed after ${after_milliseconds} ms`);
    }
  });

  test('a server that is killed between two slices or while it commits comes back, and the next attempt makes it all', async () => {
    for (const isCommitting of [false, true]) {
      const orders = freshOrders('written');
      const sink = await mysql.open(orders.config, orders.delivery, deps);
      const outcomes = await writeSlices(sink, orders);
      const killed = server.kill();
      if (isCommitting) await sink.commit(outcomes, manifest).catch((error: unknown) => assert.ok(isLost(error), String(error)));
      await killed;
      if (!isCommitting) await assert.rejects(sink.commit(outcomes, manifest), isLost);
      await sink.close();
      await deliverAgain(mysql, orders, deps);
      assert.deepEqual(await delivered(orders), [0, 1, 2, 3]);
    }
  });

  test('a connection that is cut in the middle ends the write at once, and the next attempt does it all', async () => {
    const orders = freshOrders('writing');
    const sink = await mysql.open(orders.config, orders.delivery, deps);
    const endless = Readable.from(
      (async function* () {
        for (let sent = 0; ; sent += 1) {
          yield Buffer.from('1\n'.repeat(1_000));
          if (sent === 5) proxy.cut();
        }
      })(),
    );
    await assert.rejects(sink.write({ number: 0, records: 1 }, endless), isLost);
    await sink.close();
    await deliverAgain(mysql, orders, deps);
    assert.deepEqual(await delivered(orders), [0, 1, 2, 3]);
  });

  test('a dead attempt that comes back late finds the delivery done, and two at once wait for each other', async () => {
    const orders = freshOrders('written');
    const first = await mysql.open(orders.config, orders.delivery, deps);
    const outcomes = await writeSlices(first, orders);
    const second = mysql.open(orders.config, { ...orders.delivery, attempt: 2 }, deps);
    await first.commit(outcomes, manifest);
    await first.close();
    const late = await second;
    assert.equal(await late.isCommitted(), true);
    await late.close();
    assert.deepEqual(await delivered(orders), [0, 1, 2, 3]);
  });

  test('a server that hangs is left at once when the run is stopped', async () => {
    const waits: [string, (sink: Sink, orders: Orders) => Promise<unknown>][] = [
      ['recover', (sink) => sink.recover([])],
      ['write', (sink, orders) => writeSlices(sink, orders)],
      ['commit', (sink) => sink.commit([], manifest)],
    ];
    for (const [name, wait] of waits) {
      const hanging = await openMySqlProxy(server.port, { tls: true });
      const orders = freshOrders('written', hanging.port);
      const stop = new AbortController();
      const sink = await mysql.open(orders.config, orders.delivery, { ...deps, signal: stop.signal });
      hanging.hold();
      const waiting = assert.rejects(wait(sink, orders), /stopped/, name);
      stop.abort('cancelled');
      await waiting;
      await sink.close();
      await assert.rejects(mysql.open(orders.config, orders.delivery, { ...deps, signal: stop.signal }), /stopped/);
      await assert.rejects(
        mysql.open(orders.config, orders.delivery, { ...deps, signal: AbortSignal.timeout(100) }),
        (error) => error instanceof RetryableError && error.code === 'timed_out',
      );
      await hanging.close();
    }
  });

  test('a table that another session holds is waited for before any row is read, and the wait can be stopped', async () => {
    const orders = freshOrders('written');
    await run(`CREATE TABLE warehouse.${orders.config.table_name} (n bigint)`);
    const other = await server.admin();
    await other.query(`LOCK TABLES warehouse.${orders.config.table_name} WRITE`);
    const stop = new AbortController();
    const sink = await mysql.open(orders.config, orders.delivery, { ...deps, signal: stop.signal });
    const waiting = assert.rejects(sink.recover([]), /stopped/);
    const end = performance.now() + 10_000;
    const waiters = () => rows("SELECT 1 FROM information_schema.PROCESSLIST WHERE STATE LIKE 'Waiting for table metadata lock'");
    while ((await waiters()).length === 0) assert.ok(performance.now() < end, 'nobody waits for the table');
    stop.abort('cancelled');
    await waiting;
    await sink.close();
    await other.end();
  });
});
