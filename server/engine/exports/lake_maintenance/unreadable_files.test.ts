import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../test/around_tests.ts';
import { newLakeTable } from '../../../../test/factories/batch_exports/lake_tables.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import { stateOf } from './maintained_table.ts';
import { maintainTables } from './work.ts';

const exporting = aroundTests(openQueryHarness);

/** A table whose oldest manifest another writer has spoiled, and ways to look at it. */
async function newSpoiledTable() {
  const table = await newLakeTable(exporting, { hours: 3 });
  const { db, engine } = exporting.harness.deps;
  const [name] = (await table.stored()).filter((one) => one.endsWith('-m0.avro'));
  const path = join(table.folder, name!);
  const whole = await readFile(path);
  return {
    table,
    name: name!,
    spoil: () => writeFile(path, 'no manifest'),
    mend: () => writeFile(path, whole),
    /** Maintains the table some days later. */
    maintain: async (days: number) => {
      await db.run(sql`UPDATE lake_maintenance SET due_at = now() WHERE table_id = ${table.id}`);
      const now = () => Date.now() + days * 24 * 3_600_000;
      await maintainTables(
        { ...engine, clock: { ...engine.clock, now } },
        new AbortController().signal,
      );
      return (await db.row<{ detail: string | null; cleaned: boolean }>(sql`
        SELECT detail, cleaned_at IS NOT NULL AS cleaned FROM lake_maintenance
        WHERE table_id = ${table.id}`))!;
    },
    notices: () =>
      db.rows<{ detail: string; table: string }>(sql`
        SELECT body::jsonb -> 'data' ->> 'detail' AS detail,
          body::jsonb -> 'data' ->> 'table' AS "table"
        FROM notices WHERE batch_export_id = ${table.export_id} AND event = 'table_unreadable'
        ORDER BY created_at`),
  };
}

test('a spoiled manifest stops what needs it, is told once, and no file goes', async () => {
  const { table, name, spoil, mend, maintain, notices } = await newSpoiledTable();
  await table.setProperties({ 'history.expire.max-snapshot-age-ms': '1' });
  await spoil();
  const before = await table.stored();
  const first = await maintain(4);
  assert.ok(first.detail!.includes(`${name} cannot be read`), first.detail!);
  assert.equal(first.cleaned, false);
  const parquet = (names: string[]) => names.filter((one) => one.endsWith('.parquet'));
  assert.deepEqual(parquet(await table.stored()), parquet(before));
  const { db } = exporting.harness.deps;
  const snapshots = await db.rows(sql`SELECT 1 FROM lake_snapshots WHERE table_id = ${table.id}`);
  assert.equal(snapshots.length, 1);

  await maintain(5);
  const told = await notices();
  assert.deepEqual(
    told.map((one) => one.table),
    ['sluice.events'],
  );
  assert.match(told[0]!.detail, /neither merged nor removed until no snapshot names that file/);

  await mend();
  const after = await maintain(6);
  assert.deepEqual([after.detail, after.cleaned], [null, true]);
  assert.equal((await table.rows(['uuid'])).length, 6);
  await table.checkWhole();
  await spoil();
  await maintain(7);
  assert.equal((await notices()).length, 1, 'the manifest has left the table');
});

test('an empty manifest list is told, and maintenance continues once it is whole', async () => {
  const { table, maintain, notices } = await newSpoiledTable();
  const { table: stored } = await table.open();
  const { parent } = await stateOf(exporting.harness.deps.db, stored);
  const path = fileURLToPath(parent!['manifest-list']);
  const whole = await readFile(path);
  await writeFile(path, '');
  assert.match((await maintain(1)).detail!, /manifest list .* cannot be read/);
  await writeFile(path, whole);
  assert.equal((await maintain(2)).detail, null);
  assert.equal((await notices()).length, 1);
  assert.equal((await table.live()).length, 1);
  await table.checkWhole();
});
