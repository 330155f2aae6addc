import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import tls from 'node:tls';
import { sourceOf } from '../../../../test/factories/batch_exports/content_sources.ts';
import {
  deliverText,
  freshDelivery,
  uuid_only,
  outcomeOf,
  isLasting,
  isPassing,
  failureIn,
  personLine,
  rival_deliveries,
  rivals_left,
  manifest,
} from '../../../../test/factories/batch_exports/deliveries.ts';
import { certificate } from '../../../../test/servers/certificate.ts';
import type { Delivery } from '../../model/destination/destination.ts';
import { NonRetryableError } from '../../model/destination/errors.ts';
import { person_distinct_ids as idsModel } from '../../model/models/person_distinct_ids.ts';
import { persons as personsModel } from '../../model/models/persons.ts';
import type { PostgresConfig } from './config.ts';
import { postgres } from './postgres.ts';
import {
  openAroundTests,
  deps,
  pool,
  secure,
  plain,
  freshConfig,
  inSchema,
} from '../../../../test/destinations/postgres_world.ts';

openAroundTests();

const deliver = (config: PostgresConfig, delivery: Delivery, text: string) =>
  deliverText(postgres, { config, delivery, deps }, text);

test('TLS is verified by name and authority, and left out only if allowed', async () => {
  const config = { ...(await freshConfig()), has_self_signed_cert: false };
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), certificate]);
  const status = async (changes: Partial<PostgresConfig>) =>
    failureIn(await postgres.check({ ...config, ...changes }, uuid_only, deps));
  assert.match(await status({}), /certificate of the server/);
  assert.equal(await status({ host: 'localhost' }), 'passed');
  assert.match(await status({ port: plain.port }), /offers no TLS/);
  assert.equal(await status({ port: plain.port, require_tls: false }), 'passed');
});

test('before a dropped table is created again, it is asked whether its rows are lost', async () => {
  const config = await freshConfig();
  const batch_export_id = randomUUID();
  const asked: string[] = [];
  let is_loss = true;
  const refuseLoss = async (table: string) => {
    asked.push(table);
    if (is_loss) throw new Error('Its rows are lost.');
  };
  const send = (of = batch_export_id) => {
    const delivery = freshDelivery({ columns: uuid_only, batch_export_id: of });
    return deliverText(
      postgres,
      { config, delivery, deps: { ...deps, refuseLoss } },
      `${randomUUID()}\n`,
    );
  };
  await send();
  await pool.query(`DROP TABLE ${inSchema(config)}`);
  await assert.rejects(send(), /Its rows are lost/);
  const { rows: found } = await pool.query(`SELECT to_regclass('${inSchema(config)}') AS name`);
  assert.deepEqual(found, [{ name: null }]);
  // Another export that delivered nothing to it loses nothing.
  await send(randomUUID());
  await pool.query(`DROP TABLE ${inSchema(config)}`);
  is_loss = false;
  await send();
  assert.equal(asked.length, 2);
  const { rows } = await pool.query(`SELECT count(*)::int AS rows FROM ${inSchema(config)}`);
  assert.deepEqual(rows, [{ rows: 1 }]);
});

test('persons are merged: a row gives way to higher versions, the first deciding', async () => {
  const config = { ...(await freshConfig()), table_name: 'persons' };
  const columns = personsModel.columns.tables;
  const send = (text: string) =>
    deliver(config, freshDelivery({ model: 'persons', columns }), text);
  const [first, second] = rival_deliveries.map((persons) =>
    persons.map((person) => personLine(...person)).join(''),
  );
  await send(
    personLine('a', 5, 0, 'five') + personLine('b', 1, 0, 'one') + personLine('c', 1, 1, 'mapped'),
  );
  await send(
    personLine('a', 4, 0, 'older') +
      personLine('b', 2, 0, 'two') +
      personLine('c', 1, 2, 'remapped') +
      personLine('d', 1, 0, 'low') +
      personLine('d', 3, 0, 'high') +
      first,
  );
  await send(second!);
  const found = await pool.query<{ distinct_id: string; name: string }>(
    `SELECT distinct_id, properties->>'name' AS name FROM ${inSchema(config, 'persons')}
      ORDER BY 1`,
  );
  assert.deepEqual(
    found.rows.map((person) => `${person.distinct_id} ${person.name}`),
    ['a five', 'b two', 'c remapped', 'd high', ...rivals_left],
  );
});

test('rows that change nothing are neither written nor locked, also beside doubles', async () => {
  const config = { ...(await freshConfig()), table_name: 'persons' };
  const columns = personsModel.columns.tables;
  const send = (text: string) =>
    deliver(config, freshDelivery({ model: 'persons', columns }), text);
  // Every column of the system changes with a write, and `xmax` with a lock.
  const places = async () => {
    const { rows } = await pool.query<{ distinct_id: string }>(
      `SELECT distinct_id, ctid, xmin, xmax FROM ${inSchema(config, 'persons')} ORDER BY 1`,
    );
    return rows;
  };
  const same = personLine('a', 5, 0, 'five') + personLine('b', 2, 0, 'two');
  await send(same);
  const before = await places();
  await send(same);
  assert.deepEqual(await places(), before);
  await send(personLine('a', 4, 0, 'four') + personLine('b', 1, 9, 'one'));
  assert.deepEqual(await places(), before);
  const doubles = personLine('c', 1, 0, 'low') + personLine('c', 2, 0, 'high');
  await send(personLine('a', 4, 0, 'four') + doubles + personLine('b', 2, 0, 'two'));
  assert.deepEqual((await places()).slice(0, 2), before);
});

test('distinct ids of persons are merged: one gives way to a higher version only', async () => {
  const config = { ...(await freshConfig()), table_name: 'ids' };
  const columns = idsModel.columns.tables;
  const [ada, bob] = [1, 2].map((n) => `018f0000-0000-7000-8000-00000000000${n}`);
  const row = (distinct: string, person: string, version: number) =>
    `7\t${distinct}\t${person}\t${version}\tfalse\t2020-01-01T00:00:00.000000Z\n`;
  const send = (text: string) =>
    deliver(config, freshDelivery({ model: 'person_distinct_ids', columns }), text);
  await send(row('a', ada!, 1) + row('b', ada!, 3));
  await send(row('a', bob!, 2) + row('b', bob!, 2));
  const { rows } = await pool.query(
    `SELECT distinct_id, person_id FROM ${inSchema(config, 'ids')} ORDER BY 1`,
  );
  assert.deepEqual(rows, [
    { distinct_id: 'a', person_id: bob },
    { distinct_id: 'b', person_id: ada },
  ]);
});

test('verify compares persons by key, once each however often they were delivered', async () => {
  const config = { ...(await freshConfig()), table_name: 'persons' };
  const columns = personsModel.columns.tables.slice(0, 2);
  const given = [
    freshDelivery({ model: 'persons', columns }),
    freshDelivery({ model: 'persons', columns }),
  ];
  for (const one of given) await deliver(config, one, '7\ta\\\\b\n7\tb\n');
  const source = sourceOf([
    ['7', 'a\\b'],
    ['7', 'b'],
  ]);
  const delivered = given.map((one) => ({ delivery: one, outcomes: [], manifest: '{}' }));
  assert.deepEqual(await postgres.verify(config, delivered, source, deps), []);
  await pool.query(`DELETE FROM ${inSchema(config, 'persons')} WHERE distinct_id = 'b'`);
  assert.deepEqual(
    (await postgres.verify(config, delivered, source, deps)).map((found) => found.kind),
    ['missing'],
  );
});

test('verify tells which table is gone: that of the receipts, that of the rows, both', async () => {
  const config = { ...(await freshConfig()), table_name: 'gone' };
  const delivery = freshDelivery({ columns: uuid_only });
  const none = sourceOf([]);
  const details = async () => {
    const delivered = [{ delivery, outcomes: [], manifest: '{}' }];
    return (await postgres.verify(config, delivered, none, deps)).map(({ detail }) => detail);
  };
  await deliver(config, delivery, '018f0000-0000-7000-8000-000000000001\n');
  await pool.query(`DROP TABLE ${inSchema(config, 'gone')}`);
  assert.deepEqual(await details(), ['The table is gone.']);
  await pool.query(`DROP TABLE ${inSchema(config, 'sluice_receipts')}`);
  assert.deepEqual(await details(), ['The table of receipts is gone.', 'The table is gone.']);
  await deliver(config, delivery, '018f0000-0000-7000-8000-000000000001\n');
  await pool.query(`DROP TABLE ${inSchema(config, 'sluice_receipts')}`);
  assert.deepEqual(await details(), ['The table of receipts is gone.']);
  const { batch_export_id, timezone } = delivery;
  const wanted = { batch_export_id, timezone, isKnown: () => false };
  assert.deepEqual(await Array.fromAsync(postgres.receipts!(config, deps, wanted)), []);
});

test('persons refuse a table without a unique index on their key', async () => {
  const config = { ...(await freshConfig()), table_name: 'persons' };
  await pool.query(
    `CREATE TABLE ${inSchema(config, 'persons')} (team_id bigint, distinct_id text, UNIQUE (team_id,
      distinct_id) INCLUDE (team_id))`,
  );
  const columns = personsModel.columns.tables.slice(0, 2);
  await deliver(config, freshDelivery({ model: 'persons', columns }), '7\ta\n');
  await pool.query(`DROP TABLE ${inSchema(config, 'persons')}`);
  await pool.query(
    `CREATE TABLE ${inSchema(config, 'persons')} (team_id bigint, distinct_id text, x int,
      UNIQUE (team_id, distinct_id, x))`,
  );
  await assert.rejects(
    deliver(config, freshDelivery({ model: 'persons', columns }), '7\ta\n'),
    isLasting('unique_index_missing'),
  );
  await pool.query(
    `CREATE COLLATION ${inSchema(config, 'folded')} (provider = icu, locale = 'und-u-ks-level2',
      deterministic = false);
     DROP TABLE ${inSchema(config, 'persons')};
     CREATE TABLE ${inSchema(config, 'persons')} (team_id bigint,
      distinct_id text COLLATE ${inSchema(config, 'folded')}, PRIMARY KEY (team_id, distinct_id))`,
  );
  await assert.rejects(
    deliver(config, freshDelivery({ model: 'persons', columns }), '7\ta\n7\tA\n'),
    isLasting('table_unsuitable'),
  );
});

test("a column of the user's own keeps its default, what does not fit is final", async () => {
  const config = await freshConfig();
  await pool.query(
    `CREATE TABLE ${inSchema(config)} (id bigserial, uuid varchar(3), note text DEFAULT 'own')`,
  );
  await deliver(config, freshDelivery({ columns: uuid_only }), 'abc\n');
  assert.deepEqual((await pool.query(`SELECT id::int, uuid, note FROM ${inSchema(config)}`)).rows, [
    { id: 1, uuid: 'abc', note: 'own' },
  ]);
  await assert.rejects(
    deliver(config, freshDelivery({ columns: uuid_only }), 'abcd\n'),
    (error) =>
      error instanceof NonRetryableError &&
      error.code === 'value_refused' &&
      /too long/.test(error.message),
  );
});

test('a trigger that leaves rows out does not pass for success', async () => {
  const config = await freshConfig();
  await pool.query(`CREATE TABLE ${inSchema(config)} (uuid text)`);
  await pool.query(
    'CREATE OR REPLACE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS ' +
      "'BEGIN RETURN NULL; END'",
  );
  await pool.query(
    `CREATE TRIGGER skip BEFORE INSERT ON ${inSchema(config)} FOR EACH ROW EXECUTE FUNCTION skip()`,
  );
  await assert.rejects(
    deliver(config, freshDelivery({ columns: uuid_only }), 'abc\n'),
    isLasting('rows_left_out'),
  );
});

test('a cut connection ends the write at once, and the next attempt does it all', async () => {
  const config = await freshConfig();
  const given = freshDelivery({ columns: uuid_only });
  const sink = await postgres.open(config, given, deps);
  const endless = Readable.from(
    (async function* () {
      for (let sent = 0; ; sent += 1) {
        yield Buffer.from('abc\n'.repeat(1_000));
        if (sent === 20) secure.cut();
      }
    })(),
  );
  await assert.rejects(
    sink.write({ number: 0, records: 1, is_last: true }, endless),
    isPassing('connection_lost'),
  );
  await sink.close();
  await deliver(config, { ...given, attempt: 2 }, 'abc\n');
  assert.equal((await pool.query(`SELECT 1 FROM ${inSchema(config)}`)).rowCount, 1);
});

test('a late dead attempt finds the delivery done; two at once wait in turn', async () => {
  const config = await freshConfig();
  const given = freshDelivery({ columns: uuid_only });
  const first = await postgres.open(config, given, deps);
  await first.write(
    { number: 0, records: 1, is_last: true },
    Readable.from([Buffer.from('abc\n')]),
  );
  const second = postgres.open(config, { ...given, attempt: 2 }, deps);
  await first.commit([outcomeOf(1)], manifest);
  const late = await second;
  assert.equal(await late.isCommitted(), true);
  await Promise.all([first.close(), late.close()]);
  assert.equal((await pool.query(`SELECT 1 FROM ${inSchema(config)}`)).rowCount, 1);
});
