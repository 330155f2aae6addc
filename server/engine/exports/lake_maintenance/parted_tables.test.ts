import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundTests } from '../../../../test/around_tests.ts';
import { newLakeTable } from '../../../../test/factories/batch_exports/lake_tables.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import { verifyExports } from '../verification/verify_exports.ts';
import { maintainTable } from './maintain.ts';

const exporting = aroundTests(openQueryHarness);
const everything = { is_daily: true, cleans: true };
const columns = ['uuid', 'event', 'timestamp'];

const differences = async (id: string) =>
  (await verifyExports(exporting.harness.deps.engine, id)).flatMap((one) => one.differences);

test('the files of each partition become one, and stay in their partition', async () => {
  const table = await newLakeTable(exporting, {
    hours: 4,
    events: 6,
    partition_by: ['day(timestamp)', 'bucket(2, event)'],
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
