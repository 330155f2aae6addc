import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../test/around_tests.ts';
import { newLakeTable } from '../../../../test/factories/batch_exports/lake_tables.ts';
import type { TestTable } from '../../../../test/factories/batch_exports/lake_tables.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import { erasing } from '../../../../test/factories/events/erasures.ts';
import { tracedRows } from '../../../../test/factories/lineage.ts';
import { destinationDeps } from '../../exports/engine.ts';
import { file_place } from '../../destinations/file/file.ts';
import { openWorld } from '../../destinations/iceberg/open_world.ts';
import { readAvro } from '../../destinations/lake/avro_file.ts';
import { maintainTable } from '../../exports/lake_maintenance/maintain.ts';
import { commitHeld } from '../../exports/lake_maintenance/maintained_table.ts';
import { verifyExports } from '../../exports/verification/verify_exports.ts';

const exporting = aroundTests(openQueryHarness);
const { ask, work } = erasing(() => exporting);
/** Ada has the first event of each hour, and nothing else of that hour if it has one event. */
const person = (n: number) => (n % 3 === 0 ? 'ada@example.com' : `person-${n}`);

async function pin(table: TestTable, name: string, type: 'tag' | 'branch'): Promise<void> {
  const open = await table.open();
  const id = open.table.metadata['current-snapshot-id']!;
  await commitHeld(open, async () => [
    { action: 'set-snapshot-ref', 'ref-name': name, type, 'snapshot-id': id },
  ]);
}

const distinctIds = async (table: TestTable, ref: string) =>
  new Set((await table.rows(['distinct_id'], ref)).map(([id]) => id));

for (const format_version of [2, 3])
  test(`a person leaves every ref, snapshot and manifest, version ${format_version}`, () =>
    eraseEverywhere(format_version));

async function eraseEverywhere(format_version: number): Promise<void> {
  const table = await newLakeTable(exporting, {
    hours: 4,
    events: 3,
    distinct_id: person,
    config: { format_version },
  });
  const traced = async () => {
    const { engine } = exporting.harness.deps;
    const deps = destinationDeps(engine, new AbortController().signal);
    const config = { storage: 'File', table: 'events' };
    const world = await openWorld(file_place, config, table.team_id, deps);
    return tracedRows(world, ['distinct_id', 'uuid']);
  };
  await pin(table, 'month', 'tag');
  await maintainTable(await table.open(), { is_daily: true, cleans: true });
  await pin(table, 'audit', 'branch');
  const ids = await traced();
  assert.ok(ids.every(({ id }) => (id === null) === (format_version === 2)));
  const before = await table.stored();
  const uuids = new Set(
    (await table.rows(['distinct_id', 'uuid']))
      .filter(([id]) => id === 'ada@example.com')
      .map(([, uuid]) => uuid!),
  );
  assert.equal(uuids.size, 4);
  const { home } = table;
  const { body } = await ask(home, 'POST', 'erasures/', { distinct_ids: ['ada@example.com'] });
  const done = await work(home, body.id);
  for (const ref of ['main', 'audit', 'month']) {
    assert.equal((await table.rows(['uuid'], ref)).length, 8, ref);
    assert.ok(!(await distinctIds(table, ref)).has('ada@example.com'), ref);
  }
  const { db, engine } = exporting.harness.deps;
  const snapshots = await db.row<{ count: number }>(
    sql`SELECT count(*) AS count FROM lake_snapshots WHERE table_id = ${table.id}::uuid`,
  );
  assert.equal(snapshots!.count, 3);
  // Nothing is left of the files with them, nor of the manifests that named those.
  const after = await table.stored();
  const data = (names: string[]) => names.filter((name) => name.endsWith('.parquet'));
  assert.deepEqual(
    data(before).filter((name) => after.includes(name)),
    [],
  );
  const manifests = after.filter((name) => /-(?:m\d+|r)\.avro$/.test(name));
  for (const name of manifests) {
    const { records } = readAvro(await readFile(join(table.folder, name)));
    for (const { status } of records as { status: number }[]) assert.notEqual(status, 2, name);
  }
  await table.checkWhole();
  // Everybody else's rows keep their ids, and the numbers of the commits that brought them.
  const others = ids.filter(({ key }) => key !== 'ada@example.com');
  assert.equal(others.length, 8);
  if (format_version === 3) assert.deepEqual(await traced(), others);
  // The certificate counts it, and the receipts are still compared.
  const { counts, copies_rewritten, copies_for_you } = JSON.parse(done.certificate as string);
  assert.equal(counts.lake_files, 5);
  assert.ok(counts.lake_snapshots > 0 && counts.lake_files_removed >= 5);
  assert.deepEqual(
    copies_rewritten.map((one: { destination: string; deliveries: number }) => [
      one.destination,
      one.deliveries,
    ]),
    [['Iceberg', 4]],
  );
  assert.deepEqual(copies_for_you, []);
  const [verified] = await verifyExports(engine, table.export_id);
  assert.deepEqual(verified!.differences, []);
}

test('where it cannot reach a ref it stops, changes nothing and names it', async () => {
  const table = await newLakeTable(exporting, { hours: 2, events: 3, distinct_id: person });
  await table.setProperties({ 'gc.enabled': 'false' });
  const before = await table.stored();
  const { home } = table;
  const { body } = await ask(home, 'POST', 'erasures/', { distinct_ids: ['ada@example.com'] });
  const done = await work(home, body.id);
  assert.deepEqual(await table.stored(), before);
  const { copies_for_you } = JSON.parse(done.certificate as string);
  assert.match(copies_for_you[0].reason, /gc\.enabled/);
});
