import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isPassing, manifest } from '../../../../test/factories/batch_exports/deliveries.ts';
import { only_deep } from '../../../../test/depth.ts';
import {
  deliverAgain,
  killDeliveries,
  killDelivery,
  writtenAgain,
} from '../../../../test/processes/killed_delivery.ts';
import type { DeliveryOrders, KillPlace } from '../../../../test/processes/killed_delivery.ts';
import { postgres } from './postgres.ts';
import {
  openAroundTests,
  slices,
  server,
  freshPlace,
  tablesOf,
  rowsOf,
  openSink,
  writeSlice,
} from '../../../../test/destinations/postgres_stages.ts';
import type { Place } from '../../../../test/destinations/postgres_stages.ts';

openAroundTests();

test('a dead attempt repeats one slice at most, and leaves no stage', async () => {
  const place = await freshPlace();
  const dead = await openSink(place);
  assert.deepEqual(await dead.recover([]), []);
  const known = [await writeSlice(dead, 0), await writeSlice(dead, 1)];
  await writeSlice(dead, 2, 'd\n');
  await dead.close();
  assert.deepEqual(await rowsOf(place), []);
  const next = await openSink(place, 2);
  assert.deepEqual(await next.recover(known), known);
  const outcomes = [...known, await writeSlice(next, 2)];
  assert.deepEqual(await rowsOf(place), []);
  await next.commit(outcomes, manifest);
  await next.close();
  assert.deepEqual(await rowsOf(place), ['a', 'b', 'c', 'd']);
  assert.deepEqual(await tablesOf(place), ['events', 'sluice_receipts']);
});

test('all slices may have been staged before the crash', async () => {
  const place = await freshPlace();
  const dead = await openSink(place);
  const known = [await writeSlice(dead, 0), await writeSlice(dead, 1)];
  await dead.close();
  const next = await openSink(place, 2);
  assert.deepEqual(await next.recover(known), known);
  await next.commit(known, manifest);
  await next.close();
  assert.deepEqual(await rowsOf(place), ['a', 'b', 'c']);
});

function ordersOf({ config, delivery }: Place, killed: KillPlace): DeliveryOrders {
  return {
    type: 'Postgres',
    config,
    delivery,
    slices: slices.slice(0, 2).map((text) => ({
      base64: Buffer.from(text).toString('base64'),
      records: text.split('\n').length - 1,
    })),
    place: killed,
  };
}

test('a killed worker shows all or nothing; the next repeats one slice at most', async () => {
  const killed = ['writing', 'writing', 'written', 'committed', 'committing'] as const;
  const places = await Promise.all(killed.map(() => freshPlace()));
  const all = killed.map((place, number) => ordersOf(places[number]!, place));
  const five = all[0]!;
  five.writing = 2;
  five.slices = ['a', 'b', 'c', 'd', 'e'].map((text) => ({
    base64: Buffer.from(`${text}\n`).toString('base64'),
    records: 1,
  }));
  const [known] = await killDeliveries(all, { after_milliseconds: 4 });
  for (const [number, orders] of all.slice(1).entries()) {
    const place = places[number + 1]!;
    const isShown = (await rowsOf(place)).length > 0;
    if (orders.place !== 'committing') assert.equal(isShown, orders.place === 'committed');
    assert.deepEqual(await rowsOf(place), isShown ? ['a', 'b', 'c'] : [], orders.place);
    const isThere = await deliverAgain(postgres, orders, server.deps);
    if (orders.place !== 'committing') assert.equal(isThere, isShown);
    assert.deepEqual(await rowsOf(place), ['a', 'b', 'c'], orders.place);
    assert.deepEqual(await tablesOf(place), ['events', 'sluice_receipts']);
  }
  assert.deepEqual(await writtenAgain(postgres, five, server.deps, known!), [2]);
  assert.deepEqual(await rowsOf(places[0]!), ['a', 'b', 'c', 'd', 'e']);
});

test(
  'a worker killed anywhere in its commit leaves nothing doubled or missing',
  { skip: only_deep },
  async () => {
    for (const after_milliseconds of [0, 4, 8]) {
      const place = await freshPlace();
      await killDelivery(ordersOf(place, 'committing'), { after_milliseconds });
      await deliverAgain(postgres, ordersOf(place, 'committing'), server.deps);
      assert.deepEqual(
        await rowsOf(place),
        ['a', 'b', 'c'],
        `killed after ${after_milliseconds} ms`,
      );
      assert.deepEqual(await tablesOf(place), ['events', 'sluice_receipts']);
    }
  },
);

test('an attempt believed dead that comes back stages and shows nothing', async () => {
  for (const comesBack of [
    'while the next one writes',
    'after the next one',
    'after it was taken back',
  ]) {
    const place = await freshPlace();
    const dead = await openSink(place);
    const first = await writeSlice(dead, 0);
    const next = await openSink(place, 2);
    await next.recover([first]);
    if (comesBack === 'while the next one writes') {
      await assert.rejects(writeSlice(dead, 1), isPassing('slice_lost'), comesBack);
      await dead.close();
    }
    if (comesBack === 'after it was taken back') await next.abort([first]);
    else await next.commit([first, await writeSlice(next, 1)], manifest);
    await next.close();
    if (comesBack === 'after it was taken back')
      await assert.rejects(dead.commit([first], manifest), isPassing('slice_lost'), comesBack);
    if (comesBack === 'after the next one') await writeSlice(dead, 1);
    await dead.close();
    assert.deepEqual(
      await rowsOf(place),
      comesBack === 'after it was taken back' ? [] : ['a', 'b', 'c'],
      comesBack,
    );
    assert.ok(!(await tablesOf(place)).some((name) => name.startsWith('sluice_stage')), comesBack);
  }
});

test('a stage that a crash emptied, or a person changed, is written again', async () => {
  for (const damage of ['TRUNCATE TABLE', 'DROP TABLE', 'DELETE FROM']) {
    const place = await freshPlace();
    const dead = await openSink(place);
    const known = [await writeSlice(dead, 0), await writeSlice(dead, 1)];
    await dead.close();
    const stage = (await tablesOf(place)).find((name) => name.startsWith('sluice_stage'));
    await server.pool.query(
      `${damage} ` +
        `${place.config.schema}.${stage}${damage === 'DELETE FROM' ? " WHERE uuid = 'a'" : ''}`,
    );
    const next = await openSink(place, 2);
    assert.deepEqual(
      (await next.recover(known)).map(({ number }) => number),
      damage === 'DELETE FROM' ? [1] : [],
    );
    await next.abort([]);
    await next.close();
    assert.ok(!(await tablesOf(place)).includes(stage!), damage);
  }
});
