import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../test/around_tests.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import type { TestEvent } from '../../../../test/factories/batch_exports/query_exports.ts';
import { destinationDeps } from '../../exports/engine.ts';
import { verifyExports } from '../../exports/verification/verify_exports.ts';
import { file_place } from '../file/file.ts';
import { folderPart } from '../formats/naming.ts';
import { transformed } from '../../../../test/factories/partition_transforms.ts';
import { decodedPath } from '../lake/delta_log/actions.ts';
import { foldersOf } from '../lake/delta_log/folders.ts';
import { addEntry, loadTable, readEntry } from '../lake/delta_log/log.ts';
import { rowsOf } from '../lake/delta_log/live_files.ts';
import { openWorld } from '../lake/delta_log/world.ts';

const exporting = aroundTests(openQueryHarness);

const columns = [{ name: 'id' }, { name: 'event' }];
const orders = {
  custom_query: 'SELECT distinct_id AS id, event, timestamp, inserted_at FROM events',
  mode: 'merge',
  primary_key: ['id'],
  version_key: ['timestamp'],
};

/** A project with exports to Delta tables of one name, and a way to look at the table. */
async function newHome(config: Record<string, unknown> = {}) {
  const { harness } = exporting;
  const home = await harness.newOrganization();
  const team_id = home.project.id;
  const destination = { type: 'Delta', config: { storage: 'File', table: 'orders', ...config } };
  const { engine, db } = harness.deps;
  const world = () =>
    openWorld(
      file_place,
      destination.config,
      team_id,
      destinationDeps(engine, new AbortController().signal),
    );
  return {
    home,
    body: { destination },
    world,
    insert: (...events: TestEvent[]) => exporting.insert(home, events),
    deliver: async (id: string, hours: number) => {
      await exporting.extend(id, hours);
      let runs = await exporting.runAll(id);
      for (
        let tries = 0;
        tries < 5 && runs.some(({ status }) => status === 'Running');
        tries += 1
      ) {
        await db.run(sql`UPDATE batch_export_runs SET due_at = now()
          WHERE batch_export_id = ${id} AND status = 'Running'`);
        runs = await exporting.runAll(id);
      }
      return runs;
    },
    state: async () => loadTable((await world()).log),
    entry: async (version: number) => (await readEntry((await world()).log, version))!,
    rows: async () => {
      const opened = await world();
      const rows: string[] = [];
      for await (const row of rowsOf(opened, await loadTable(opened.log), columns))
        rows.push(row.join(' '));
      return rows.toSorted();
    },
    differences: async (id: string) =>
      (await verifyExports(engine, id)).flatMap((one) => one.differences),
  };
}

const at = (hour: number, minute: number) =>
  `2026-01-01T0${hour}:${String(minute).padStart(2, '0')}:00Z`;
const sent = (distinct_id: string, event: string, hour: number, minute: number): TestEvent => ({
  distinct_id,
  event,
  at: at(hour, minute),
});

test('a merge keeps the greatest version of each key, and touches only its buckets', async () => {
  const one = await newHome();
  await one.insert(sent('a', 'a1', 0, 10), sent('b', 'b1', 0, 20), sent('b', 'b2', 0, 30));
  await one.insert(sent('c', 'c1', 0, 5), sent('a', 'a2', 1, 10), sent('d', 'd1', 1, 11));
  const { id } = await exporting.scheduled(one.home, { ...one.body, ...orders }, 1);
  assert.deepEqual(
    (await one.deliver(id, 1)).map(({ status, latest_error }) => [status, latest_error]),
    [['Completed', null]],
  );
  assert.deepEqual(await one.rows(), ['a a1', 'b b2', 'c c1']);
  const first = await one.state();
  assert.deepEqual(first.metaData!.partitionColumns, ['id_bucket']);
  assert.deepEqual(await one.differences(id), []);

  assert.equal((await one.deliver(id, 2)).at(-1)!.status, 'Completed');
  assert.deepEqual(await one.rows(), ['a a2', 'b b2', 'c c1', 'd d1']);
  const bucket = (key: string) => transformed('bucket[16]', key);
  const there = new Set(['a', 'b', 'c'].map(bucket));
  const replaced = new Set(['a', 'd'].map(bucket).filter((touched) => there.has(touched)));
  const state = await one.state();
  assert.equal(state.version, 1);
  assert.equal(state.removes.size, replaced.size);
  for (const { partitionValues, stats } of state.adds.values()) {
    assert.match(partitionValues['id_bucket']!, /^\d+$/);
    assert.equal(typeof JSON.parse(stats!).minValues.timestamp, 'string');
  }
  const entry = await one.entry(1);
  const info = entry.find(({ commitInfo }) => commitInfo !== undefined)!.commitInfo!;
  assert.deepEqual([info.operation, info['isBlindAppend']], ['MERGE', false]);
  assert.deepEqual(await one.differences(id), []);

  // The same rows again, and older ones, change nothing.
  await one.insert(sent('a', 'a0', 2, 0), sent('a', 'older', 0, 1));
  const older = { ...sent('e', 'x', 2, 0) };
  await one.insert(older);
  assert.equal((await one.deliver(id, 3)).at(-1)!.status, 'Completed');
  assert.deepEqual(await one.rows(), ['a a0', 'b b2', 'c c1', 'd d1', 'e x']);
  assert.deepEqual(await one.differences(id), []);
});

test('two exports into one table merge what the other has left', async () => {
  const one = await newHome({ partition_by: [] });
  await one.insert(sent('a', 'a1', 0, 10), sent('b', 'b1', 0, 20), sent('a', 'a2', 1, 10));
  const body = { ...one.body, ...orders };
  const { id } = await exporting.scheduled(one.home, body, 1);
  const other = await exporting.scheduled(one.home, { ...body, name: 'other' }, 1);
  await one.deliver(id, 1);
  await one.deliver(other.id, 1);
  assert.equal((await one.state()).version, 0, 'nothing newer, nothing written');
  await one.deliver(other.id, 2);
  await one.deliver(id, 2);
  assert.deepEqual(await one.rows(), ['a a2', 'b b1']);
  assert.equal((await one.state()).adds.size, 1);
  assert.deepEqual(await one.differences(id), []);
});

test('a merge takes a column of the table along that the export lacks', async () => {
  const one = await newHome();
  await one.insert(sent('a', 'a1', 0, 10), sent('b', 'b1', 0, 20), sent('a', 'a2', 1, 10));
  const wide = `SELECT distinct_id AS id, event, timestamp, inserted_at, 7 AS more FROM events`;
  const first = await exporting.scheduled(
    one.home,
    { ...one.body, ...orders, custom_query: wide },
    1,
  );
  await one.deliver(first.id, 1);
  const { id } = await exporting.scheduled(one.home, { ...one.body, ...orders, name: 'less' }, 1);
  await one.deliver(id, 2);
  const opened = await one.world();
  const rows: (string | null)[][] = [];
  const wanted = [...columns, { name: 'more' }];
  for await (const row of rowsOf(opened, await one.state(), wanted)) rows.push(row);
  assert.deepEqual(rows.map((row) => row.join(' ')).toSorted(), ['a a2 ', 'b b1 7']);
});

test('a merge refuses rows without a bucket, and parts that are not of its key', async () => {
  const one = await newHome();
  await one.insert(sent('a', 'a1', 0, 10), sent('a', 'a2', 1, 10));
  const { id } = await exporting.scheduled(one.home, { ...one.body, ...orders }, 1);
  await one.deliver(id, 1);
  const { log } = await one.world();
  const add = { path: 'x.parquet', partitionValues: { id_bucket: null }, size: 1 };
  await addEntry(log, await one.state(), [
    { add: { ...add, modificationTime: 1, dataChange: true } },
  ]);
  const run = (await one.deliver(id, 2)).at(-1)!;
  assert.equal(run.status, 'Failed');
  assert.match(run.latest_error!, /without a value in "id_bucket"/);
  const refused = await one.home.ask(
    'POST',
    `/api/projects/${one.home.project.id}/batch_exports/`,
    {
      name: 'by another column',
      interval: 'hour',
      ...orders,
      destination: {
        type: 'Delta',
        config: { storage: 'File', table: 'other', partition_by: ['event'] },
      },
    },
  );
  assert.equal(refused.status, 400, refused.text);
  assert.match(refused.text, /not in `primary_key`/);
});

test('a generation takes the place of all rows in one version', async () => {
  const one = await newHome({ partition_by: ['bucket(4, id)'] });
  await one.insert(sent('a', 'a1', 0, 10), sent('b', 'b1', 1, 20));
  const body = {
    ...one.body,
    custom_query: 'SELECT distinct_id AS id, max(event) AS event FROM events GROUP BY distinct_id',
    mode: 'replace',
  };
  const { id } = await exporting.scheduled(one.home, body, 1);
  await one.deliver(id, 1);
  const before = await one.state();
  await one.deliver(id, 2);
  const runs = await exporting.runAll(id);
  assert.ok(
    runs.some(({ status }) => status === 'Completed'),
    JSON.stringify(runs),
  );
  assert.deepEqual(await one.rows(), ['a a1', 'b b1']);
  const state = await one.state();
  assert.equal(state.version, before.version + 1);
  assert.equal(state.removes.size, before.adds.size);
  assert.deepEqual(await one.differences(id), []);
  // Another layout is no obstacle, since no file stays.
  const other = await exporting.scheduled(one.home, { ...body, name: 'shared' }, 3);
  const shared = (await one.deliver(other.id, 3)).at(-1)!;
  assert.equal(shared.status, 'Failed');
  assert.match(shared.latest_error!, /rows of another export/);
});

test('rows lie in days, in an order, in columns that only the log has', async () => {
  const one = await newHome({
    partition_by: ['day(timestamp)', 'hour(timestamp)', 'month(timestamp)', 'event'],
    sort_by: ['id desc'],
  });
  await one.insert(
    { distinct_id: 'a', event: 'ä b/%', at: at(0, 1) },
    { distinct_id: 'b', event: 'ä b/%', at: at(0, 2) },
    { distinct_id: 'c', event: 'y', at: at(0, 3) },
  );
  const { id } = await exporting.scheduled(
    one.home,
    { ...one.body, custom_query: orders.custom_query },
    1,
  );
  assert.deepEqual(
    (await one.deliver(id, 1)).map(({ latest_error }) => latest_error),
    [null],
  );
  const { adds, metaData } = await one.state();
  assert.deepEqual(metaData!.partitionColumns, [
    'timestamp_day',
    'timestamp_hour',
    'timestamp_month',
    'event',
  ]);
  const made = { timestamp_day: '2026-01-01', timestamp_hour: '2026-01-01-00' };
  assert.deepEqual(
    [...adds.values()].map(({ partitionValues }) => partitionValues),
    ['y', 'ä b/%'].map((event) => ({ ...made, timestamp_month: '2026-01', event })),
  );
  // As other writers lay them: some readers take the values of partitions from the folders.
  const above = 'timestamp_day=2026-01-01/timestamp_hour=2026-01-01-00/timestamp_month=2026-01';
  assert.deepEqual(
    [...adds.keys()].map((path) => folderPart(decodedPath(path))),
    [`${above}/event=y`, `${above}/event=ä%20b%2F%25`],
  );
  assert.deepEqual(await one.rows(), ['a ä b/%', 'b ä b/%', 'c y']);
  assert.deepEqual(await one.differences(id), []);
});

test('a partition with a name too long for a folder lies in the folder of the table', () => {
  const named = (event: string | null, folder = 'delta/1/events') =>
    foldersOf({ folder }, ['event'], { event });
  assert.deepEqual(named('a=b'), ['event=a%3Db']);
  assert.deepEqual(named(null), ['event=__HIVE_DEFAULT_PARTITION__']);
  assert.deepEqual(named('ä'.repeat(125)), []);
  assert.deepEqual(named('a'.repeat(200), 'b'.repeat(700)), []);
});
