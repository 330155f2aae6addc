import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import sql from 'sql-template-tag';
import { eventually } from '../../../test/eventually.ts';
import { openTestStores } from '../../../test/harness_stores.ts';
import type { TestStores } from '../../../test/harness_stores.ts';
import { openDatabase } from './database.ts';
import type { Database } from './database.ts';
import {
  migratePostgres,
  newerMigrations,
  pendingMigrations,
  SchemaTooNewError,
} from './migrate.ts';
import { applicationOf, OlderProcessError } from './older_processes.ts';

let stores: TestStores;
let db: Database;
let folder: string;
before(async () => {
  stores = await openTestStores({ clickhouse: false });
  db = openDatabase(stores.database_url, { connections_max: 4, application_name: 'migrations' });
  await db.run(sql`DROP TABLE migrations`);
  folder = mkdtempSync(join(tmpdir(), 'sluice-migrations-'));
});
after(async () => {
  await db.close();
  await stores.close();
  rmSync(folder, { recursive: true, force: true });
});

function file(name: string, text: string): void {
  writeFileSync(join(folder, name), text);
}

test('two at once apply each file once, and each is noted with its release', async () => {
  file('0001_first.sql', '-- The ground. More of it.\nCREATE TABLE ground (id integer);\n');
  file('0002_second.sql', 'INSERT INTO ground VALUES (2);\n');
  const both = await Promise.all([
    migratePostgres(db, folder, '1.0.0'),
    migratePostgres(db, folder, '1.0.0'),
  ]);
  assert.deepEqual(both.flat().sort(), ['0001_first.sql', '0002_second.sql']);
  assert.deepEqual(await db.rows(sql`SELECT id FROM ground`), [{ id: 2 }]);
  assert.deepEqual(await db.rows(sql`SELECT DISTINCT release FROM migrations`), [
    { release: '1.0.0' },
  ]);
});

test('pending migrations are listed with their purpose, and not applied', async () => {
  file('0003_third.sql', '-- A third thing, told\n-- in two lines. And why.\nSELECT no_such();\n');
  const pending = await pendingMigrations(db, folder, '1.1.0');
  assert.deepEqual(
    pending.map(({ name, purpose }) => [name, purpose]),
    [['0003_third.sql', 'A third thing, told in two lines']],
  );
  await assert.rejects(migratePostgres(db, folder, '1.1.0'), /no_such/);
  file('0003_third.sql', '-- A third thing.\nALTER TABLE ground ADD COLUMN name text;\n');
  assert.deepEqual(await migratePostgres(db, folder, '1.1.0'), ['0003_third.sql']);
});

test('an older release works on what a newer one only added to', async () => {
  assert.deepEqual(await newerMigrations(db, folder), []);
  rmSync(join(folder, '0003_third.sql'));
  assert.deepEqual(await migratePostgres(db, folder, '1.0.0'), []);
  assert.deepEqual(await newerMigrations(db, folder), [
    { name: '0003_third.sql', release: '1.1.0' },
  ]);
});

test('a newer schema refuses a release, naming both and the way back', async () => {
  const contract = '-- Takes the name away.\n-- Oldest release: 1.1.0\n';
  file('0004_fourth.sql', `${contract}ALTER TABLE ground DROP COLUMN name;\n`);
  assert.deepEqual(await migratePostgres(db, folder, '1.2.0'), ['0004_fourth.sql']);
  rmSync(join(folder, '0004_fourth.sql'));
  assert.deepEqual(await migratePostgres(db, folder, '1.1.0'), []);
  await assert.rejects(migratePostgres(db, folder, '1.0.0'), (error) => {
    assert.ok(error instanceof SchemaTooNewError);
    assert.equal(
      error.message,
      'This is Sluice 1.0.0, and the database was upgraded to 1.2.0 (migration ' +
        '0004_fourth.sql), which needs 1.1.0 or newer. Nothing was changed. Start 1.2.0 again; ' +
        'to go back to 1.0.0, restore the backup that was created before the upgrade.',
    );
    return true;
  });
});

test('a migration that older processes cannot work beside waits for their end', async () => {
  const contract = '-- Takes a table away.\n-- Oldest release: 1.1.0\n';
  file('0005_fifth.sql', `${contract}DROP TABLE IF EXISTS no_such;\n`);
  const worker = (release: string) => {
    const application_name = applicationOf('worker', release);
    return openDatabase(stores.database_url, { connections_max: 1, application_name });
  };
  const [older, fitting] = [worker('1.0.0'), worker('1.1.0')];
  try {
    await Promise.all([older.rows(sql`SELECT 1`), fitting.rows(sql`SELECT 1`)]);
    await assert.rejects(pendingMigrations(db, folder, '1.2.0'), OlderProcessError);
    await assert.rejects(migratePostgres(db, folder, '1.2.0'), {
      message:
        'The migration 0005_fifth.sql removes parts of the database that processes older than ' +
        '1.1.0 need. These are connected: sluice-worker 1.0.0. Nothing was changed. Stop them, ' +
        'or upgrade them to 1.1.0 first; then start this one again.',
    });
    await older.close();
    // PostgreSQL shows a session for a moment after its client has left.
    await eventually('the session does not end', async () => {
      const name = applicationOf('worker', '1.0.0');
      const left = sql`SELECT 1 FROM pg_stat_activity WHERE application_name = ${name}
        AND datname = current_database()`;
      return (await db.row(left)) === undefined;
    });
    assert.deepEqual(await migratePostgres(db, folder, '1.2.0'), ['0005_fifth.sql']);
  } finally {
    await fitting.close();
  }
});

test('a file that was changed since it was applied is refused', async () => {
  file('0001_first.sql', 'CREATE TABLE ground (id bigint);\n');
  await assert.rejects(migratePostgres(db, folder, '1.2.0'), /0001_first\.sql was changed after/);
});
