// Length: each state of the two stores that the doctor names.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import sql from 'sql-template-tag';
import { commandOn, passphrase } from '../../../test/factories/backups.ts';
import { openTestStores } from '../../../test/harness_stores.ts';
import { accessTo } from '../../../test/servers/databases/embedded_postgres.ts';
import { listenLocally } from '../../../test/servers/loopback.ts';
import { openTransactionPooler } from '../../../test/servers/databases/transaction_pooler.ts';
import { readConfig } from '../../config/config.ts';
import { openClickHouse } from '../../platform/clickhouse/client.ts';
import { lockDataFolder } from '../../platform/folders/data_folder.ts';
import { openLog, silentLog } from '../../platform/log.ts';
import { findPrimary, notePrimary } from '../../platform/postgres/control_store.ts';
import { openDatabase } from '../../platform/postgres/database.ts';
import { createBackup } from '../backup/backup.ts';
import { openPlace } from '../backup/places/open_place.ts';
import { doctor, storesFault } from './doctor.ts';
import { migrate, migrationStatus } from '../migrate.ts';
import { lookAtPrimary, standbyFinding } from './primary_findings.ts';
import { aroundTests, folderAroundTests } from '../../../test/around_tests.ts';

const secret_key = 'the secret of the server that the doctor looks at';
const stores = aroundTests(() => openTestStores({ clickhouse: true }));
const folder = folderAroundTests();

/** Returns all findings of `sluice doctor` but those about this machine, and its log. */
async function looked(environment: Record<string, string>) {
  const lines: string[] = [];
  let logged = '';
  const log = openLog('debug', 'json', { write: (line) => void (logged += line) });
  const config = readConfig({
    SLUICE_SECRET_KEY: secret_key,
    SLUICE_DATA_DIR: join(folder, 'none'),
    SLUICE_EXPORT_DIR: join(folder, 'exports'),
    SLUICE_PORT: '0',
    ...environment,
  });
  const code = await doctor({ config, log, say: (line) => lines.push(line) });
  return { code, lines, logged };
}

test('the doctor creates no folder', async () => {
  const { code, lines } = await looked({});
  assert.equal(code, 0);
  assert.ok(lines.some((line) => line.includes('none yet; the first start creates them')));
  assert.deepEqual(
    ['none', 'exports'].map((name) => existsSync(join(folder, name))),
    [false, false],
  );
});

test('the doctor names a port that another program has', async () => {
  const other = await listenLocally(createServer());
  const SLUICE_PORT = String(other.port);
  const taken = await looked({ SLUICE_PORT });
  assert.equal(taken.code, 1);
  assert.ok(
    taken.lines.some((line) => line.includes(`Port ${SLUICE_PORT} on 127.0.0.1 is in use`)),
  );
  await other.close();
  const free = await looked({ SLUICE_PORT });
  assert.deepEqual([free.code, free.lines.some((line) => line.includes('is free'))], [0, true]);
});

test('the doctor names the settings with which a start would end or warn', async () => {
  const SLUICE_PLUGIN_CATALOGUE = join(folder, 'no_catalogue.json');
  const SLUICE_TRACES_FILE = join(folder, 'no_folder', 'traces.jsonl');
  const { code, lines } = await looked({ SLUICE_PLUGIN_CATALOGUE, SLUICE_TRACES_FILE });
  assert.equal(code, 1);
  assert.match(lines.join('\n'), /^fault +settings: SLUICE_PLUGIN_CATALOGUE: /m);
  assert.match(lines.join('\n'), /^warning +settings: SLUICE_TRACES_FILE: there is no folder/m);
});

test('a lost embedded store beside an existing one is reported, not created', async () => {
  for (const [kept, lost] of [
    ['postgres', 'clickhouse'],
    ['clickhouse', 'postgres'],
  ] as const) {
    const data = join(folder, `with ${kept}`);
    mkdirSync(join(data, kept), { recursive: true });
    const { code, lines } = await looked({ SLUICE_DATA_DIR: data });
    assert.equal(code, 1);
    assert.match(lines.join('\n'), new RegExp(`^fault +stores: .*--lost ${lost}`, 'm'));
    assert.deepEqual(readdirSync(data), [kept]);
  }
  // Beside a store that is named and has taken nothing in, none is lost.
  const { code, lines } = await looked({ SLUICE_DATABASE_URL: stores.database_url });
  assert.deepEqual([code, lines.at(-1)], [0, 'Nothing is wrong.']);
});

test('doctor and backup always report a pooler that mixes sessions', async (t) => {
  const pooler = await openTransactionPooler(stores.database_url);
  t.after(() => pooler.close());
  const { user, password, database } = accessTo(stores.database_url, pooler.port);
  const url = `postgres://${user}:${password}@127.0.0.1:${pooler.port}/${database}`;
  // A prepared statement of one process is in the way of the next.
  for (let time = 0; time < 2; time += 1) {
    const { code, lines } = await looked({ SLUICE_DATABASE_URL: url });
    assert.equal(code, 1);
    assert.match(lines.join('\n'), /^fault +SLUICE_DATABASE_URL: .* pooler that mixes sessions/m);
  }
  const place = openPlace(join(folder, 'pooled'));
  const command = commandOn({ clickhouse_url: stores.clickhouse_url, database_url: url }, folder);
  await assert.rejects(createBackup(command, place, { passphrase, rows_per_file: 100 }), {
    name: 'ControlStoreError',
    message: /pooler that mixes sessions/,
  });
});

test('an export folder that cannot be created is a fault, and the doctor ends', async () => {
  const { code, lines } = await looked({ SLUICE_EXPORT_DIR: '/proc/sluice/exports' });
  assert.equal(code, 1);
  assert.match(
    lines.join('\n'),
    /^fault +export folder: \/proc is the kernel's own.*name another folder with SLUICE_EXPORT_DIR/m,
  );
});

test('the doctor says nothing about the content of an unreadable data folder', async () => {
  const plain = join(folder, 'plain');
  writeFileSync(plain, '');
  const { lines } = await looked({ SLUICE_DATA_DIR: join(plain, 'data') });
  assert.doesNotMatch(lines.join('\n'), /none yet|will be created/);
});

test('a full disk is reported in a sentence', () => {
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), {
    code: 'ENOSPC',
  });
  assert.equal(
    storesFault(full).detail,
    'A disk is full: ENOSPC: no space left on device, write. Make room (or free inodes), then ' +
      'run ' +
      'this command again.',
  );
});

// Each waits five seconds for stores that do not come up.
describe('stores that are away', { concurrency: 2 }, () => {
  test('each store that is away is reported in a sentence, without a log or a stack', async () => {
    const { code, lines, logged } = await looked({
      SLUICE_DATABASE_URL: 'postgres://u:secret-word@127.0.0.1:9/x',
      SLUICE_CLICKHOUSE_URL: 'http://u:secret-word@127.0.0.1:9/x',
    });
    const text = lines.join('\n');
    assert.equal(code, 1);
    assert.match(text, /^fault +SLUICE_DATABASE_URL: .*ECONNREFUSED/m);
    assert.match(text, /^fault +SLUICE_CLICKHOUSE_URL: .*ECONNREFUSED/m);
    assert.match(text, /2 things are wrong/);
    assert.doesNotMatch(text + logged, /secret-word| at .*\.ts:/);
    assert.equal(logged, '');
  });

  test('a wrong SLUICE_CLICKHOUSE_URL beside a running server is not overlooked', async () => {
    const data = join(folder, 'running');
    mkdirSync(data);
    const unlock = lockDataFolder(data);
    try {
      const { database_url, clickhouse_url } = stores;
      writeFileSync(
        join(data, 'running.json'),
        JSON.stringify({ pid: process.pid, database_url, clickhouse_url }),
      );
      const beside = (url: string) => looked({ SLUICE_DATA_DIR: data, SLUICE_CLICKHOUSE_URL: url });
      const wrong = await beside('http://127.0.0.1:9/x');
      assert.equal(wrong.code, 1);
      assert.match(wrong.lines.join('\n'), /^fault +SLUICE_CLICKHOUSE_URL: .*ECONNREFUSED/m);
      assert.match(
        wrong.lines.join('\n'),
        /^warning +SLUICE_CLICKHOUSE_URL: the running server uses/m,
      );
      // The doctor still checks the store of the running server.
      assert.match(wrong.lines.join('\n'), /^ok +activity log/m);
      const right = await beside(clickhouse_url);
      assert.equal(right.code, 0, right.lines.join('\n'));
      assert.doesNotMatch(right.lines.join('\n'), /uses another store/);
    } finally {
      unlock();
    }
  });

  test('a wrong SLUICE_DATABASE_URL beside embedded stores, on a socket, is reported', async () => {
    const data = join(folder, 'embedded');
    mkdirSync(data);
    const unlock = lockDataFolder(data);
    try {
      const socket = `host=${encodeURIComponent(join(data, 'postgres'))}&port=5432`;
      const database_url = `postgresql://user:secret-word@/sluice?${socket}`;
      writeFileSync(
        join(data, 'running.json'),
        JSON.stringify({ pid: process.pid, database_url, clickhouse_url: stores.clickhouse_url }),
      );
      const beside = (url: string) => looked({ SLUICE_DATA_DIR: data, SLUICE_DATABASE_URL: url });
      const [wrong, right] = await Promise.all([
        beside('postgres://127.0.0.1:9/x'),
        // The same one, asked by somebody else.
        beside(`postgres:///sluice?${socket}`),
      ]);
      assert.equal(wrong.code, 1);
      const text = wrong.lines.join('\n');
      assert.match(text, /^fault +SLUICE_DATABASE_URL: .*ECONNREFUSED/m);
      assert.match(text, /^warning +SLUICE_DATABASE_URL: the running server uses another store/m);
      assert.doesNotMatch(text, /secret-word/);
      assert.doesNotMatch(right.lines.join('\n'), /uses another store/);
    } finally {
      unlock();
    }
  });
});

test('a database that came here from another PostgreSQL is taken over by a word only', async () => {
  const { database_url, clickhouse_url } = stores;
  const db = openDatabase(database_url, { connections_max: 2, application_name: 'doctor-test' });
  try {
    await db.text('SELECT 1');
    await notePrimary(db);
    const own = await findPrimary(db);
    assert.deepEqual({ ...db.epoch(), since: own?.since, lost_bytes: 0 }, own);
    await db.run(sql`UPDATE server_facts SET value = value || '{"system_identifier": "1"}'
      WHERE name = 'control_store'`);
    const { code, lines } = await looked({
      SLUICE_DATABASE_URL: database_url,
      SLUICE_CLICKHOUSE_URL: clickhouse_url,
    });
    assert.equal(code, 1);
    assert.match(lines.join('\n'), /^fault +stores: .*system identifier 1,.*--accept-store/m);
    // A backup is refused as well, because no server works on this store.
    const place = openPlace(join(folder, 'backup'));
    const options = { passphrase, rows_per_file: 120 };
    await assert.rejects(
      createBackup(commandOn(stores, folder), place, options),
      /system identifier 1,.*--accept-store/,
    );
    await notePrimary(db, { accepts: true });
    assert.equal((await findPrimary(db))?.system_identifier, own?.system_identifier);
    // As after a promotion, by which commits were lost.
    await db.run(sql`UPDATE server_facts SET value = value || '{"timeline": 0}'
      WHERE name = 'control_store'`);
    assert.equal((await notePrimary(db, { lost_bytes: 7 }))?.timeline, 0);
    assert.match((await lookAtPrimary(db)).at(-1)!.detail, /lost 7 bytes .* were reconciled/);
  } finally {
    await db.run(sql`DELETE FROM server_facts WHERE name = 'control_store'`);
    await db.close();
  }
});

test('the doctor says in a sentence whether a standby has the answered rows', () => {
  const cases: [string, string, number | null, string][] = [
    ['', 'on', 0, 'ok'],
    ['b', 'off', 1, 'warning'],
    ['b', 'on', null, 'warning'],
    ['b', 'on', 0, 'fault'],
    ['b', 'on', 1, 'ok'],
  ];
  for (const [wanted, commit, present, state] of cases)
    assert.equal(standbyFinding({ wanted, commit, present }).state, state);
});

test('before a migration the doctor names its steps, and takes none', async () => {
  const { database_url, clickhouse_url } = stores;
  const db = openDatabase(database_url, { connections_max: 1, application_name: 'doctor-test' });
  try {
    const name = '0038_background_migrations.sql';
    await db.run(sql`DROP TABLE background_migration_partitions, background_migrations`);
    await db.run(sql`DELETE FROM migrations WHERE name = ${name}`);
    const told = async (command: typeof migrate) => {
      const said: string[] = [];
      const environment = {
        SLUICE_DATABASE_URL: database_url,
        SLUICE_CLICKHOUSE_URL: clickhouse_url,
      };
      const config = readConfig({ ...environment, SLUICE_SECRET_KEY: secret_key });
      await command({ config, log: silentLog(), say: (line) => said.push(line) });
      return said.join('\n');
    };
    const { code, lines } = await looked({
      SLUICE_DATABASE_URL: database_url,
      SLUICE_CLICKHOUSE_URL: clickhouse_url,
    });
    assert.equal(code, 0);
    const text = lines.join('\n');
    assert.match(
      text,
      /^warning +migration: 0038_background_migrations\.sql: Migrations of the anal/m,
    );
    assert.match(text, /^warning +schema: 5 migrations to Sluice .* at its next start/m);
    const warnings = lines.filter((line) => line.startsWith('warning ')).length;
    assert.equal(lines.at(-1), `Nothing is broken; ${warnings} warnings.`);
    assert.match(
      text,
      /next start, .* That start takes less than a second longer, by the bytes of/,
    );
    // The same without the rest of the doctor, until it is applied.
    const status = await told(migrationStatus);
    assert.match(status, /^migration: 0038_background_migrations\.sql: Migrations of the anal/m);
    assert.equal(await db.row(sql`SELECT 1 FROM migrations WHERE name = ${name}`), undefined);
    assert.match(await told(migrate), /^Both stores are at this version/);
    assert.doesNotMatch(await told(migrationStatus), /^migration:/m);
  } finally {
    await db.close();
  }
});

test('the doctor names steps of ClickHouse, its endless logs, and a newer schema', async () => {
  const { database_url, clickhouse_url } = stores;
  const db = openDatabase(database_url, { connections_max: 1, application_name: 'doctor-test' });
  const clickhouse = openClickHouse(clickhouse_url, { application: 'doctor-test' });
  const environment = {
    SLUICE_DATABASE_URL: database_url,
    SLUICE_CLICKHOUSE_URL: clickhouse_url,
  };
  const text = async () => (await looked(environment)).lines.join('\n');
  const applied = '0071_sessions.sql';
  try {
    await clickhouse.command({
      query: `ALTER TABLE migrations DELETE WHERE name = '${applied}'`,
      clickhouse_settings: { mutations_sync: '1' },
    });
    assert.match(
      await text(),
      /^warning +migration: ClickHouse 0071_sessions\.sql: The session of/m,
    );
    await clickhouse.insert({
      table: 'migrations',
      values: [{ name: applied }],
      format: 'JSONEachRow',
    });
    await clickhouse.command({
      query: 'CREATE TABLE system.kept_log (n Int64) ENGINE = MergeTree ORDER BY n',
    });
    assert.match(await text(), /^warning +ClickHouse log: system\.kept_log \(.*\) has no end\./m);
    await db.run(sql`INSERT INTO migrations (name, sha256, release)
      VALUES ('9999_later.sql', '', '99.0.0')`);
    assert.match(
      await text(),
      /^warning +schema: The database was brought to 99\.0\.0 \(migration 9999_later\.sql\)/m,
    );
  } finally {
    await db.run(sql`DELETE FROM migrations WHERE name = '9999_later.sql'`);
    await clickhouse.command({ query: 'DROP TABLE IF EXISTS system.kept_log SYNC' });
    await clickhouse.close();
    await db.close();
  }
});
