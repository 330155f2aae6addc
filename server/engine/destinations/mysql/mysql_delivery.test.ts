import assert from 'node:assert/strict';
import { test } from 'node:test';
import tls from 'node:tls';
import { sourceOf } from '../../../../test/factories/batch_exports/content_sources.ts';
import {
  deliverText,
  freshDelivery,
  isLasting,
  failureIn,
  personLine,
  rival_deliveries,
  rivals_left,
} from '../../../../test/factories/batch_exports/deliveries.ts';
import { certificate } from '../../../../test/servers/certificate.ts';
import type { Delivery } from '../../model/destination/destination.ts';
import type { Column } from '../../model/models/column.ts';
import { persons as personsModel } from '../../model/models/persons.ts';
import type { MySqlConfig } from './config.ts';
import { mysql } from './mysql.ts';
import {
  onMariaDb,
  deps,
  plain,
  freshConfig,
  inDatabase,
  rows,
  run,
} from '../../../../test/destinations/mysql_contract_world.ts';

const noteOnly: Column[] = [{ name: 'note', type: 'text', nullable: true, expression: 'note' }];

const deliver = (config: MySqlConfig, delivery: Delivery, text: string) =>
  deliverText(mysql, { config, delivery, deps }, text);

onMariaDb(() => {
  test('TLS is verified by name and authority, and left out only if allowed', async () => {
    const config = { ...(await freshConfig()), has_self_signed_cert: false };
    tls.setDefaultCACertificates([...tls.getCACertificates('default'), certificate]);
    const status = async (changes: Partial<MySqlConfig>) =>
      failureIn(await mysql.check({ ...config, ...changes }, noteOnly, deps));
    assert.match(await status({}), /certificate of the server/);
    assert.equal(await status({ host: 'localhost' }), 'passed');
    assert.match(await status({ port: plain.port }), /offers no TLS/);
    assert.equal(await status({ port: plain.port, require_tls: false }), 'passed');
  });

  test('persons are merged: a row gives way to a higher version only, whole', async () => {
    const config = { ...(await freshConfig()), table_name: 'persons' };
    const columns = personsModel.columns.tables;
    const send = (text: string) =>
      deliver(config, freshDelivery({ model: 'persons', columns }), text);
    await send(
      personLine('a', 5, 0, 'five') +
        personLine('b', 1, 9, 'one') +
        personLine('c', 1, 1, 'mapped') +
        personLine('A', 1, 0, 'another') +
        personLine('a ', 1, 0, 'blank'),
    );
    await send(
      personLine('a', 4, 0, 'older') +
        personLine('b', 2, 3, 'two') +
        personLine('c', 1, 2, 'remapped') +
        personLine('d', 1, 0, 'low') +
        personLine('d', 3, 0, 'high'),
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

  test('the first version that differs decides, in two deliveries and in one', async () => {
    const config = { ...(await freshConfig()), table_name: 'persons' };
    const columns = personsModel.columns.tables;
    for (const persons of rival_deliveries)
      await deliver(
        config,
        freshDelivery({ model: 'persons', columns }),
        persons.map((person) => personLine(...person)).join(''),
      );
    const found = await rows<{ person: string }>(
      `SELECT CONCAT(distinct_id, ' ', JSON_VALUE(properties, '$.name')) AS person
        FROM ${inDatabase(config, 'persons')} ORDER BY 1`,
    );
    assert.deepEqual(
      found.map(({ person }) => person),
      rivals_left,
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

  test('persons refuse a table that cannot tell two of them apart by their key alone', async () => {
    const config = { ...(await freshConfig()), table_name: 'persons' };
    const columns = personsModel.columns.tables.slice(0, 3);
    const text = (collation: string) => `varchar(100) CHARACTER SET utf8mb4 COLLATE ${collation}`;
    const exact = text('utf8mb4_bin');
    const key = 'UNIQUE (distinct_id, team_id)';
    const [index, table] = ['unique_index_missing', 'table_unsuitable'];
    for (const [distinct_id, indexes, code] of [
      [exact, 'UNIQUE (team_id, distinct_id, x)', index],
      [exact, 'UNIQUE (team_id, distinct_id(10))', index],
      [exact, 'KEY (team_id, distinct_id)', index],
      [text('utf8mb4_general_ci'), key, table],
      [text('utf8mb4_unicode_520_ci'), key, table],
      [exact, `${key}, UNIQUE (person_id)`, table],
      [exact, `${key}, UNIQUE (person_id, source)`, table],
      [exact, key, undefined],
      ['varbinary(100)', key, undefined],
      [exact, `${key}, UNIQUE (person_id, x), UNIQUE (team_id, distinct_id, person_id)`, undefined],
      [exact, `${key}, id int AUTO_INCREMENT PRIMARY KEY`, undefined],
    ] as const) {
      await run(
        `CREATE OR REPLACE TABLE ${inDatabase(config, 'persons')} (team_id bigint,
        distinct_id ${distinct_id}, person_id char(36), x int, source char(1) NOT NULL DEFAULT 's',
        ${indexes})`,
      );
      const done = deliver(config, freshDelivery({ model: 'persons', columns }), '7\ta\tp\n');
      if (code === undefined) await done;
      else await assert.rejects(done, isLasting(code), `${distinct_id}, ${indexes}`);
    }
  });

  test("a table of the user's own keeps its defaults, what does not fit is final", async () => {
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
        isLasting(code),
        text,
      );
    }
  });

  test('the connection test writes where deliveries go, and leaves nothing visible', async () => {
    const cases: [string, RegExp][] = [
      ['note text, uuid date', /column uuid is date/],
      ['note text, uuid text, own text NOT NULL', /'own' doesn't have a default/],
      [
        'note text, uuid varchar(3), CHECK (LENGTH(note) > 100)',
        /too long for column 'uuid'|constraint/,
      ],
      ["note text AS ('x'), uuid text", /column note is generated/],
      ['note text, uuid text, data text CHARACTER SET latin1', /`data`.*utf8mb4/],
      ['id int AUTO_INCREMENT PRIMARY KEY, note text, uuid char(36), data json', /^passed$/],
    ];
    const columns: Column[] = [
      ...noteOnly,
      { name: 'uuid', type: 'uuid', nullable: false, expression: 'uuid' },
      { name: 'data', type: 'json', nullable: false, expression: 'data' },
    ];
    for (const [table, pattern] of cases) {
      const config = await freshConfig();
      const more = table.includes('data') ? '' : ', data text';
      await run(`CREATE TABLE ${inDatabase(config)} (${table}${more})`);
      const steps = await mysql.check(config, columns, deps);
      assert.match(failureIn(steps), pattern, table);
      assert.deepEqual(await rows(`SELECT 1 FROM ${inDatabase(config)}`), [], table);
    }
  });

  test('a row of 10 MB passes, and one that is larger than the server takes is final', async () => {
    const config = await freshConfig();
    // Quotes are sent with a backslash each.
    const text = `${'x'.repeat(9_500_000)}${"\\'".repeat(250_000)}`;
    await deliver(config, freshDelivery({ columns: noteOnly }), `${text}\n`);
    assert.deepEqual(await rows(`SELECT LENGTH(note) AS bytes FROM ${inDatabase(config)}`), [
      { bytes: 9_750_000 },
    ]);
    await assert.rejects(
      deliver(config, freshDelivery({ columns: noteOnly }), `${'x'.repeat(17_000_000)}\n`),
      isLasting('limit_exceeded'),
    );
  });
});
