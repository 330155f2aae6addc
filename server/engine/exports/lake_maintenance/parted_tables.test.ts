import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundTests } from '../../../../test/around_tests.ts';
import { newLakeTable } from '../../../../test/factories/batch_exports/lake_tables.ts';
import type { TestTable } from '../../../../test/factories/batch_exports/lake_tables.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import { verifyExports } from '../verification/verify_exports.ts';
import { maintainTable } from './maintain.ts';
import { commitHeld } from './maintained_table.ts';

const exporting = aroundTests(openQueryHarness);
const everything = { is_daily: true, cleans: true };
const columns = ['uuid', 'event', 'timestamp'];

const differences = async (id: string) =>
  (await verifyExports(exporting.harness.deps.engine, id)).flatMap((one) => one.differences);

test('the files of each partition become one, and stay in their partition', async () => {
  const table = await newLakeTable(exporting, {
    hours: 4,
    events: 6,
    config: { partition_by: ['day(timestamp)', 'bucket(2, event)'] },
  });
  const before = (await table.rows(columns)).toSorted();
  const parted = new Set((await table.live()).map(({ partition }) => String(partition)));
  assert.equal(parted.size, 2);
  const { result, detail } = await maintainTable(await table.open(), everything);
  assert.deepEqual([result.files_written, detail], [2, null]);
  const live = await table.live();
  assert.deepEqual(new Set(live.map(({ partition }) => String(partition))), parted);
  assert.equal(live.length, 2);
  assert.deepEqual((await table.rows(columns)).toSorted(), before);
  await table.checkWhole();
  assert.deepEqual(await differences(table.export_id), []);
});

test('files that became one have the order of the table, and tell it', async () => {
  const table = await newLakeTable(exporting, {
    hours: 3,
    events: 4,
    config: { sort_by: ['event desc', 'timestamp'] },
  });
  const before = (await table.rows(columns)).toSorted();
  const { result, detail } = await maintainTable(await table.open(), everything);
  assert.deepEqual([result.files_written, detail], [1, null]);
  const rows = await table.rows(columns);
  assert.deepEqual(rows.toSorted(), before);
  const events = rows.map(([, event]) => event!);
  assert.equal(events.length, 12);
  assert.deepEqual(events, events.toSorted().toReversed());
  const [file] = await table.live();
  const { data_file } = file!.record as { data_file: { sort_order_id: number } };
  const { metadata } = (await table.open()).table;
  assert.ok(metadata['default-sort-order-id'] > 0);
  assert.equal(data_file.sort_order_id, metadata['default-sort-order-id']);
  assert.deepEqual(await differences(table.export_id), []);
});

test('an order that another engine has set is kept, and one by a transform is none', async () => {
  const table = await newLakeTable(exporting, { hours: 2, events: 11 });
  const { metadata } = (await table.open()).table;
  const id = metadata.schemas[0]!.fields.find(({ name }) => name === 'timestamp')!.id;
  const order = (transform: string) => ({
    'order-id': 1,
    fields: [{ 'source-id': id, transform, direction: 'desc', 'null-order': 'nulls-first' }],
  });
  const sortBy = async (one: TestTable, transform: string) =>
    commitHeld(await one.open(), async () => [
      { action: 'add-sort-order', 'sort-order': order(transform) },
      { action: 'set-default-sort-order', 'sort-order-id': -1 },
    ]);
  const before = await table.rows(columns);
  await sortBy(table, 'day');
  await maintainTable(await table.open(), everything);
  assert.deepEqual(await table.rows(columns), before);
  const other = await newLakeTable(exporting, { hours: 2, events: 11 });
  await sortBy(other, 'identity');
  await maintainTable(await other.open(), everything);
  const times = (await other.rows(columns)).map(([, , timestamp]) => timestamp!);
  assert.equal(times.length, 22);
  assert.deepEqual(times, times.toSorted().toReversed());
});
