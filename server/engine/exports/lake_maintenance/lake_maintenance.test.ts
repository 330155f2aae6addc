import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../test/around_tests.ts';
import { newLakeTable } from '../../../../test/factories/batch_exports/lake_tables.ts';
import type { TestTable } from '../../../../test/factories/batch_exports/lake_tables.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import { verifyExports } from '../verification/verify_exports.ts';
import type { Engine } from '../engine.ts';
import { maintainTable } from './maintain.ts';
import { commitHeld } from './maintained_table.ts';
import type { MaintainedTable } from './maintained_table.ts';
import { maintainTables } from './work.ts';

const exporting = aroundTests(openQueryHarness);
const columns = ['uuid', 'event', 'timestamp', 'properties'];
const everything = { is_daily: true, cleans: true };

/** The engine, so many hours later. */
function later(hours: number): Engine {
  const { engine } = exporting.harness.deps;
  return { ...engine, clock: { ...engine.clock, now: () => Date.now() + hours * 3_600_000 } };
}

const maintain = async (table: TestTable, engine?: Engine) =>
  maintainTable(await table.open(engine), everything);

test('small files become one, with the same rows in the same order', async () => {
  const table = await newLakeTable(exporting, { hours: 5, events: 3 });
  const before = await table.rows(columns);
  assert.equal(before.length, 15);
  const { result, detail } = await maintain(table);
  assert.deepEqual([result.files_compacted, result.files_written, detail], [5, 1, null]);
  assert.equal((await table.live()).length, 1);
  assert.deepEqual(await table.rows(columns), before);
  await table.checkWhole();
  const latest = await exporting.harness.deps.db.row<{ summary: Record<string, string> }>(sql`
    SELECT snapshot::jsonb -> 'summary' AS summary FROM lake_snapshots
    WHERE table_id = ${table.id}::uuid ORDER BY number DESC LIMIT 1`);
  const { operation, 'total-records': total, 'total-data-files': files } = latest!.summary;
  assert.deepEqual([operation, total, files], ['replace', '15', '1']);
  // Nothing is left to do, and the older snapshots still have their files.
  assert.deepEqual((await maintain(table)).result.files_compacted, 0);
});

test('null stays null beside other values, of each type', async () => {
  const custom_query =
    'SELECT uuid, timestamp, toInt(properties.even) AS number, ' +
    'toFloat(properties.even) AS ratio, toDecimalOrNull(properties.even) AS price, ' +
    'toDateTimeOrNull(properties.at) AS at, toDateOrNull(properties.at) AS day, ' +
    'toInt(properties.even) > 2 AS is_large FROM events SETTINGS native_types = 1';
  const table = await newLakeTable(exporting, {
    hours: 2,
    events: 4,
    properties: (n) => (n % 2 === 0 ? { even: n, at: `1969-12-31T23:59:5${n}.999999Z` } : {}),
    body: { custom_query },
  });
  const names = ['uuid', 'number', 'ratio', 'price', 'at', 'day', 'is_large'];
  const before = await table.rows(names);
  assert.deepEqual(
    before.map((row) => row.filter((value) => value === null).length),
    [0, 6, 0, 6, 0, 6, 0, 6],
  );
  const { result, detail } = await maintain(table);
  assert.deepEqual([result.files_compacted, result.files_written, detail], [2, 1, null]);
  assert.deepEqual(await table.rows(names), before);
});

test('manifests are merged once there are many, without those of files that left', async () => {
  const table = await newLakeTable(exporting, { hours: 5 });
  await table.setProperties({ 'commit.manifest.min-count-to-merge': '2' });
  const before = await table.rows(columns);
  const open = await table.open();
  const rules = { ...open.rules, file_bytes: 1 };
  const { result } = await maintainTable({ ...open, rules }, everything);
  assert.deepEqual([result.files_compacted, result.manifests_merged], [0, 5]);
  assert.deepEqual(await table.rows(columns), before);
  await table.checkWhole();
});

test('snapshots expire first, then what only they reached is removed', async () => {
  const table = await newLakeTable(exporting, { hours: 5 });
  const before = await table.rows(columns);
  await commitTag(await table.open(), 'kept');
  await maintain(table);
  const { result } = await maintain(table, later(24 * 4));
  // The tag keeps one of the five, and the current one stays.
  assert.equal(result.snapshots_expired, 4);
  assert.equal(result.data_files_removed, 0);
  assert.deepEqual(await table.rows(columns), before);
  assert.equal((await table.rows(columns, 'kept')).length, before.length);
  await commitHeld(await table.open(), async () => [
    { action: 'remove-snapshot-ref', 'ref-name': 'kept' },
  ]);
  const second = (await maintain(table, later(24 * 4))).result;
  assert.deepEqual([second.snapshots_expired, second.data_files_removed], [1, 5]);
  const left = await table.stored();
  assert.deepEqual(
    left.filter((name) => name.endsWith('.parquet')).map((name) => name.split('/')[1]),
    ['compacted'],
  );
  await table.checkWhole();
  // A delivery whose snapshot has expired is still known as shown.
  const runs = await exporting.runAll(table.export_id);
  assert.ok(runs.every(({ status }) => status === 'Completed'));
});

test('a crash at any step loses nothing, and the next round continues', async () => {
  const table = await newLakeTable(exporting, { hours: 3 });
  await table.setProperties({
    'commit.manifest.min-count-to-merge': '2',
    'history.expire.max-snapshot-age-ms': '1',
  });
  const before = await table.rows(columns);
  let steps = 0;
  for (let step = 0; ; step += 1) {
    const is_over = await maintainUntil(await table.open(later(24 * 4)), step);
    assert.deepEqual(await table.rows(columns), before, `after step ${step}`);
    await table.checkWhole();
    steps = step;
    if (is_over) break;
  }
  assert.ok(steps > 8, `only ${steps} steps`);
  assert.equal((await table.live()).length, 1);
  await maintain(table, later(24 * 4));
  const parquet = (await table.stored()).filter((name) => name.endsWith('.parquet'));
  assert.equal(parquet.length, 1, parquet.join());
});

test('orphans are ours by name and age; anything else stays', async () => {
  const table = await newLakeTable(exporting, { hours: 1 });
  const old = new Date(Date.now() - 5 * 24 * 3_600_000);
  const put = async (name: string, is_old: boolean) => {
    const path = join(table.folder, name);
    await writeFile(path, 'x');
    if (is_old) await utimes(path, old, old);
    return name;
  };
  const orphan = await put(`metadata/${randomUUID()}-m0.avro`, true);
  const slice = await put('data/20260101T000000Z-20260101T010000Z-0123456789ab-0000.parquet', true);
  const failed = await put(`metadata/00001-${randomUUID()}.metadata.json`, true);
  const others = [
    await put(`metadata/${randomUUID()}-m1.avro`, false),
    await put('metadata/statistics.puffin', true),
    await put('data/part-0000.parquet', true),
    await put('metadata/version-hint.text', true),
  ];
  const before = await table.stored();
  const { result } = await maintain(table);
  const after = await table.stored();
  assert.equal(result.orphans_removed, 3);
  assert.deepEqual(
    before.filter((name) => !after.includes(name)),
    [orphan, slice, failed].toSorted(),
  );
  for (const name of others) assert.ok(after.includes(name), name);
});

test('old metadata files go once the table names them no longer', async () => {
  const table = await newLakeTable(exporting, { hours: 4 });
  await table.setProperties({ 'write.metadata.previous-versions-max': '2' });
  await table.setProperties({ again: '1' });
  await maintain(table);
  const files = (await table.stored()).filter((name) => name.endsWith('.metadata.json'));
  const { table: now } = await table.open();
  assert.equal(now.metadata['metadata-log'].length, 2);
  assert.equal(files.length, 3);
});

test('an append in between is kept, and a file that was replaced in between wins', async () => {
  const table = await newLakeTable(exporting, { hours: 3 });
  const open = await table.open();
  let is_struck = false;
  // Strikes after the new file is stored, before the commit.
  const files = {
    ...open.files,
    put: async (uri: string, content: Buffer | string) => {
      await open.files.put(uri, content);
      if (is_struck || !uri.endsWith('.parquet')) return;
      is_struck = true;
      await exporting.extend(table.export_id, 4);
      await exporting.insert(table.home, [{ event: 'late', at: '2026-01-01T03:30:00Z' }]);
      await exporting.runAll(table.export_id);
    },
  };
  const { result } = await maintainTable({ ...open, files }, everything);
  assert.equal(result.files_compacted, 3);
  assert.equal((await table.live()).length, 2);
  assert.equal((await table.rows(columns)).length, 7);
  is_struck = false;
  const again = {
    ...open.files,
    put: async (uri: string, content: Buffer | string) => {
      await open.files.put(uri, content);
      if (is_struck || !uri.endsWith('.parquet')) return;
      is_struck = true;
      await maintainTable(await table.open(), everything);
    },
  };
  const second = await maintainTable({ ...(await table.open()), files: again }, everything);
  assert.equal(second.result.files_compacted, 0);
  assert.equal((await table.rows(columns)).length, 7);
  await table.checkWhole();
});

test('verify follows rows into the file that has them now, and finds a change there', async () => {
  const table = await newLakeTable(exporting, { hours: 3 });
  await table.setProperties({ 'history.expire.max-snapshot-age-ms': '1' });
  for (let round = 0; round < 2; round += 1) await maintain(table, later(24));
  const [file] = await table.live();
  const { engine } = exporting.harness.deps;
  const verify = async () => {
    const [verified] = await verifyExports(engine, table.export_id);
    return verified!.differences.map(({ kind, detail }) => [kind, detail]);
  };
  assert.deepEqual(await verify(), []);
  const path = file!.path.slice('file://'.length);
  const bytes = await readFile(path);
  bytes[100]! ^= 1;
  await writeFile(path, bytes);
  const differences = await verify();
  assert.equal(differences.length, 3);
  for (const [kind, detail] of differences) {
    assert.equal(kind, 'changed');
    assert.match(detail!, /moved to .*compacted.*The SHA-256 of that file differs/);
  }
});

test('the chore takes a table that is due once, and says what it did', async () => {
  const table = await newLakeTable(exporting, { hours: 3 });
  const { engine, db } = exporting.harness.deps;
  await maintainTables(engine, new AbortController().signal);
  const row = await db.row<{ result: Record<string, number>; detail: string | null }>(sql`
    SELECT result, detail FROM lake_maintenance WHERE table_id = ${table.id}::uuid
      AND claim_id IS NULL AND finished_at IS NOT NULL AND cleaned_at IS NOT NULL`);
  assert.equal(row!.result['files_compacted'], 3);
  assert.equal(await maintainTables(engine, new AbortController().signal), 0);
});

test('a table may refuse it, and one whose files another table shares keeps them', async () => {
  const table = await newLakeTable(exporting, { hours: 2 });
  await table.setProperties({ 'sluice.maintenance': 'false' });
  await maintainTables(exporting.harness.deps.engine, new AbortController().signal);
  assert.equal((await table.live()).length, 2);
  await table.setProperties({ 'gc.enabled': 'false' });
  const { result } = await maintain(table, later(24 * 9));
  assert.deepEqual([result.files_compacted, result.snapshots_expired], [2, 0]);
});

async function commitTag(open: MaintainedTable, name: string): Promise<void> {
  const id = open.table.metadata['current-snapshot-id']!;
  await commitHeld(open, async () => [
    { action: 'set-snapshot-ref', 'ref-name': name, type: 'tag', 'snapshot-id': id },
  ]);
}

/** Maintains, and breaks off at the change of this number; true where there were fewer. */
async function maintainUntil(open: MaintainedTable, step: number): Promise<boolean> {
  let changes = 0;
  const counted =
    <Given extends unknown[], Result>(work: (...given: Given) => Promise<Result>) =>
    async (...given: Given) => {
      if (changes === step) throw new Error('The process was killed.');
      changes += 1;
      return work(...given);
    };
  const { engine, files } = open;
  const { db } = engine;
  const broken = {
    ...open,
    engine: {
      ...engine,
      db: { ...db, transaction: counted(db.transaction), run: counted(db.run) },
    },
    files: { ...files, put: counted(files.put), remove: counted(files.remove) },
  };
  try {
    await maintainTable(broken, everything);
    return true;
  } catch (error) {
    if ((error as Error).message !== 'The process was killed.') throw error;
    return false;
  }
}
