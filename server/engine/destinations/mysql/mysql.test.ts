import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import tls from 'node:tls';
import type { Connection, RowDataPacket } from 'mysql2/promise';
import { sourceOf } from '../../../../test/factories/content_sources.ts';
import { assertFault, deliverText, freshDelivery } from '../../../../test/factories/deliveries.ts';
import { parseExact } from '../../../../test/factories/contract_rows.ts';
import { testDestination } from '../../../../test/destinations/destination_contract.ts';
import type { Config } from '../../../../test/destinations/destination_world.ts';
import { mariaDbMissing, openMariaDb } from '../../../../test/servers/mariadb_server.ts';
import type { MariaDbServer } from '../../../../test/servers/mariadb_server.ts';
import { openMySqlProxy } from '../../../../test/servers/mysql_proxy.ts';
import type { MySqlProxy } from '../../../../test/servers/mysql_proxy.ts';
import { proxyCertificate } from '../../../../test/servers/postgres_proxy.ts';
import { silentLog } from '../../../platform/log.ts';
import { openOutbound } from '../../../platform/outbound/outbound.ts';
import type { Delivery } from '../../destination/destination.ts';
import { NonRetryableError } from '../../destination/errors.ts';
import type { Column } from '../../models/column.ts';
import { persons as personsModel } from '../../models/persons.ts';
import { quoted } from './config.ts';
import type { MySqlConfig } from './config.ts';
import { mySqlError } from './faults.ts';
import { mysql } from './mysql.ts';

const outbound = openOutbound({ allow: ['127.0.0.0/8'] });
const deps = {
  log: silentLog(),
  outbound,
  export_dir: '/nowhere',
  signal: new AbortController().signal,
};

const noteOnly: Column[] = [{ name: 'note', type: 'text', nullable: true, expression: 'note' }];

const deliver = (config: MySqlConfig, delivery: Delivery, text: string) =>
  deliverText(mysql, { config, delivery, deps }, text);

// Of a suite that is skipped the runner counts nothing: this is what is counted.
if (mariaDbMissing !== undefined)
  test('the tests on MariaDB', { skip: mariaDbMissing }, () => undefined);
describe('on MariaDB', { skip: mariaDbMissing ?? false }, () => {
  let server: MariaDbServer;
  let admin: Connection;
  let secure: MySqlProxy;
  let plain: MySqlProxy;
  let base: Omit<MySqlConfig, 'database'>;
  let databases = 0;

  before(async () => {
    server = await openMariaDb();
    admin = await server.admin();
    secure = await openMySqlProxy(server.port, { tls: true });
    plain = await openMySqlProxy(server.port, { tls: false });
    base = {
      user: server.user,
      password: server.password,
      host: '127.0.0.1',
      port: secure.port,
      has_self_signed_cert: true,
    };
  });

  after(async () => {
    await admin.end();
    await secure.close();
    await plain.close();
    await server.close();
    await outbound.close();
  });

  async function freshConfig(): Promise<MySqlConfig> {
    const database = `Place \`"${(databases += 1)}`;
    // As many servers have it: case-insensitive, three bytes a character.
    await run(
      `CREATE DATABASE ${quoted(database)} CHARACTER SET utf8mb3 COLLATE utf8mb3_general_ci`,
    );
    return { ...base, database };
  }

  const inDatabase = (config: Config, table = 'events') =>
    `${quoted(String(config['database']))}.${quoted(table)}`;

  async function rows<Row>(statement: string, values: unknown[] = []): Promise<Row[]> {
    return (await admin.query<RowDataPacket[]>(statement, values))[0] as Row[];
  }

  async function run(statement: string): Promise<void> {
    await admin.query(statement);
  }

  async function tables(config: Config): Promise<string[]> {
    const found = await rows<{ name: string }>(
      'SELECT TABLE_NAME AS name FROM information_schema.TABLES WHERE TABLE_SCHEMA = ?',
      [config['database']],
    );
    return found.map((row) => row.name).sort();
  }

  async function readBack(config: Config): Promise<Record<string, unknown>[]> {
    if (!(await tables(config)).includes('events')) return [];
    const instant = "DATE_FORMAT(timestamp, '%Y-%m-%dT%H:%i:%s.%fZ') AS timestamp";
    // Without a key, InnoDB's own row number orders the rows.
    const found = await rows<Record<string, unknown>>(
      `SELECT uuid, event, properties, note, ${instant}, CAST(amount AS CHAR) AS amount,
        CAST(ratio AS CHAR) AS ratio, is_new FROM ${inDatabase(config)}`,
    );
    return found.map((row) => ({
      ...row,
      properties: parseExact(String(row['properties'])),
      ratio: row['ratio'] === null ? null : Number(row['ratio']),
      is_new: row['is_new'] === 1,
    }));
  }

  testDestination({
    definition: mysql,
    start: async () => deps,
    stop: async () => undefined,
    configure: freshConfig,
    readBack,
    leftovers: async (config) =>
      (await tables(config)).filter((name) => !['events', 'sluice_receipts'].includes(name)),
    misconfigure: async (config) => {
      await run(`CREATE TABLE ${inDatabase(config, 'other')} (uuid text, event text)`);
      await run(`CREATE TABLE ${inDatabase(config, 'old')} (uuid text) ENGINE = MyISAM`);
      await run(
        `CREATE VIEW ${inDatabase(config, 'view')} AS SELECT * FROM ${inDatabase(config, 'other')}`,
      );
      return [
        {
          name: 'wrong password',
          config: { ...config, password: 'wrong-password' },
          code: 'authentication_failed',
        },
        {
          name: 'no such user',
          config: { ...config, user: 'nobody' },
          code: 'authentication_failed',
        },
        {
          name: 'no such database',
          config: { ...config, database: 'nothing' },
          code: 'database_missing',
        },
        {
          name: 'no such host',
          config: { ...config, host: 'no-such-host.invalid' },
          code: 'host_not_found',
        },
        {
          name: 'a private address',
          config: { ...config, host: '10.0.0.1' },
          code: 'outbound_refused',
        },
        {
          name: 'missing columns',
          config: { ...config, table_name: 'other' },
          code: 'columns_missing',
        },
        {
          name: 'no transactions',
          config: { ...config, table_name: 'old' },
          code: 'table_unsuitable',
        },
        { name: 'a view', config: { ...config, table_name: 'view' }, code: 'table_unsuitable' },
        {
          name: 'TLS is not offered',
          config: { ...config, port: plain.port },
          code: 'tls_not_offered',
        },
        {
          name: 'certificate not verified',
          config: { ...config, has_self_signed_cert: false },
          code: 'tls_not_verified',
        },
      ];
    },
    invalid: [
      { name: 'no host', change: { host: undefined }, attr: 'host' },
      { name: 'host is a URL', change: { host: 'https://db.example.com/' }, attr: 'host' },
      { name: 'host is a socket', change: { host: '/run/mysqld/mysqld.sock' }, attr: 'host' },
      { name: 'port is text', change: { port: '3306' }, attr: 'port' },
      { name: 'port too large', change: { port: 70_000 }, attr: 'port' },
      { name: 'database is null', change: { database: null }, attr: 'database' },
      { name: 'table of receipts', change: { table_name: 'Sluice_Receipts' }, attr: 'table_name' },
      { name: 'NUL in a name', change: { table_name: 'a\0b' }, attr: 'table_name' },
      { name: 'name beyond the basic plane', change: { table_name: 'a😀' }, attr: 'table_name' },
      { name: 'blank at the end', change: { table_name: 'a ' }, attr: 'table_name' },
      {
        name: 'flag is text',
        change: { has_self_signed_cert: 'yes' },
        attr: 'has_self_signed_cert',
      },
    ],
    damage: {
      changed: (config) =>
        run(`INSERT INTO ${inDatabase(config)} SELECT * FROM ${inDatabase(config)} LIMIT 1`),
      value: (config) =>
        run(
          `UPDATE ${inDatabase(config)} SET event = 'plane', properties = '{"a": 2}'
            WHERE event = 'plain'`,
        ),
      missing: (config) => run(`DELETE FROM ${inDatabase(config)} LIMIT 1`),
      added: (config) => run(`INSERT INTO ${inDatabase(config)} (uuid) VALUES ('stranger')`),
    },
    has_nul: true,
    recovers: true,
  });

  test(
    'TLS is verified by name and authority unless the config says otherwise, and left out only ' +
      'when it may be',
    async () => {
      const config = { ...(await freshConfig()), has_self_signed_cert: false };
      tls.setDefaultCACertificates([...tls.getCACertificates('default'), proxyCertificate]);
      const status = async (changes: Partial<MySqlConfig>) =>
        (await mysql.check({ ...config, ...changes }, noteOnly, deps)).find(
          (step) => step.status === 'failed',
        )?.detail ?? 'passed';
      assert.match(await status({}), /certificate of the server/);
      assert.equal(await status({ host: 'localhost' }), 'passed');
      assert.match(await status({ port: plain.port }), /offers no TLS/);
      assert.equal(await status({ port: plain.port, require_tls: false }), 'passed');
    },
  );

  test('persons are merged: a row gives way to a higher version only, whole', async () => {
    const config = { ...(await freshConfig()), table_name: 'persons' };
    const columns = personsModel.columns.tables;
    const row = (distinct: string, version: number, mapping: number, name: string) =>
      `7\t${distinct}\t018f0000-0000-7000-8000-000000000001\t{"name":"${name}"}\t${mapping}\t${version}\t2020-01-01T00:00:00.000000Z\tfalse\t2020-01-01T00:00:00.000000Z\n`;
    const send = (text: string) =>
      deliver(config, freshDelivery({ model: 'persons', columns }), text);
    await send(
      row('a', 5, 0, 'five') +
        row('b', 1, 9, 'one') +
        row('c', 1, 1, 'mapped') +
        row('A', 1, 0, 'another') +
        row('a ', 1, 0, 'blank'),
    );
    await send(
      row('a', 4, 0, 'older') +
        row('b', 2, 3, 'two') +
        row('c', 1, 2, 'remapped') +
        row('d', 1, 0, 'low') +
        row('d', 3, 0, 'high'),
    );
    const found = await rows<{ person: string }>(
      `SELECT CONCAT(distinct_id, ':', JSON_VALUE(properties, '$.name'), ':', person_version, ':',
        person_distinct_id_version) AS person FROM ${inDatabase(config, 'persons')} ORDER BY 1`,
    );
    assert.deepEqual(
      found.map(({ person }) => person),
      ['A:another:1:0', 'a :blank:1:0', 'a:five:5:0', 'b:two:2:3', 'c:remapped:1:2', 'd:high:3:0'],
    );
  });

  test('verify compares persons by key, once each however often they were delivered', async () => {
    const config = { ...(await freshConfig()), table_name: 'persons' };
    const columns = personsModel.columns.tables.slice(0, 2);
    const given = [
      freshDelivery({ model: 'persons', columns }),
      freshDelivery({ model: 'persons', columns }),
    ];
    for (const one of given) await deliver(config, one, '7\ta\\\\b\n7\tb\n7\tB\n');
    const source = sourceOf(['a\\b', 'b', 'B'].map((distinct) => ['7', distinct]));
    const delivered = given.map((one) => ({ delivery: one, outcomes: [], manifest: '{}' }));
    assert.deepEqual(await mysql.verify(config, delivered, source, deps), []);
    await run(`DELETE FROM ${inDatabase(config, 'persons')} WHERE distinct_id = 'b'`);
    assert.deepEqual(
      (await mysql.verify(config, delivered, source, deps)).map((found) =>
        found.name.replace(/.*distinct_id=/, ''),
      ),
      ['b'],
    );
  });

  test('persons refuse a table without a unique index on their key', async () => {
    const config = { ...(await freshConfig()), table_name: 'persons' };
    const columns = personsModel.columns.tables.slice(0, 2);
    for (const [index, isRight] of [
      ['UNIQUE (team_id, distinct_id, x)', false],
      ['UNIQUE (team_id, distinct_id(10))', false],
      ['KEY (team_id, distinct_id)', false],
      ['UNIQUE (distinct_id, team_id)', true],
    ] as const) {
      await run(
        `CREATE OR REPLACE TABLE ${inDatabase(config, 'persons')} (team_id bigint,
          distinct_id varchar(100), x int, ${index})`,
      );
      const done = deliver(config, freshDelivery({ model: 'persons', columns }), '7\ta\n');
      if (isRight) await done;
      else
        await assert.rejects(
          done,
          (error) => error instanceof NonRetryableError && error.code === 'unique_index_missing',
          index,
        );
    }
  });

  test("a table of the user's own keeps its defaults, and a value that does not fit is final", async () => {
    const config = await freshConfig();
    await run(
      `CREATE TABLE ${inDatabase(config)} (id int AUTO_INCREMENT PRIMARY KEY,
        Note varchar(3) UNIQUE, own text DEFAULT ('own'))`,
    );
    await deliver(config, freshDelivery({ columns: noteOnly }), 'abc\n');
    assert.deepEqual(await rows(`SELECT id, note, own FROM ${inDatabase(config)}`), [
      { id: 1, note: 'abc', own: 'own' },
    ]);
    for (const [text, code] of [
      ['abcd\n', 'value_refused'],
      ['abc\n', 'constraint_violated'],
      ['😀\n', 'value_refused'],
    ] as const) {
      await assert.rejects(
        deliver(config, freshDelivery({ columns: noteOnly }), text),
        (error) => error instanceof NonRetryableError && error.code === code,
        text,
      );
    }
  });

  test('the connection test writes real values where deliveries go, and nobody sees them', async () => {
    const cases: [string, RegExp][] = [
      ['note text, uuid date', /column uuid is date/],
      ['note text, uuid text, own text NOT NULL', /'own' doesn't have a default/],
      [
        'note text, uuid varchar(3), CHECK (LENGTH(note) > 100)',
        /too long for column 'uuid'|constraint/,
      ],
      ["note text AS ('x'), uuid text", /column note is generated/],
      ['id int AUTO_INCREMENT PRIMARY KEY, note text, uuid char(36)', /^passed$/],
    ];
    const columns: Column[] = [
      ...noteOnly,
      { name: 'uuid', type: 'uuid', nullable: false, expression: 'uuid' },
    ];
    for (const [table, pattern] of cases) {
      const config = await freshConfig();
      await run(`CREATE TABLE ${inDatabase(config)} (${table})`);
      const steps = await mysql.check(config, columns, deps);
      assert.match(
        steps.find(({ status }) => status === 'failed')?.detail ?? 'passed',
        pattern,
        table,
      );
      assert.deepEqual(await rows(`SELECT 1 FROM ${inDatabase(config)}`), [], table);
    }
  });

  test('a row of 10 MB passes, and one that is larger than the server takes is final', async () => {
    const config = await freshConfig();
    await deliver(config, freshDelivery({ columns: noteOnly }), `${"\\'".repeat(5_000_000)}\n`);
    assert.deepEqual(await rows(`SELECT LENGTH(note) AS bytes FROM ${inDatabase(config)}`), [
      { bytes: 5_000_000 },
    ]);
    await assert.rejects(
      deliver(config, freshDelivery({ columns: noteOnly }), `${'x'.repeat(34_000_000)}\n`),
      (error) => error instanceof NonRetryableError && error.code === 'limit_exceeded',
    );
  });
});

test('faults are told apart by name, then by SQLSTATE', () => {
  const cases: [string, string | undefined, boolean, string][] = [
    ['ER_ACCESS_DENIED_ERROR', '28000', false, 'authentication_failed'],
    ['ER_BAD_DB_ERROR', '42000', false, 'database_missing'],
    ['ER_TABLEACCESS_DENIED_ERROR', '42000', false, 'permission_denied'],
    ['ER_LOCK_WAIT_TIMEOUT', 'HY000', true, 'locked'],
    ['ER_LOCK_DEADLOCK', '40001', true, 'conflict'],
    ['ER_DISK_FULL', 'HY000', true, 'disk_full'],
    ['ER_RECORD_FILE_FULL', 'HY000', true, 'disk_full'],
    ['ER_CON_COUNT_ERROR', '08004', true, 'too_many_connections'],
    ['ER_OPTION_PREVENTS_STATEMENT', 'HY000', true, 'read_only'],
    ['ER_SERVER_SHUTDOWN', '08S01', true, 'server_stopping'],
    ['ER_NET_PACKET_TOO_LARGE', '08S01', false, 'limit_exceeded'],
    ['ER_SOMETHING_NEW', '22001', false, 'value_refused'],
    ['ER_SOMETHING_NEW', '23000', false, 'constraint_violated'],
    ['ER_SOMETHING_NEW', '42S99', false, 'statement_refused'],
    ['ER_SOMETHING_NEW', '08S01', true, 'connection_lost'],
    ['ER_SOMETHING_NEW', 'HY000', true, 'server_fault'],
    ['ECONNREFUSED', undefined, true, 'connection_failed'],
    ['PROTOCOL_CONNECTION_LOST', undefined, true, 'connection_lost'],
  ];
  for (const [code, sqlState, isRetryable, name] of cases) {
    const error = mySqlError(
      Object.assign(new Error('said $& the server'), {
        code,
        ...(sqlState === undefined ? {} : { sqlState }),
      }),
    );
    assertFault(error, isRetryable, name, code);
  }
  const source = new Error('the query failed');
  assert.equal(mySqlError(source), source);
  const late = new DOMException('took too long', 'TimeoutError');
  assert.equal(mySqlError(late), late);
});
