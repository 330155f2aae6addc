import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../test/around_tests.ts';
import { newLakeTable } from '../../../../test/factories/batch_exports/lake_tables.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import { maintainTables } from './work.ts';

const exporting = aroundTests(openQueryHarness);

/** A table that no export writes any more, in the export folder, and a round of maintenance. */
async function newClientTable() {
  const { engine, db } = exporting.harness.deps;
  const table = await newLakeTable(exporting, { hours: 2 });
  const named = sql`id = (SELECT namespace_id FROM lake_tables WHERE id = ${table.id}::uuid)`;
  await db.run(sql`UPDATE lake_tables SET batch_export_id = NULL WHERE id = ${table.id}::uuid`);
  await db.run(sql`UPDATE lake_namespaces SET batch_export_id = NULL WHERE ${named}`);
  return {
    ...table,
    setNamespace: (value: string) =>
      db.run(sql`UPDATE lake_namespaces
        SET properties = ${JSON.stringify({ 'sluice.maintenance': value })}::jsonb WHERE ${named}`),
    files: async () => {
      await maintainTables(engine, new AbortController().signal);
      return (await table.live()).length;
    },
    due: () => db.run(sql`UPDATE lake_maintenance SET due_at = now() - interval '1 minute'`),
  };
}

test('a table of a client is left alone until its property asks for maintenance', async () => {
  const table = await newClientTable();
  assert.equal(await table.files(), 2);
  await table.setProperties({ 'sluice.maintenance': 'true' });
  const old = new Date(Date.now() - 4 * 24 * 3_600_000);
  const put = async (name: string) => {
    await writeFile(join(table.folder, 'metadata', name), '');
    await utimes(join(table.folder, 'metadata', name), old, old);
    return `metadata/${name}`;
  };
  // Other writers give the first of these names too.
  const theirs = await put(`${randomUUID()}-m0.avro`);
  const ours = await put(`${randomUUID()}-r.avro`);
  assert.equal(await table.files(), 1);
  const stored = await table.stored();
  assert.deepEqual([stored.includes(theirs), stored.includes(ours)], [true, false]);
  await table.checkWhole();
});

test('a namespace turns maintenance on, and the word of a table comes first', async () => {
  const table = await newClientTable();
  await table.setProperties({ 'sluice.maintenance': 'false' });
  await table.setNamespace('true');
  assert.equal(await table.files(), 2);
  await table.setProperties({ 'sluice.maintenance': 'TRUE' });
  await table.setNamespace('false');
  await table.due();
  assert.equal(await table.files(), 1);
});
