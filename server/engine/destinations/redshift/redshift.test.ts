import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { testDestination } from '../../../../test/destination_contract.ts';
import { RedshiftWorld, deliveryOf } from '../../../../test/redshift_world.ts';
import { NonRetryableError, RetryableError } from '../../destination.ts';
import type { SliceOutcome } from '../../destination.ts';
import type { Column } from '../../models/column.ts';
import { persons } from '../../models/persons.ts';
import { redshift } from './redshift.ts';

const world = new RedshiftWorld('INSERT');
testDestination(world.under());

const row = () => Readable.from([Buffer.from('abc\n')]);
const outcomeOf = (records: number): SliceOutcome => ({ number: 0, name: 'x', records, bytes: 0, sha256: '', state: null });

test('persons are merged: a row gives way to a higher version only', async () => {
  const config = await world.freshConfig({ table_name: 'Persons' });
  const columns = persons.columns.tables;
  const person = (distinct: string, version: number, mapping: number, name: string) =>
    `7\t${distinct}\t018f0000-0000-7000-8000-000000000001\t{"name":"${name}"}\t${mapping}\t${version}\t2020-01-01T00:00:00.000000Z\tfalse\t2020-01-01T00:00:00.000000Z\n`;
  const send = (text: string) => world.deliver(config, deliveryOf({ model: 'persons', columns }), text);
  await send(person('a', 5, 0, 'five') + person('b', 1, 0, 'one') + person('c', 1, 1, 'mapped'));
  await send(person('a', 4, 0, 'older') + person('b', 2, 0, 'two') + person('c', 1, 2, 'remapped') + person('d', 3, 0, 'high') + person('d', 1, 0, 'low'));
  const found = await world.pool.query<{ distinct_id: string; properties: string }>(
    `SELECT distinct_id, properties FROM ${world.inSchema(config, 'Persons')} ORDER BY 1`,
  );
  assert.deepEqual(
    found.rows.map((one) => `${one.distinct_id} ${one.properties}`),
    ['a {"name":"five"}', 'b {"name":"two"}', 'c {"name":"remapped"}', 'd {"name":"high"}'],
  );
});

test('verify compares persons by key, once each however often they were delivered, and counts rows without a key', async () => {
  const config = await world.freshConfig({ table_name: 'persons' });
  const columns = persons.columns.tables.slice(0, 2);
  const given = [deliveryOf({ model: 'persons', columns }), deliveryOf({ model: 'persons', columns })];
  for (const one of given) await world.deliver(config, one, '7\ta\\\\b\n7\tb\n');
  const keys = async function* (): AsyncIterable<string> {
    yield* ['a\\b', 'b'];
  };
  const delivered = given.map((delivery) => ({ delivery, outcomes: [outcomeOf(1)], manifest: '{}' }));
  const kinds = async (of: typeof delivered) => (await redshift.verify(config, of, keys, world.deps)).map((one) => one.kind);
  assert.deepEqual(await kinds(delivered), []);
  const withoutKey = delivered.map((one) => ({ ...one, delivery: { ...one.delivery, columns: columns.map((own) => ({ ...own, is_calculated: true })) } }));
  assert.deepEqual(await kinds(withoutKey), []);
  await world.pool.query(`DELETE FROM ${world.inSchema(config, 'persons')} WHERE distinct_id = 'b'`);
  assert.deepEqual(await kinds(delivered), ['missing']);
  assert.deepEqual(await kinds(withoutKey), ['missing']);
});

test("a table of the user's own keeps its defaults and types, in whatever letter case it was made", async () => {
  const config = await world.freshConfig();
  await world.pool.query(
    `CREATE SCHEMA folded; CREATE TABLE folded.events (id bigserial, uuid varchar(3) NOT NULL, props varchar(65535), note varchar(9) NOT NULL DEFAULT 'own')`,
  );
  const columns: Column[] = [
    { name: 'uuid', type: 'uuid', nullable: false, expression: 'uuid' },
    { name: 'props', type: 'json', nullable: false, expression: 'props' },
  ];
  // Of the two ways to fold names only the look-up is tried here: PostgreSQL, unlike Redshift, keeps the letter case of quoted names.
  await world.deliver({ ...config, schema: 'folded', table_name: 'events' }, deliveryOf({ columns }), 'abc\tnot json\n');
  const found = await world.pool.query('SELECT id::int, uuid, props, note FROM folded.events');
  assert.deepEqual(found.rows, [{ id: 1, uuid: 'abc', props: 'not json', note: 'own' }]);
  await assert.rejects(
    world.deliver({ ...config, schema: 'folded', table_name: 'EVENTS' }, deliveryOf({ columns: [{ ...columns[0]!, name: 'other' }] }), 'abc\n'),
    (error) => error instanceof NonRetryableError && error.code === 'columns_missing',
  );
  await assert.rejects(
    world.deliver({ ...config, schema: 'folded', table_name: 'events' }, deliveryOf({ columns }), 'abcd\t1\n'),
    (error) => error instanceof NonRetryableError && error.code === 'value_refused' && /too long/.test(error.message),
  );
});

test('a value that no VARCHAR holds stops the delivery before it is sent, and nothing is there', async () => {
  const config = await world.freshConfig({ properties_data_type: 'varchar' });
  const columns: Column[] = [{ name: 'properties', type: 'json', nullable: false, expression: 'properties' }];
  await assert.rejects(
    world.deliver(config, deliveryOf({ columns }), `{}\n"${'x'.repeat(65_534)}"\n`),
    (error) => error instanceof NonRetryableError && error.code === 'value_refused' && /properties_data_type super/.test(error.message),
  );
  assert.equal((await world.pool.query(`SELECT 1 FROM ${world.inSchema(config)}`)).rowCount, 0);
});

test('a receipt of any length comes back whole', async () => {
  const config = await world.freshConfig();
  const given = deliveryOf();
  const text = JSON.stringify({ slices: Array.from({ length: 3_000 }, (_, number) => ({ number, name: 'tàble €', sha256: 'a'.repeat(64) })) });
  const sink = await redshift.open(config, given, world.deps);
  await sink.write({ number: 0, records: 1 }, row());
  await sink.commit([outcomeOf(1)], { name: 'manifest', text });
  await sink.close();
  const keys = async function* (): AsyncIterable<string> {
    yield 'abc';
  };
  assert.deepEqual(await redshift.verify(config, [{ delivery: given, outcomes: [outcomeOf(1)], manifest: text }], keys, world.deps), []);
});

test('fewer rows in the stage than were counted are not shown', async () => {
  const config = await world.freshConfig();
  const sink = await redshift.open(config, deliveryOf(), world.deps);
  await assert.rejects(sink.write({ number: 0, records: 2 }, row()), (error) => error instanceof RetryableError && error.code === 'count_mismatch');
  await assert.rejects(
    sink.commit([outcomeOf(2)], { name: 'manifest', text: '{}' }),
    (error) => error instanceof RetryableError && error.code === 'count_mismatch',
  );
  await sink.close();
  assert.equal((await world.pool.query(`SELECT 1 FROM ${world.inSchema(config)}`)).rowCount, 0);
});

test('a connection that is cut in the middle ends the write at once, and the next attempt does it all', async () => {
  const config = await world.freshConfig();
  const given = deliveryOf();
  const sink = await redshift.open(config, given, world.deps);
  await sink.recover([]);
  const endless = Readable.from(
    (async function* () {
      for (let sent = 0; ; sent += 1) {
        yield Buffer.from('abc\n'.repeat(1_000));
        if (sent === 40) world.server.cut();
      }
    })(),
  );
  await assert.rejects(sink.write({ number: 0, records: 1 }, endless), (error) => error instanceof RetryableError && error.code === 'connection_lost');
  await sink.close();
  await world.deliver(config, { ...given, attempt: 2 }, 'abc\n');
  assert.equal((await world.pool.query(`SELECT 1 FROM ${world.inSchema(config)}`)).rowCount, 1);
});

test('of two workers with the same delivery the second finds it done, whenever it began', async () => {
  const config = await world.freshConfig();
  const given = deliveryOf();
  const sinks = [await redshift.open(config, given, world.deps), await redshift.open(config, { ...given, attempt: 2 }, world.deps)];
  for (const sink of sinks) {
    assert.equal(await sink.isCommitted(), false);
    await sink.write({ number: 0, records: 1 }, row());
  }
  await Promise.all(sinks.map((sink) => sink.commit([outcomeOf(1)], { name: 'manifest', text: '{}' })));
  for (const sink of sinks) await sink.close();
  assert.equal((await world.pool.query(`SELECT 1 FROM ${world.inSchema(config)}`)).rowCount, 1);
  assert.equal((await world.pool.query(`SELECT 1 FROM ${world.inSchema(config, 'sluice_receipts')}`)).rowCount, 1);
});

test('a lock on the receipts is waited for, and the wait can be stopped', async () => {
  const config = await world.freshConfig();
  const stop = new AbortController();
  const sink = await redshift.open(config, deliveryOf(), { ...world.deps, signal: stop.signal });
  await sink.write({ number: 0, records: 1 }, row());
  const other = await world.pool.connect();
  await other.query('BEGIN');
  await other.query(`LOCK TABLE ${world.inSchema(config, 'sluice_receipts')}`);
  const waiting = assert.rejects(sink.commit([outcomeOf(1)], { name: 'manifest', text: '{}' }), /stopped/);
  const waiters = async () => (await other.query('SELECT 1 FROM pg_locks WHERE NOT granted')).rowCount;
  const end = performance.now() + 10_000;
  while ((await waiters()) === 0) assert.ok(performance.now() < end, 'nobody waits for the receipts');
  stop.abort('cancelled');
  await waiting;
  await sink.close();
  await other.query('ROLLBACK');
  other.release();
  await assert.rejects(redshift.open(config, deliveryOf(), { ...world.deps, signal: stop.signal }), /stopped/);
});
