import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import sql from 'sql-template-tag';
import { eventually } from '../../../test/eventually.ts';
import { openTestStores } from '../../../test/harness_stores.ts';
import type { TestStores } from '../../../test/harness_stores.ts';
import { lookAtBackground } from '../../cli/doctor/background_findings.ts';
import { partsToRewrite } from '../../engine/model/removals/delete_rows.ts';
import { openClickHouse } from '../clickhouse/client.ts';
import type { ClickHouse } from '../clickhouse/client.ts';
import { silentLog } from '../log.ts';
import { openMetrics } from '../metrics.ts';
import { openDatabase } from '../postgres/database.ts';
import type { Database } from '../postgres/database.ts';
import { noteBackgroundMigrations, readBackgroundMigrations } from './files.ts';
import { listBackgroundMigrations } from './standing.ts';
import { workBackgroundMigrations } from './work.ts';
import type { BackgroundWork } from './work.ts';

let stores: TestStores;
let db: Database;
let clickhouse: ClickHouse;
let folder: string;
let work: BackgroundWork;
let is_full = false;
const name = '0901_first_letters.sql';
const text = `-- The first letter of each line. Rows of before get it too.
ALTER TABLE lines MATERIALIZE COLUMN letter IN PARTITION ID {partition};
`;

before(async () => {
  stores = await openTestStores({ clickhouse: true });
  db = openDatabase(stores.database_url, { connections_max: 3, application_name: 'test' });
  // Those of this release have their own.
  await db.run(sql`DELETE FROM background_migrations`);
  clickhouse = openClickHouse(stores.clickhouse_url, { application: 'test' });
  folder = mkdtempSync(join(tmpdir(), 'sluice-background-'));
  writeFileSync(join(folder, name), text);
  const metrics = openMetrics({ process_metrics: false });
  work = { db, clickhouse, disk: { isFull: () => is_full }, log: silentLog(), metrics };
});
after(async () => {
  rmSync(folder, { recursive: true, force: true });
  await clickhouse.close();
  await db.close();
  await stores.close();
});

/** Rows of three months, written before the column was there, and some of after. */
beforeEach(async () => {
  is_full = false;
  await db.run(sql`DELETE FROM background_migrations`);
  for (const query of [
    'DROP TABLE IF EXISTS lines SYNC',
    `CREATE TABLE lines (at Date, line String) ENGINE = MergeTree PARTITION BY toYYYYMM(at)
      ORDER BY line SETTINGS min_bytes_for_wide_part = 0`,
    `INSERT INTO lines SELECT toDate('2026-01-15') + INTERVAL number % 3 MONTH,
      concat(char(97 + number % 26), toString(number)) FROM numbers(30000)`,
    'ALTER TABLE lines ADD COLUMN letter String DEFAULT substring(line, 1, 1)',
    `INSERT INTO lines (at, line) VALUES ('2026-04-15', 'zebra')`,
  ])
    await clickhouse.command({ query });
});

const ask = async <Row>(query: string) => clickhouse.rows<Row>({ query });
/** The partitions whose files have the column. */
const materialized = async () =>
  (
    await ask<{ partition: string }>(`SELECT DISTINCT partition FROM system.parts_columns
      WHERE database = currentDatabase() AND table = 'lines' AND active AND column = 'letter'
      ORDER BY partition`)
  ).map(({ partition }) => partition);
const mutations = async () =>
  (
    await ask<{ count: number }>(`SELECT toInt32(count()) AS count FROM system.mutations
      WHERE database = currentDatabase() AND table = 'lines' AND NOT is_killed`)
  )[0]!.count;
const standing = async () => (await listBackgroundMigrations(db))[0]!;
const turn = () => workBackgroundMigrations(work, new AbortController().signal);
const workUntil = (isSo: () => Promise<boolean>) =>
  eventually('the migration did not come to that', async () => {
    await turn();
    return isSo();
  });
const found = async () => (await lookAtBackground(db)).map(({ detail }) => detail).join('\n');

test('it goes partition by partition, says how far it is, and ends', async () => {
  await noteBackgroundMigrations(db, folder);
  assert.deepEqual(await materialized(), ['202604']);
  assert.match(await found(), /The first letter of each line; waits for its turn/);
  await turn();
  const { partitions, finished_at } = await standing();
  assert.deepEqual([partitions, finished_at], [4, null]);
  assert.match(
    await found(),
    /0901_first_letters\.sql: .* \d+ % done, \d of 4 partitions, .* left/,
  );
  assert.match(
    await work.metrics.registry.metrics(),
    /sluice_background_migration_ratio\{name="0901_first_letters.sql"\} [01]/,
  );
  await workUntil(async () => (await standing()).finished_at !== null);
  assert.deepEqual(await materialized(), ['202601', '202602', '202603', '202604']);
  assert.equal(await mutations(), 4, 'each partition was asked for once');
  assert.match(await found(), /1 migrations?, all done/);
  assert.doesNotMatch(await work.metrics.registry.metrics(), /migration_ratio\{/);
  await noteBackgroundMigrations(db, folder);
  await turn();
  assert.equal(await mutations(), 4, 'what is done is not done again');
});

test('a migration killed in the middle continues, and asks for nothing twice', async () => {
  await noteBackgroundMigrations(db, folder);
  await clickhouse.command({ query: 'SYSTEM STOP MERGES lines' });
  await turn();
  assert.equal(await mutations(), 1);
  // Killed right after the store was asked: what it was at is noted as begun, and no more.
  await db.run(sql`UPDATE background_migration_partitions SET parts_left = NULL`);
  await turn();
  assert.equal(await mutations(), 1, 'it waits for what was asked for');
  assert.equal((await standing()).partitions_done, 0);
  // A removal of rows waits for the removal that was asked for, not for all partitions.
  assert.equal(await partsToRewrite(clickhouse, 'lines', new AbortController().signal), 0);
  await clickhouse.command({ query: 'SYSTEM START MERGES lines' });
  // Killed after it had noted that it will ask, and before it did.
  await workUntil(async () => (await standing()).partitions_done === 1);
  await db.run(sql`UPDATE background_migration_partitions
    SET started_at = now() - interval '5 seconds' WHERE started_at IS NULL`);
  await Promise.all([turn(), turn(), turn()]);
  await workUntil(async () => (await standing()).finished_at !== null);
  assert.equal((await materialized()).length, 4);
  assert.equal(await mutations(), 4);
});

test('a failing statement is reported and withdrawn; a full disk is waited for', async () => {
  is_full = true;
  await noteBackgroundMigrations(db, folder);
  await turn();
  assert.match(await found(), /Waits for free space on the disk/);
  assert.equal(await mutations(), 0);
  is_full = false;
  await workUntil(async () => (await standing()).finished_at !== null);
  // One that the store refuses at once, and one that fails while it is at it.
  for (const [number, statement, reason] of [
    ['0902', `UPDATE line = '' IN PARTITION ID {partition} WHERE 1`, /The store cannot: .*key col/],
    [
      '0903',
      `UPDATE letter = toString(throwIf(1, 'no letter')) IN PARTITION ID {partition} WHERE 1`,
      /The store cannot: .*no letter/,
    ],
  ] as const) {
    const bad = join(folder, `${number}_fails.sql`);
    writeFileSync(bad, `-- What cannot be.\nALTER TABLE lines ${statement};\n`);
    await noteBackgroundMigrations(db, folder).finally(() => rmSync(bad));
    await workUntil(async () => (await lookAtBackground(db))[0]!.state === 'warning');
    assert.match(await found(), reason);
    assert.match(await work.metrics.registry.metrics(), /migrations_failing 1/);
    // The failed removal is withdrawn, so that a later erasure does not wait.
    await clickhouse.command({
      query: "ALTER TABLE lines DELETE WHERE line = 'a0'",
      clickhouse_settings: { mutations_sync: '2' },
    });
    await db.run(sql`DELETE FROM background_migrations WHERE name = ${`${number}_fails.sql`}`);
  }
});

test('a file that was changed, or is no statement for a partition, is refused', async () => {
  await noteBackgroundMigrations(db, folder);
  const other = mkdtempSync(join(tmpdir(), 'sluice-background-'));
  try {
    writeFileSync(join(other, name), `${text}-- changed\n`);
    await assert.rejects(noteBackgroundMigrations(db, other), /was changed after this database/);
    writeFileSync(join(other, name), '-- All at once.\nALTER TABLE lines MATERIALIZE COLUMN a;\n');
    assert.throws(() => readBackgroundMigrations(other), /IN PARTITION ID \{partition\}/);
    assert.deepEqual(readBackgroundMigrations(join(other, 'none')), []);
  } finally {
    rmSync(other, { recursive: true });
  }
});
