import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { eventually } from '../../../../test/eventually.ts';
import { repeatedSlices, writeSlice } from '../../../../test/processes/killed_delivery.ts';
import { deliveryOf } from '../../../../test/destinations/redshift_world.ts';
import { redshift } from './redshift.ts';
import { world, row } from '../../../../test/destinations/redshift_slices.ts';
import {
  outcomeOf,
  isPassing,
  manifest,
} from '../../../../test/factories/batch_exports/deliveries.ts';

world.openAroundTests();

test('a cut connection ends the write at once, and the next attempt does it all', async () => {
  const config = await world.freshConfig();
  const given = deliveryOf({
    columns: [{ name: 'note', type: 'text', nullable: true, expression: 'note' }],
  });
  const sink = await redshift.open(config, given, world.deps);
  await sink.recover([]);
  const endless = Readable.from(
    (async function* () {
      for (let sent = 0; ; sent += 1) {
        // A statement holds 4 MB: one is sent by then.
        yield Buffer.from(`${'abc'.repeat(20_000)}\n`);
        if (sent === 100) world.server.cut();
      }
    })(),
  );
  await assert.rejects(
    sink.write({ number: 0, records: 1 }, endless),
    isPassing('connection_lost'),
  );
  await sink.close();
  await world.deliver(config, { ...given, attempt: 2 }, 'abc\n');
  assert.equal((await world.pool.query(`SELECT 1 FROM ${world.inSchema(config)}`)).rowCount, 1);
});

test('the second of two workers with one delivery finds it done, whenever it began', async () => {
  const config = await world.freshConfig();
  const given = deliveryOf();
  const sinks = [
    await redshift.open(config, given, world.deps),
    await redshift.open(config, { ...given, attempt: 2 }, world.deps),
  ];
  for (const sink of sinks) {
    assert.equal(await sink.isCommitted(), false);
    await sink.write({ number: 0, records: 1, is_last: true }, row());
  }
  await Promise.all(sinks.map((sink) => sink.commit([outcomeOf(1)], manifest)));
  for (const sink of sinks) await sink.close();
  assert.equal((await world.pool.query(`SELECT 1 FROM ${world.inSchema(config)}`)).rowCount, 1);
  assert.equal(
    (await world.pool.query(`SELECT 1 FROM ${world.inSchema(config, 'sluice_receipts')}`)).rowCount,
    1,
  );
});

test('a worker that is killed in the third of five slices has only that one repeated', async () => {
  const orders = await world.fiveSlices();
  assert.deepEqual(await repeatedSlices(redshift, orders, world.deps), [2]);
  assert.deepEqual(await world.delivered(orders.config), ['0', '1', '2', '3', '4']);
  assert.deepEqual(await world.tables(orders.config), ['events', 'sluice_receipts']);
});

test('an attempt believed dead that comes back stages and shows nothing', async () => {
  for (const comesBack of [
    'while the next one writes',
    'when the next one is to commit',
    'after the next one',
    'after it was taken back',
    'to begin after the next one',
  ]) {
    const config = await world.freshConfig();
    const given = deliveryOf();
    const dead = await redshift.open(config, given, world.deps);
    const isLate = comesBack === 'to begin after the next one';
    if (isLate) await dead.recover([]);
    const first = isLate ? [] : [await writeSlice(dead, 0, 'a\nb\n')];
    const next = await redshift.open(config, { ...given, attempt: 2 }, world.deps);
    assert.deepEqual(await next.recover(first), first);
    if (comesBack === 'while the next one writes')
      await assert.rejects(writeSlice(dead, 1, 'x\n'), isPassing('slice_lost'), comesBack);
    if (comesBack === 'when the next one is to commit')
      await assert.rejects(dead.commit(first, manifest), isPassing('slice_lost'), comesBack);
    const outcomes = [
      ...(isLate ? [await writeSlice(next, 0, 'a\nb\n')] : first),
      await writeSlice(next, 1, 'c\n'),
    ];
    await (comesBack === 'after it was taken back'
      ? next.abort(outcomes)
      : next.commit(outcomes, manifest));
    await next.close();
    await assert.rejects(writeSlice(dead, 1, 'x\n'), isPassing('slice_lost'), comesBack);
    await dead.close();
    assert.deepEqual(
      await world.delivered(config),
      comesBack === 'after it was taken back' ? [] : ['a', 'b', 'c'],
      comesBack,
    );
    assert.deepEqual(await world.tables(config), ['events', 'sluice_receipts'], comesBack);
  }
});

test('a user without CREATE stages in the session, and a crash repeats all slices', async () => {
  const config = await world.freshConfig();
  await world.deliver(config, deliveryOf(), 'before\n');
  const schema = world.inSchema(config).split('.')[0];
  await world.pool.query(`CREATE ROLE redshift_writer LOGIN PASSWORD 'of the writer';
    GRANT USAGE ON SCHEMA ${schema} TO redshift_writer; GRANT SELECT, INSERT, UPDATE, DELETE
      ON ALL TABLES IN SCHEMA ${schema} TO redshift_writer`);
  const writer = { ...config, user: 'redshift_writer', password: 'of the writer' };
  const given = deliveryOf();
  const dead = await redshift.open(writer, given, world.deps);
  const first = await writeSlice(dead, 0, 'a\n');
  await dead.close();
  const next = await redshift.open(writer, { ...given, attempt: 2 }, world.deps);
  assert.deepEqual(await next.recover([first]), []);
  await next.commit([await writeSlice(next, 0, 'a\n'), await writeSlice(next, 1, 'b\n')], manifest);
  await next.close();
  assert.deepEqual(await world.delivered(config), ['a', 'b', 'before']);
});

test('the next worker removes the leftovers of one killed after its receipt', async () => {
  const config = await world.freshConfig();
  const given = deliveryOf();
  await world.deliver(config, given, 'a\n');
  const left = `sluice_stage_${given.delivery_id.replaceAll('-', '')}_0`;
  await world.pool.query(`CREATE TABLE ${world.inSchema(config, left)} (uuid varchar)`);
  const next = await redshift.open(config, { ...given, attempt: 2 }, world.deps);
  assert.equal(await next.isCommitted(), true);
  await next.close();
  assert.deepEqual(await world.tables(config), ['events', 'sluice_receipts']);
});

test('a lock on the receipts is waited for, and the wait can be stopped', async () => {
  const config = await world.freshConfig();
  const stop = new AbortController();
  const sink = await redshift.open(config, deliveryOf(), { ...world.deps, signal: stop.signal });
  await sink.write({ number: 0, records: 1, is_last: true }, row());
  const other = await world.pool.connect();
  await other.query('BEGIN');
  await other.query(`LOCK TABLE ${world.inSchema(config, 'sluice_receipts')}`);
  const waiting = assert.rejects(sink.commit([outcomeOf(1)], manifest), /stopped/);
  const waiters = async () =>
    (await other.query('SELECT 1 FROM pg_locks WHERE NOT granted')).rowCount;
  await eventually('nobody waits for the receipts', async () => (await waiters()) !== 0);
  stop.abort('cancelled');
  await waiting;
  await sink.close();
  await other.query('ROLLBACK');
  other.release();
  await assert.rejects(
    redshift.open(config, deliveryOf(), { ...world.deps, signal: stop.signal }),
    /stopped/,
  );
});
