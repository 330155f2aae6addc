import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { isLasting, manifest } from '../../../../test/factories/batch_exports/deliveries.ts';
import { contractColumns } from '../../../../test/factories/batch_exports/contract_rows.ts';
import { eventually } from '../../../../test/eventually.ts';
import { NonRetryableError } from '../../model/destination/errors.ts';
import { uuidDelivery } from '../../../../test/servers/databases/postgres_destination.ts';
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

const until = (what: string, text: string, values: unknown[]) =>
  eventually(what, async () => (await server.pool.query(text, values)).rowCount !== 0);

const untilMoved = ({ config }: Place) =>
  until(
    'nothing is moved',
    "SELECT 1 FROM pg_stat_activity WHERE state = 'idle in transaction' AND query LIKE $1",
    [`INSERT INTO "${config.schema}"%SELECT%`],
  );

test('a trigger that drops rows of the move is no success', async () => {
  const place = await freshPlace();
  const { schema } = place.config;
  await server.pool.query(`CREATE TABLE ${schema}.events (uuid text);
    CREATE FUNCTION ${schema}.skip() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN IF NEW.uuid = ''b'' THEN RETURN NULL; END IF; RETURN NEW; END';
    CREATE TRIGGER skip BEFORE INSERT ON ${schema}.events
      FOR EACH ROW EXECUTE FUNCTION ${schema}.skip()`);
  const sink = await openSink(place);
  const first = await writeSlice(sink, 0);
  const goOn = async () => sink.commit([first, await writeSlice(sink, 1)], manifest);
  await assert.rejects(goOn(), isLasting('rows_left_out'));
  await sink.close();
  assert.deepEqual(await rowsOf(place), []);
});

test('a user who may not create tables delivers all slices in one transaction', async () => {
  const place = await freshPlace();
  const { schema } = place.config;
  await server.pool.query(`CREATE TABLE ${schema}.events (uuid text);
    CREATE TABLE ${schema}.sluice_receipts (delivery_id uuid PRIMARY KEY,
      batch_export_id uuid NOT NULL, run_id uuid NOT NULL, table_name text NOT NULL,
      records bigint NOT NULL, manifest text NOT NULL,
      delivered_at timestamptz NOT NULL DEFAULT now());
    CREATE ROLE postgres_writer LOGIN PASSWORD 'of the writer';
    GRANT USAGE ON SCHEMA ${schema} TO postgres_writer;
    GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA ${schema} TO postgres_writer`);
  place.config = { ...place.config, user: 'postgres_writer', password: 'of the writer' };
  const steps = await postgres.check(place.config, place.delivery.columns, server.deps);
  assert.ok(steps.every(({ status }) => status === 'passed'));
  assert.match(
    steps.find(({ name }) => name === 'Write a receipt')!.detail,
    /Without UPDATE on .*Without CREATE/,
  );
  const replacing = { ...server.deps, merge: null, replaces: true };
  const refused = await postgres.check(place.config, place.delivery.columns, replacing);
  assert.deepEqual(
    refused.filter(({ status }) => status === 'failed').map(({ detail }) => detail),
    [
      `The user may not delete rows of "${schema}"."events", and the mode replace needs that. ` +
        `Run this as an administrator: GRANT DELETE ON "${schema}"."events" TO "postgres_writer";`,
    ],
  );
  const dead = await openSink(place);
  const first = await writeSlice(dead, 0);
  assert.deepEqual(await tablesOf(place), ['events', 'sluice_receipts']);
  await dead.close();
  const next = await openSink(place, 2);
  assert.deepEqual(await next.recover([first]), []);
  const outcomes = [await writeSlice(next, 0), await writeSlice(next, 1)];
  await next.commit(outcomes, manifest);
  await next.close();
  const repeat = await openSink(place, 3);
  await assert.rejects(
    repeat.commit(outcomes, manifest),
    (error) => error instanceof NonRetryableError && /Grant UPDATE on "/.test(error.message),
  );
  await repeat.close();
  assert.deepEqual(await rowsOf(place), ['a', 'b', 'c']);
});

test('persons of several slices are merged at the end, whatever their columns', async () => {
  const text = { nullable: false, type: 'text' } as const;
  const columns = [
    { ...text, name: 'team_id', type: 'integer', expression: 'team_id' } as const,
    { ...text, name: 'distinct_id', expression: 'distinct_id' },
    { ...text, name: 'sluice_slice', expression: 'x' },
    { ...text, name: 'person_version', type: 'integer', expression: 'version' } as const,
  ];
  const place = await freshPlace({ model: 'persons', columns });
  const sink = await openSink(place);
  const outcomes = [
    await writeSlice(sink, 0, '7\ta\told\t1\n7\tb\tonly\t1\n'),
    await writeSlice(sink, 1, '7\ta\tnew\t2\n'),
  ];
  await sink.commit(outcomes, manifest);
  await sink.close();
  const found = await server.pool.query<{ text: string }>(
    `SELECT distinct_id || ' ' || sluice_slice AS text FROM ${place.config.schema}.events
      ORDER BY 1`,
  );
  assert.deepEqual(
    found.rows.map((row) => row.text),
    ['a new', 'b only'],
  );
});

test('slices move into the table while later ones are staged, invisible', async () => {
  const place = await freshPlace();
  const text = (name: string) =>
    Array.from({ length: 4_000 }, (_, row) => `${name} ${row}\n`).join('');
  const dead = await openSink(place);
  const known = [await writeSlice(dead, 0, text('a'))];
  await untilMoved(place);
  known.push(await writeSlice(dead, 1, text('b')), await writeSlice(dead, 2, text('c'), true));
  const stage = (await tablesOf(place)).find((name) => name.startsWith('sluice_stage'));
  assert.equal(
    (await server.pool.query(`SELECT 1 FROM ${place.config.schema}.${stage}`)).rowCount,
    8_000,
  );
  assert.deepEqual(await rowsOf(place), []);
  await dead.close();
  const next = await openSink(place, 2);
  assert.deepEqual(await next.recover(known), known.slice(0, 2));
  await next.commit([...known.slice(0, 2), await writeSlice(next, 2, text('c'), true)], manifest);
  await next.close();
  const rows = await rowsOf(place);
  assert.equal(rows.length, 12_000);
  assert.equal(new Set(rows).size, 12_000);
  assert.deepEqual(await tablesOf(place), ['events', 'sluice_receipts']);
});

test('rows of the stage are moved even if its note places them elsewhere', async () => {
  const place = await freshPlace();
  const dead = await openSink(place);
  const known = [await writeSlice(dead, 0), await writeSlice(dead, 1)];
  await dead.close();
  const table = (await tablesOf(place)).find((name) => name.startsWith('sluice_stage'));
  const stage = `${place.config.schema}.${table}`;
  const found = await server.pool.query<{ note: string }>(
    'SELECT obj_description($1::regclass) AS note',
    [stage],
  );
  await server.pool.query(
    `COMMENT ON TABLE ${stage} IS ` +
      `'${found.rows[0]!.note.replaceAll('"first_block":0', '"first_block":1')}'`,
  );
  const next = await openSink(place, 2);
  await next.commit(await next.recover(known), manifest);
  await next.close();
  assert.deepEqual(await rowsOf(place), ['a', 'b', 'c']);
});

test('rows of a dead attempt, or a session that waits, stop no delivery', async () => {
  const place = await freshPlace();
  const { schema } = place.config;
  await server.pool.query(`CREATE TABLE ${schema}.events (uuid text UNIQUE)`);
  const dead = await openSink(place);
  const first = await writeSlice(dead, 0);
  await untilMoved(place);
  const next = await openSink(place, 2);
  assert.deepEqual(await next.recover([first]), [first]);
  await untilMoved(place);
  const altered = server.pool.query(`ALTER TABLE ${schema}.events ADD COLUMN own text`);
  await until(
    'nobody waits for the table',
    "SELECT 1 FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock' AND relation = " +
      '$1::regclass',
    [`${schema}.events`],
  );
  await next.commit(
    [first, await writeSlice(next, 1), await writeSlice(next, 2, slices[2], true)],
    manifest,
  );
  await Promise.all([altered, next.close(), dead.close()]);
  assert.deepEqual(await rowsOf(place), ['a', 'b', 'c', 'd']);
});

test('a server with one session for the user moves staged rows at the end', async () => {
  const place = await freshPlace();
  await server.pool.query(
    `CREATE ROLE single LOGIN PASSWORD 'of the single one' CONNECTION LIMIT 1; GRANT ALL
      ON SCHEMA ${place.config.schema} TO single`,
  );
  place.config = { ...place.config, user: 'single', password: 'of the single one' };
  const sink = await openSink(place);
  await sink.commit(
    [
      await writeSlice(sink, 0),
      await writeSlice(sink, 1),
      await writeSlice(sink, 2, slices[2], true),
    ],
    manifest,
  );
  await sink.close();
  assert.deepEqual(await rowsOf(place), ['a', 'b', 'c', 'd']);
  assert.deepEqual(await tablesOf(place), ['events', 'sluice_receipts']);
});

test('a table that another delivery creates is waited for, and used unchanged', async () => {
  const place = await freshPlace();
  const first = await openSink(place);
  const written = await writeSlice(first, 0, 'a\n', true);
  const other: Place = { ...place, delivery: uuidDelivery() };
  const second = await openSink(other);
  const writing = writeSlice(second, 0, 'b\n', true);
  await until(
    'the second delivery does not wait for the first one',
    "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1",
    [`CREATE TABLE IF NOT EXISTS "${place.config.schema}"%`],
  );
  await first.commit([written], manifest);
  await second.commit([await writing], manifest);
  await Promise.all([first.close(), second.close()]);
  assert.deepEqual(await rowsOf(place), ['a', 'b']);
});

test('settings of a database or its owner for sessions change nothing', async () => {
  const place = await freshPlace();
  const { schema } = place.config;
  await server.pool.query(`CREATE ROLE postgres_hurried LOGIN PASSWORD 'of the hurried';
    ALTER ROLE postgres_hurried SET transaction_timeout = '100ms';
    ALTER ROLE postgres_hurried SET DateStyle = 'German';
    GRANT ALL ON SCHEMA ${schema} TO postgres_hurried`);
  place.config = { ...place.config, user: 'postgres_hurried', password: 'of the hurried' };
  const steps = await postgres.check(place.config, contractColumns, server.deps);
  assert.deepEqual(
    steps.filter(({ status }) => status !== 'passed'),
    [],
  );
  const sink = await openSink(place);
  const outcomes = [await writeSlice(sink, 0)];
  await pause(150);
  outcomes.push(await writeSlice(sink, 1));
  await sink.commit(outcomes, manifest);
  await sink.close();
  assert.deepEqual(await rowsOf(place), ['a', 'b', 'c']);
});
