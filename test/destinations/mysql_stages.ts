import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { isPassing, manifest } from '../factories/batch_exports/deliveries.ts';
import { mysql } from '../../server/engine/destinations/mysql/mysql.ts';
import { deliverAgain, writeSlice } from '../processes/killed_delivery.ts';
import type { MySqlWorld } from './mysql_world.ts';

/** Registers the tests of deliveries with a stage. */
export function testMySqlStages(world: MySqlWorld): void {
  testTakeover(world);
  testDamage(world);
  testTables(world);
  testMerging(world);
}

function testTakeover(world: MySqlWorld): void {
  test('an attempt believed dead that comes back shows nothing', async () => {
    for (const comesBack of [
      'while the next one writes',
      'when the next one is to commit',
      'after the next one',
      'after it was taken back',
    ]) {
      const orders = world.freshOrders('written');
      const dead = await world.openSink(orders);
      const first = await writeSlice(dead, 0, '0\n1\n');
      const next = await world.openSink(orders, 2);
      assert.deepEqual(await next.recover([first]), [first]);
      if (comesBack === 'while the next one writes') {
        await assert.rejects(writeSlice(dead, 1, '8\n9\n'), isPassing('slice_lost'), comesBack);
        await dead.close();
      }
      if (comesBack === 'when the next one is to commit') {
        await assert.rejects(dead.commit([first], manifest), isPassing('slice_lost'), comesBack);
        await dead.close();
      }
      if (comesBack === 'after it was taken back') await next.abort([first]);
      else await next.commit([first, await writeSlice(next, 1, '2\n3\n')], manifest);
      await next.close();
      if (comesBack === 'after it was taken back')
        await assert.rejects(dead.commit([first], manifest), isPassing('slice_lost'), comesBack);
      if (comesBack === 'after the next one') await writeSlice(dead, 1, '8\n9\n');
      await dead.close();
      assert.deepEqual(
        await world.delivered(orders),
        comesBack === 'after it was taken back' ? [] : [0, 1, 2, 3],
        comesBack,
      );
      assert.deepEqual(await world.stages(), [], comesBack);
    }
  });
}

function testDamage(world: MySqlWorld): void {
  test('a changed stage is rewritten as far as needed', async () => {
    for (const [damage, survivors] of [
      ['TRUNCATE TABLE', []],
      ['DROP TABLE', []],
      ['DELETE FROM', [1]],
    ] as const) {
      const orders = world.freshOrders('written');
      const dead = await world.openSink(orders);
      const known = [await writeSlice(dead, 0, '0\n1\n'), await writeSlice(dead, 1, '2\n3\n')];
      await dead.close();
      const [stage] = await world.stages();
      await world.run(
        `${damage} warehouse.${stage}${damage === 'DELETE FROM' ? ' WHERE n = 1' : ''}`,
      );
      const next = await world.openSink(orders, 2);
      assert.deepEqual(
        (await next.recover(known)).map(({ number }) => number),
        survivors,
      );
      await next.abort([]);
      await next.close();
      assert.deepEqual(await world.stages(), [], damage);
    }
  });
}

function testTables(world: MySqlWorld): void {
  test('a user without CREATE, RENAME and DROP delivers without a stage', async () => {
    for (const [user, lacking] of [
      ['no_create', 'CREATE'],
      ['no_drop', 'DROP'],
      ['no_alter', 'ALTER'],
    ] as const) {
      const orders = world.freshOrders('written');
      await deliverAgain(
        mysql,
        { ...orders, delivery: { ...orders.delivery, delivery_id: randomUUID() }, slices: [] },
        world.deps,
      );
      const rights = ['SELECT', 'INSERT', 'UPDATE', 'CREATE', 'DROP', 'ALTER'].filter(
        (right) => right !== lacking,
      );
      await world.run(`CREATE USER ${user}@localhost IDENTIFIED BY 'of the user'`);
      await world.run(`GRANT ${rights.join(', ')} ON warehouse.* TO ${user}@localhost`);
      const config = { ...orders.config, user, password: 'of the user' };
      const dead = await world.openSink({ ...orders, config });
      const first = await writeSlice(dead, 0, '0\n1\n');
      // A stage that cannot be dropped is not created; one that cannot be renamed is dropped at
      // once.
      assert.deepEqual(await world.stages(), [], lacking);
      await dead.close();
      const next = await world.openSink({ ...orders, config }, 2);
      assert.deepEqual(await next.recover([first]), []);
      await next.commit(
        [await writeSlice(next, 0, '0\n1\n'), await writeSlice(next, 1, '2\n3\n')],
        manifest,
      );
      await next.close();
      assert.deepEqual(await world.delivered(orders), [0, 1, 2, 3]);
    }
  });
}

function testMerging(world: MySqlWorld): void {
  test('persons of several slices are merged at the end, whatever their columns', async () => {
    const text = { nullable: false, type: 'text' } as const;
    const columns = [
      { ...text, name: 'team_id', type: 'integer', expression: 'team_id' } as const,
      { ...text, name: 'distinct_id', expression: 'distinct_id' },
      { ...text, name: 'Sluice_Write', expression: 'x' },
      { ...text, name: 'person_version', type: 'integer', expression: 'version' } as const,
    ];
    const orders = world.freshOrders('written');
    orders.delivery = { ...orders.delivery, model: 'persons', columns };
    const sink = await world.openSink(orders);
    const outcomes = [
      await writeSlice(sink, 0, '7\ta\told\t1\n7\tb\tonly\t1\n'),
      await writeSlice(sink, 1, '7\ta\tnew\t2\n'),
    ];
    await sink.commit(outcomes, manifest);
    await sink.close();
    const found = await world.rows<{ text: string }>(
      `SELECT CONCAT(distinct_id, ' ', Sluice_Write) AS text
        FROM warehouse.${orders.config.table_name} ORDER BY 1`,
    );
    assert.deepEqual(
      found.map((row) => row.text),
      ['a new', 'b only'],
    );
    assert.deepEqual(await world.stages(), []);
  });
}
