import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../../test/around_tests.ts';
import { openQueryHarness } from '../../../../../test/factories/batch_exports/query_exports.ts';
import { isShown } from '../../../destinations/lake/delta_log/delivered.ts';
import { addEntry, loadTable, readEntry } from '../../../destinations/lake/delta_log/log.ts';
import { rowsOf } from '../../../destinations/lake/delta_log/live_files.ts';
import { recordsOf } from '../../../destinations/lake/delta_log/statistics.ts';
import { verifyExports } from '../../verification/verify_exports.ts';
import type { Engine } from '../../engine.ts';
import { openDeltaTable, replaceFiles } from './delta_table.ts';
import { maintainDeltaTable, maintainDeltaTables } from './delta_work.ts';

const exporting = aroundTests(openQueryHarness);
const everything = { is_daily: true, cleans: true };
const columns = ['uuid', 'event', 'timestamp', 'properties'].map((name) => ({ name }));

/** The engine, so many hours later. */
function later(hours: number): Engine {
  const { engine } = exporting.harness.deps;
  return { ...engine, clock: { ...engine.clock, now: () => Date.now() + hours * 3_600_000 } };
}

/** A table with a delivery for each hour. */
async function newTable(hours: number, config: Record<string, unknown> = {}) {
  const home = await exporting.harness.newOrganization();
  const add = (hour: number) =>
    exporting.insert(
      home,
      ['x', 'y', 'z'].map((event, index) => ({
        event,
        distinct_id: `${event}-${hour}`,
        at: `2026-01-01T0${hour}:0${index}:00Z`,
      })),
    );
  for (let hour = 0; hour < hours; hour += 1) await add(hour);
  const destination = { type: 'Delta', config: { storage: 'File', table: 'events', ...config } };
  const { id } = await exporting.scheduled(home, { destination }, hours);
  const runs = await exporting.runAll(id);
  assert.ok(
    runs.every(({ status }) => status === 'Completed'),
    JSON.stringify(runs),
  );
  const open = async (engine: Engine = exporting.harness.deps.engine) =>
    (await openDeltaTable(engine, id, randomUUID(), new AbortController().signal))!;
  return {
    id,
    home,
    runs,
    folder: join(exporting.folder, 'delta', String(home.project.id), 'events'),
    open,
    rows: async () => {
      const { world } = await open();
      const rows: unknown[] = [];
      for await (const row of rowsOf(world, await loadTable(world.log), columns)) rows.push(row);
      return rows;
    },
    stored: async function () {
      const names = await readdir(this.folder, { recursive: true });
      return names.filter((name) => name.endsWith('.parquet') && !name.startsWith('_'));
    },
    differences: async () =>
      (await verifyExports(exporting.harness.deps.engine, id)).flatMap((one) => one.differences),
    deliver: async (hour: number) => {
      await add(hour);
      await exporting.extend(id, hour + 1);
      return exporting.runAll(id);
    },
  };
}

test('small files become one with the same rows and order, and stay deliveries', async () => {
  const table = await newTable(5);
  const before = await table.rows();
  const { result, detail } = await maintainDeltaTable(await table.open(), everything);
  assert.deepEqual([result.files_compacted, result.files_written, detail], [5, 1, null]);
  assert.deepEqual(await table.rows(), before);
  const { world, state } = await table.open();
  const [add] = state.adds.values();
  assert.equal(recordsOf(add!.stats), before.length);
  const entry = (await readEntry(world.log, state.version))!;
  assert.ok(entry.every((one) => (one.add ?? one.remove)?.dataChange !== true));
  assert.deepEqual(await table.differences(), []);
  assert.equal((await table.stored()).length, 6);

  // A week later the old files go, and the log forgets them: the deliveries are still known.
  const after = await table.open(later(24 * 8));
  const second = await maintainDeltaTable(after, everything);
  assert.deepEqual([second.result.files_compacted, second.result.data_files_removed], [0, 5]);
  assert.equal((await table.stored()).length, 1);
  after.state.removes.clear();
  const last = `sluice/${table.id}`;
  after.state.txns.delete(last);
  for (const { id } of table.runs)
    assert.ok(isShown(after.state, deliveryOf(table.id, id)), 'a compacted delivery');
  assert.ok(!isShown(after.state, deliveryOf(table.id, randomUUID())));
  assert.deepEqual(await table.differences(), []);
  await table.deliver(5);
  const third = await maintainDeltaTable(await table.open(), everything);
  assert.deepEqual([third.result.files_compacted, third.result.files_written], [2, 1]);
  assert.deepEqual(await table.differences(), []);
  assert.equal((await table.rows()).length, 18);
});

const deliveryOf = (batch_export_id: string, delivery_id: string) => ({
  batch_export_id,
  delivery_id,
  model: 'events',
  data_interval_start: '2026-01-01T00:00:00Z',
  data_interval_end: '2026-01-01T01:00:00Z',
});

test('files of one partition become one, and a file that differs later is found', async () => {
  const table = await newTable(4, { partition_by: ['event'] });
  const before = await table.rows();
  const { result } = await maintainDeltaTable(await table.open(), everything);
  assert.deepEqual([result.files_compacted, result.files_written], [12, 3]);
  const texts = (rows: unknown[]) => rows.map((row) => JSON.stringify(row)).toSorted();
  assert.deepEqual(texts(await table.rows()), texts(before));
  assert.deepEqual(await table.differences(), []);
  const compacted = (await table.stored()).find((name) => name.includes('compacted-'))!;
  assert.match(compacted, /^event=[^/]+\/compacted-/);
  await writeFile(join(table.folder, compacted), 'other bytes');
  const kinds = new Set((await table.differences()).map(({ kind }) => kind));
  assert.deepEqual([...kinds], ['changed']);
});

test('a compaction gives way to others, and takes its own lost answer for done', async () => {
  const table = await newTable(3);
  const one = await table.open();
  const group = [...one.state.adds.values()];
  const other = await table.open();
  const remove = { path: group[0]!.path, deletionTimestamp: Date.now(), dataChange: true };
  await addEntry(other.world.log, other.state, [{ remove }]);
  const rows = {
    records: 9,
    sort_order_id: 0,
    file: { bytes: Buffer.from('x'), sha256: 'x', statistics: none },
  };
  assert.equal(await replaceFiles(one, group, rows, 'compaction'), false);
  assert.ok((await table.stored()).every((name) => !name.startsWith('compacted-')));

  // The entry is written, and the answer says that there was one already.
  const { files } = one.world.log;
  const putNew = files.putNew.bind(files);
  one.world.log.files = {
    ...files,
    putNew: async (name, content) => (await putNew(name, content)) && false,
  };
  assert.equal(await replaceFiles(one, group.slice(1), rows, 'compaction'), true);
  const { state } = await table.open();
  assert.equal(state.adds.size, 1);
  assert.equal((await table.stored()).filter((name) => name.startsWith('compacted-')).length, 1);
});

const none = { lower_bounds: [], upper_bounds: [], null_counts: [] } as never;

test('only orphans of ours go, and only old ones', async () => {
  const table = await newTable(1);
  const ours = `compacted-${randomUUID()}.parquet`;
  for (const name of [ours, 'theirs.parquet']) await writeFile(join(table.folder, name), 'x');
  const result = async () => (await maintainDeltaTable(await table.open(), everything)).result;
  assert.equal((await result()).orphans_removed, 0);
  const old = new Date(Date.now() - 4 * 24 * 3_600_000);
  for (const name of await table.stored()) await utimes(join(table.folder, name), old, old);
  assert.equal((await result()).orphans_removed, 1);
  const left = await table.stored();
  assert.equal(left.length, 2);
  assert.ok(left.includes('theirs.parquet'));
  const found = await table.differences();
  assert.deepEqual(
    found.map(({ kind, name }) => [kind, name.split('/').at(-1)]),
    [['added', 'theirs.parquet']],
  );
});

test('tables are maintained when they are due, and a property turns it off', async () => {
  const { engine } = exporting.harness.deps;
  const signal = new AbortController().signal;
  await maintainDeltaTables(engine, signal);
  const table = await newTable(3);
  assert.equal(await maintainDeltaTables(engine, signal), 1);
  const row = await engine.db.row<{ result: Record<string, number>; detail: string | null }>(sql`
    SELECT result, detail FROM delta_maintenance WHERE batch_export_id = ${table.id}`);
  assert.deepEqual([row!.result['files_compacted'], row!.detail], [3, null]);
  assert.equal(await maintainDeltaTables(engine, signal), 0);

  const other = await newTable(3);
  const { world, state } = await other.open();
  const metaData = { ...state.metaData!, configuration: { 'sluice.maintenance': 'false' } };
  await addEntry(world.log, state, [{ metaData }]);
  assert.equal(await maintainDeltaTables(engine, signal), 1);
  assert.equal((await other.open()).state.adds.size, 3);
  const off = await engine.db.row<{ detail: string }>(sql`
    SELECT detail FROM delta_maintenance WHERE batch_export_id = ${other.id}`);
  assert.match(off!.detail, /^Off: .*sluice\.maintenance/);
});
