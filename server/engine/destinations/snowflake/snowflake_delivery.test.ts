import assert from 'node:assert/strict';
import { createPrivateKey } from 'node:crypto';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { sourceOf } from '../../../../test/factories/batch_exports/content_sources.ts';
import { contractColumns } from '../../../../test/factories/batch_exports/contract_rows.ts';
import {
  assertChanged,
  isLasting,
  personLine,
  rival_deliveries,
  rivals_left,
  failureIn,
} from '../../../../test/factories/batch_exports/deliveries.ts';
import { NonRetryableError } from '../../model/destination/errors.ts';
import type { Column } from '../../model/models/column.ts';
import { persons as personsModel } from '../../model/models/persons.ts';
import type { SnowflakeConfig } from './config.ts';
import { snowflake } from './snowflake.ts';
import {
  openAroundTests,
  deps,
  server,
  pool,
  freshConfig,
  inSchema,
  leftovers,
} from '../../../../test/destinations/snowflake_world.ts';
import { assertSeals } from '../../../../test/destinations/sealed_tables.ts';
import { noteOnly, delivery, deliver } from '../../../../test/destinations/snowflake_notes.ts';
import { other_keys } from '../../../../test/factories/people/rsa_keys.ts';

openAroundTests();

test('signs in by key pair, under a passphrase or not, and with no other key', async () => {
  const config: SnowflakeConfig = {
    ...(await freshConfig()),
    authentication_type: 'keypair',
    password: null,
    private_key: server.private_key,
  };
  const failed = async (changes: Partial<SnowflakeConfig>) =>
    failureIn(await snowflake.check({ ...config, ...changes }, noteOnly, deps));
  assert.equal(await failed({}), 'passed');
  const locked = createPrivateKey(server.private_key)
    .export({ format: 'pem', type: 'pkcs8', cipher: 'aes-256-cbc', passphrase: 'open sesame' })
    .toString();
  assert.equal(
    await failed({ private_key: locked, private_key_passphrase: 'open sesame' }),
    'passed',
  );
  assert.deepEqual(
    snowflake
      .validate({ ...config, private_key: locked, private_key_passphrase: 'sesame' })
      .map(({ attr }) => attr),
    ['private_key'],
  );
  assert.match(
    await failed({ private_key: other_keys.private_pem }),
    /^Snowflake refused the user/,
  );
});

test('the connection test names a column that changes a value', async (context) => {
  const config = await freshConfig();
  const custom = (name: string, type: Column['type']) => ({
    name,
    type,
    nullable: true,
    expression: 'x',
    is_calculated: true,
  });
  const columns = [...contractColumns, custom('c1', 'json'), custom('C "1"', 'text')];
  const check = (table_name = 'events') =>
    snowflake.check({ ...config, table_name }, columns, deps);
  const { storage } = server.account;
  const { kept } = storage;
  context.after(() => (storage.kept = kept));
  const spoiled: Record<string, [from: string, to: string]>[] = [
    { timestamp: ['678901', '679'] },
    { event: ['"$pageview"', '""'] },
    {
      event: ['"$pageview"', ''],
      properties: ['}"', '"'],
      amount: ['"1"', '"2"'],
      ratio: ['"0.5"', '"0.49999999999999994"'],
      is_new: ['"true"', '"false"'],
    },
  ];
  for (const changes of spoiled) {
    storage.kept = (content) =>
      Buffer.from(
        Object.values(changes).reduce(
          (text, [from, to]) => text.replace(from, () => to),
          content.toString(),
        ),
      );
    assertChanged(await check(), Object.keys(changes));
  }
  storage.kept = (content) => Buffer.concat([content, content]);
  assert.match(failureIn(await check()), /^Snowflake took 2 rows instead of one\./);
  storage.kept = kept;
  const types = {
    properties: 'snowflake_parts.object',
    timestamp: 'timestamptz',
    amount: 'float8',
    ratio: 'real',
    is_new: 'text',
  };
  for (const [column, type] of [
    [undefined, 'types'],
    ['timestamp', 'timestamp(3)'],
    ['timestamp', 'date'],
    ['ratio', 'numeric(38, 0)'],
  ] as const) {
    const table = `own ${type}`;
    const others = Object.entries(column === undefined ? types : { ...types, [column]: type }).map(
      (one) => one.join(' '),
    );
    const own =
      'uuid text, event text, note text, c1 snowflake_parts.array, "C ""1""" text, own text ' +
      `DEFAULT 'own'`;
    await pool.query(`CREATE TABLE ${inSchema(config, table)} (${[own, ...others].join(', ')})`);
    const steps = await check(table);
    if (column === undefined)
      assert.ok(
        steps.every(({ status }) => status === 'passed'),
        JSON.stringify(steps),
      );
    else assertChanged(steps, [column]);
    assert.equal((await pool.query(`SELECT FROM ${inSchema(config, table)}`)).rowCount, 0);
  }
  assert.ok((await leftovers(config)).every((name) => name.startsWith('own')));
});

test('files reach the storage of each cloud, encrypted, and only over the guard', async () => {
  const config = await freshConfig();
  for (const kind of ['S3', 'AZURE', 'GCS'] as const) {
    server.setStorage(kind);
    await deliver(config, delivery(), `${kind}\\n"quoted", 'é'\n`);
  }
  server.setStorage('S3');
  const found = await pool.query<{ note: string }>(
    `SELECT note FROM ${inSchema(config)} ORDER BY ctid`,
  );
  assert.deepEqual(
    found.rows.map((row) => row.note),
    ['S3', 'AZURE', 'GCS'].map((kind) => `${kind}\n"quoted", 'é'`),
  );
  const { address } = server.account.storage;
  server.account.storage.address = '10.0.0.1:443';
  await assert.rejects(deliver(config, delivery(), 'x\n'), isLasting('outbound_refused'));
  server.account.storage.address = address;
  // Nothing was sent that nobody has asked for: no telemetry, above all.
  assert.deepEqual(server.unknown_paths, []);
});

test('the first version that differs decides, in two deliveries and in one', async () => {
  const config = { ...(await freshConfig()), table_name: 'persons' };
  const columns = personsModel.columns.tables;
  for (const persons of rival_deliveries)
    await deliver(
      config,
      delivery({ model: 'persons', columns }),
      persons.map((person) => personLine(...person)).join(''),
    );
  const found = await pool.query<{ person: string }>(
    `SELECT distinct_id || ' ' || (properties->>'name') AS person
      FROM ${inSchema(config, 'persons')} ORDER BY 1`,
  );
  assert.deepEqual(
    found.rows.map(({ person }) => person),
    rivals_left,
  );
});

test('persons are merged by whole rows of a higher version, and verified by key', async () => {
  const config = { ...(await freshConfig()), table_name: 'persons' };
  const columns = personsModel.columns.tables;
  const given = [
    delivery({ model: 'persons', columns }),
    delivery({ model: 'persons', columns }),
  ] as const;
  await deliver(
    config,
    given[0],
    personLine('a', 5, 0, 'five') +
      personLine('b', 1, 9, 'one') +
      personLine('c', 1, 1, 'mapped') +
      personLine('A', 1, 0, 'another'),
  );
  await deliver(
    config,
    given[1],
    personLine('a', 4, 0, 'older') +
      personLine('b', 2, 3, 'two') +
      personLine('c', 1, 2, 'remapped') +
      personLine('d', 3, 0, 'high') +
      personLine('d', 1, 0, 'low'),
  );
  const found = await pool.query<{ person: string }>(
    `SELECT concat(distinct_id, ':', properties->>'name', ':', person_version, ':',
      person_distinct_id_version) AS person FROM ${inSchema(config, 'persons')}
      ORDER BY distinct_id COLLATE "C"`,
  );
  assert.deepEqual(
    found.rows.map(({ person }) => person),
    ['A:another:1:0', 'a:five:5:0', 'b:two:2:3', 'c:remapped:1:2', 'd:high:3:0'],
  );
  const person = (distinct: string, version: number, mapping: number, name: string) =>
    personLine(distinct, version, mapping, name).trimEnd().split('\t');
  const source = sourceOf((id) =>
    id === given[0].delivery_id
      ? [
          person('a', 5, 0, 'five'),
          person('b', 1, 9, 'one'),
          person('c', 1, 1, 'mapped'),
          person('A', 1, 0, 'another'),
        ]
      : [
          person('a', 4, 0, 'older'),
          person('b', 2, 3, 'two'),
          person('c', 1, 2, 'remapped'),
          person('d', 3, 0, 'high'),
        ],
  );
  const delivered = given.map((one) => ({ delivery: one, outcomes: [], manifest: '{}' }));
  assert.deepEqual(await snowflake.verify(config, delivered, source, deps), []);
  await pool.query(`DELETE FROM ${inSchema(config, 'persons')} WHERE distinct_id = 'b'`);
  assert.deepEqual(
    (await snowflake.verify(config, delivered, source, deps)).map(
      ({ kind, name }) => `${kind} ${name.replace(/.*distinct_id=/, '')}`,
    ),
    ['missing b'],
  );
});

test('each change of a delivery changes its seal and no other one', async () => {
  const config = await freshConfig();
  await assertSeals({
    definition: snowflake,
    config,
    deps,
    table: inSchema(config),
    deliver: (one, text) => deliver(config, one, text),
    run: (statement) => pool.query(statement),
  });
});

test('a table of the user’s own keeps defaults; an unfit value is final', async () => {
  const config = await freshConfig();
  await pool.query(
    `CREATE TABLE ${inSchema(config)} (own text DEFAULT 'own', properties text,
      note varchar(3) NOT NULL)`,
  );
  const columns: Column[] = [
    ...noteOnly,
    { name: 'properties', type: 'json', nullable: false, expression: 'properties' },
  ];
  await deliver(config, delivery({ columns }), 'abc\t{ "a" : 1.0, "a":2 }\n');
  const found = await pool.query(`SELECT own, properties, note FROM ${inSchema(config)}`);
  assert.deepEqual(found.rows, [{ own: 'own', properties: '{ "a" : 1.0, "a":2 }', note: 'abc' }]);
  for (const text of ['abcd\t1\n', '\\N\t1\n']) {
    const sink = await snowflake.open(config, delivery({ columns }), deps);
    await assert.rejects(
      sink.write({ number: 0, records: 1 }, Readable.from([Buffer.from(text)])),
      isLasting('value_refused'),
      text,
    );
    await sink.close();
  }
});

test('a slice goes in several files; a value of 16 MB passes, over that is final', async () => {
  const config = await freshConfig();
  server.statements.length = 0;
  // It fills a file.
  const value = `${'é"'.repeat(1_000)}${'x'.repeat(16_197_000)}`;
  await deliver(config, delivery(), `${value}\nnext\n`);
  assert.equal(server.statements.filter((statement) => statement.startsWith('PUT')).length, 2);
  const found = await pool.query(
    `SELECT octet_length(note) AS bytes FROM ${inSchema(config)} ORDER BY ctid`,
  );
  assert.deepEqual(found.rows, [{ bytes: 16_200_000 }, { bytes: 4 }]);
  await assert.rejects(
    deliver(config, delivery(), `${'x'.repeat(16_777_217)}\n`),
    (error) =>
      error instanceof NonRetryableError &&
      error.code === 'limit_exceeded' &&
      error.message.includes('16777217 bytes'),
  );
});
