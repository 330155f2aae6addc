import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../../test/eventually.ts';
import { sourceOf } from '../../../../test/factories/batch_exports/content_sources.ts';
import { testDestination } from '../../../../test/destinations/destination_contract.ts';
import { assertSeals } from '../../../../test/destinations/sealed_tables.ts';
import { writeSlice } from '../../../../test/processes/killed_delivery.ts';
import { deliveryOf } from '../../../../test/destinations/redshift_world.ts';
import { NonRetryableError } from '../../model/destination/errors.ts';
import type { ValueRow } from '../../model/destination/content_source.ts';
import type { Column } from '../../model/models/column.ts';
import { persons } from '../../model/models/persons.ts';
import { redshift } from './redshift.ts';
import { world, row } from '../../../../test/destinations/redshift_slices.ts';
import {
  outcomeOf,
  isLasting,
  isPassing,
  personLine,
  rival_deliveries,
  rivals_left,
  manifest,
} from '../../../../test/factories/batch_exports/deliveries.ts';

world.openAroundTests();
testDestination(world.under());

test('persons are merged: a row gives way to a higher version only', async () => {
  const config = await world.freshConfig({ table_name: 'Persons' });
  const columns = persons.columns.tables;
  const send = (text: string) =>
    world.deliver(config, deliveryOf({ model: 'persons', columns }), text);
  await send(
    personLine('a', 5, 0, 'five') + personLine('b', 1, 0, 'one') + personLine('c', 1, 1, 'mapped'),
  );
  await send(
    personLine('a', 4, 0, 'older') +
      personLine('b', 2, 0, 'two') +
      personLine('c', 1, 2, 'remapped') +
      personLine('d', 3, 0, 'high') +
      personLine('d', 1, 0, 'low'),
  );
  const found = await world.pool.query<{ distinct_id: string; properties: string }>(
    `SELECT distinct_id, properties FROM ${world.inSchema(config, 'Persons')} ORDER BY 1`,
  );
  assert.deepEqual(
    found.rows.map((one) => `${one.distinct_id} ${one.properties}`),
    ['a {"name":"five"}', 'b {"name":"two"}', 'c {"name":"remapped"}', 'd {"name":"high"}'],
  );
});

test('the first version that differs decides, in two deliveries and in one', async () => {
  const config = await world.freshConfig({ table_name: 'rivals' });
  const columns = persons.columns.tables;
  for (const given of rival_deliveries)
    await world.deliver(
      config,
      deliveryOf({ model: 'persons', columns }),
      given.map((person) => personLine(...person)).join(''),
    );
  const found = await world.pool.query<{ person: string }>(
    `SELECT distinct_id || ' ' || (properties::json->>'name') AS person
      FROM ${world.inSchema(config, 'rivals')} ORDER BY 1`,
  );
  assert.deepEqual(
    found.rows.map(({ person }) => person),
    rivals_left,
  );
});

test('verify compares persons by key, once each, and counts rows without a key', async () => {
  const config = await world.freshConfig({ table_name: 'persons' });
  const columns = persons.columns.tables.slice(0, 2);
  const given = [
    deliveryOf({ model: 'persons', columns }),
    deliveryOf({ model: 'persons', columns }),
  ];
  for (const one of given) await world.deliver(config, one, '7\ta\\\\b\n7\tb\n');
  const rows: ValueRow[] = [
    ['7', 'a\\b'],
    ['7', 'b'],
  ];
  const delivered = given.map((delivery) => ({
    delivery,
    outcomes: [outcomeOf(1)],
    manifest: '{}',
  }));
  const kinds = async (of: typeof delivered, source = sourceOf(rows)) =>
    (await redshift.verify(config, of, source, world.deps)).map((one) => one.kind);
  assert.deepEqual(await kinds(delivered), []);
  const withoutKey = delivered.map((one) => ({
    ...one,
    delivery: {
      ...one.delivery,
      columns: columns.map((own) => ({ ...own, is_calculated: true })),
    },
  }));
  const onceEach = sourceOf((id) => [rows[id === given[0]!.delivery_id ? 0 : 1]!]);
  assert.deepEqual(await kinds(withoutKey, onceEach), []);
  await world.pool.query(
    `DELETE FROM ${world.inSchema(config, 'persons')} WHERE distinct_id = 'b'`,
  );
  assert.deepEqual(await kinds(delivered), ['missing']);
  assert.deepEqual(await kinds(withoutKey, onceEach), ['missing']);
});

test('each change of a delivery changes its seal and no other one', async () => {
  const config = await world.freshConfig();
  await assertSeals({
    definition: redshift,
    config,
    deps: world.deps,
    table: world.inSchema(config, 'events'),
    deliver: (delivery, text) => world.deliver(config, delivery, text),
    run: (statement) => world.pool.query(statement),
  });
});

test("a table of the user's own keeps defaults and types, in any letter case", async () => {
  const config = await world.freshConfig();
  await world.pool.query(
    `CREATE SCHEMA folded; CREATE TABLE folded.events (id bigserial, uuid varchar(3) NOT NULL,
      props varchar(65535), note varchar(9) NOT NULL DEFAULT 'own')`,
  );
  const columns: Column[] = [
    { name: 'uuid', type: 'uuid', nullable: false, expression: 'uuid' },
    { name: 'props', type: 'json', nullable: false, expression: 'props' },
  ];
  // Tries only the look-up, one of two ways to fold names: PostgreSQL, unlike Redshift, keeps the
  // letter case of quoted names.
  await world.deliver(
    { ...config, schema: 'folded', table_name: 'events' },
    deliveryOf({ columns }),
    'abc\tnot json\n',
  );
  const found = await world.pool.query('SELECT id::int, uuid, props, note FROM folded.events');
  assert.deepEqual(found.rows, [{ id: 1, uuid: 'abc', props: 'not json', note: 'own' }]);
  await assert.rejects(
    world.deliver(
      { ...config, schema: 'folded', table_name: 'EVENTS' },
      deliveryOf({ columns: [{ ...columns[0]!, name: 'other' }] }),
      'abc\n',
    ),
    isLasting('columns_missing'),
  );
  await assert.rejects(
    world.deliver(
      { ...config, schema: 'folded', table_name: 'events' },
      deliveryOf({ columns }),
      'abcd\t1\n',
    ),
    (error) =>
      error instanceof NonRetryableError &&
      error.code === 'value_refused' &&
      /too long/.test(error.message),
  );
});

test('a value that no VARCHAR holds stops the delivery before anything is sent', async () => {
  const config = await world.freshConfig({ properties_data_type: 'varchar' });
  const columns: Column[] = [
    { name: 'properties', type: 'json', nullable: false, expression: 'properties' },
  ];
  await assert.rejects(
    world.deliver(config, deliveryOf({ columns }), `{}\n"${'x'.repeat(65_534)}"\n`),
    (error) =>
      error instanceof NonRetryableError &&
      error.code === 'value_refused' &&
      /properties_data_type super/.test(error.message),
  );
  assert.equal((await world.pool.query(`SELECT 1 FROM ${world.inSchema(config)}`)).rowCount, 0);
});

test('a receipt of any length comes back whole', async () => {
  const config = await world.freshConfig();
  const given = deliveryOf();
  const text = JSON.stringify({
    slices: Array.from({ length: 3_000 }, (_, number) => ({
      number,
      name: 'tàble €',
      sha256: 'a'.repeat(64),
    })),
  });
  const sink = await redshift.open(config, given, world.deps);
  await sink.write({ number: 0, records: 1, is_last: true }, row());
  await sink.commit([outcomeOf(1)], { name: 'manifest', text });
  await sink.close();
  const source = sourceOf([['abc']]);
  assert.deepEqual(
    await redshift.verify(
      config,
      [{ delivery: given, outcomes: [outcomeOf(1)], manifest: text }],
      source,
      world.deps,
    ),
    [],
  );
});

test('fewer rows in the stage than were counted are not shown', async () => {
  const config = await world.freshConfig();
  const sink = await redshift.open(config, deliveryOf(), world.deps);
  await assert.rejects(sink.write({ number: 0, records: 2 }, row()), isPassing('count_mismatch'));
  await assert.rejects(sink.commit([outcomeOf(2)], manifest), isPassing('count_mismatch'));
  await sink.close();
  assert.equal((await world.pool.query(`SELECT 1 FROM ${world.inSchema(config)}`)).rowCount, 0);
});

test('a stage that somebody has changed is written again as far as it is', async () => {
  for (const [damage, survivors] of [
    ['TRUNCATE TABLE', []],
    ['DROP TABLE', []],
    ['DELETE FROM', [1]],
  ] as const) {
    const config = await world.freshConfig();
    const given = deliveryOf();
    const dead = await redshift.open(config, given, world.deps);
    const known = [await writeSlice(dead, 0, 'a\nb\n'), await writeSlice(dead, 1, 'c\n')];
    await dead.close();
    const stage = (await world.tables(config)).find((name) => name.startsWith('sluice_stage'))!;
    await world.pool.query(
      `${damage} ` +
        `${world.inSchema(config, stage)}${damage === 'DELETE FROM' ? " WHERE uuid = 'a'" : ''}`,
    );
    const next = await redshift.open(config, { ...given, attempt: 2 }, world.deps);
    const surviving = await next.recover(known);
    assert.deepEqual(
      surviving.map(({ number }) => number),
      survivors,
    );
    const again = [
      await writeSlice(next, 0, 'a\nb\n'),
      surviving[0] ?? (await writeSlice(next, 1, 'c\n')),
    ];
    await next.commit(again, manifest);
    await next.close();
    assert.deepEqual(await world.delivered(config), ['a', 'b', 'c'], damage);
    assert.deepEqual(await world.tables(config), ['events', 'sluice_receipts'], damage);
  }
});

test('the connection test sends real values to the table, and leaves none', async () => {
  for (const [type, detail] of [
    ['varchar(3)', /^Write a row: .*too long/],
    ['bigint', /^Write a row: .*value/],
    ['varchar(36)', /^passed$/],
  ] as const) {
    const config = await world.freshConfig();
    await world.pool.query(`CREATE TABLE ${world.inSchema(config)} (uuid ${type})`);
    const step = (await redshift.check(config, deliveryOf().columns, world.deps)).find(
      ({ status }) => status === 'failed',
    );
    assert.match(step === undefined ? 'passed' : `${step.name}: ${step.detail}`, detail, type);
    assert.deepEqual(await world.delivered(config), [], type);
  }
});

test('a table that another session creates at the same moment is used unchanged', async (t) => {
  const config = await world.freshConfig();
  const other = await world.pool.connect();
  t.after(() => other.release(true));
  /** Delivers while another session creates the table, and commits it when that is waited for. */
  const deliverBeside = async (columns: string, text: string) => {
    await other.query('BEGIN');
    await other.query(`CREATE TABLE ${world.inSchema(config)} (${columns})`);
    const delivering = world.deliver(config, deliveryOf(), text);
    const isWaitedFor = eventually('nobody waits for the table', async () => {
      const { rowCount } = await world.pool.query(
        `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'
           AND query LIKE 'CREATE TABLE IF NOT EXISTS %'`,
      );
      return rowCount !== 0;
    });
    await Promise.race([delivering, isWaitedFor]);
    await other.query('COMMIT');
    await delivering;
  };
  await deliverBeside('uuid varchar(36)', 'a\n');
  assert.deepEqual(await world.delivered(config), ['a']);
  await other.query(`DROP TABLE ${world.inSchema(config)}`);
  await assert.rejects(deliverBeside('event varchar(10)', 'b\n'), /lacks the column uuid/);
});
