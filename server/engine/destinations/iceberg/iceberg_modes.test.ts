import assert from 'node:assert/strict';
import { createReadStream } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../test/around_tests.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import type { TestEvent } from '../../../../test/factories/batch_exports/query_exports.ts';
import { destinationDeps } from '../../exports/engine.ts';
import { verifyExports } from '../../exports/verification/verify_exports.ts';
import { file_place } from '../file/file.ts';
import { readParquet } from '../formats/parquet/read_parquet.ts';
import { transformed } from '../../../../test/factories/partition_transforms.ts';
import { liveFiles } from './live_files.ts';
import { openWorld } from './open_world.ts';

const exporting = aroundTests(openQueryHarness);

const key = { name: 'id', type: 'text' } as const;
const value = { name: 'event', type: 'text' } as const;
const orders = {
  custom_query: 'SELECT distinct_id AS id, event, timestamp, inserted_at FROM events',
  mode: 'merge',
  primary_key: ['id'],
  version_key: ['timestamp'],
};

/** A project with exports to tables of one name, and a way to look at the table. */
async function newHome(config: Record<string, unknown> = {}) {
  const { harness } = exporting;
  const home = await harness.newOrganization();
  const team_id = home.project.id;
  const destination = { type: 'Iceberg', config: { storage: 'File', table: 'orders', ...config } };
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
    insert: (...events: TestEvent[]) => exporting.insert(home, events),
    deliver: async (id: string, hours: number) => {
      await exporting.extend(id, hours);
      let runs = await exporting.runAll(id);
      // A run that met another writer is tried again, now.
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
    /** The files that readers see: partition, and rows in their order. */
    files: async (columns: { name: string; type: 'text' | 'timestamp' }[] = [key, value]) => {
      const found: { partition: unknown[]; rows: (string | null)[][] }[] = [];
      for (const [uri, entries] of await liveFiles(await world()))
        for (const { partition } of entries) {
          const rows: (string | null)[][] = [];
          for await (const row of readParquet(createReadStream(fileURLToPath(uri)), columns))
            rows.push(row);
          found.push({ partition, rows });
        }
      return found;
    },
    paths: async () => [...(await liveFiles(await world())).keys()],
    snapshot: async () => (await (await world()).catalog.load())!,
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
const rowsOf = (files: { rows: (string | null)[][] }[]) =>
  files.flatMap(({ rows }) => rows.map((row) => row.join(' '))).toSorted();

test('a merge keeps the greatest version of each key, and touches only its buckets', async () => {
  const one = await newHome();
  await one.insert(sent('a', 'a1', 0, 10), sent('b', 'b1', 0, 20), sent('b', 'b2', 0, 30));
  await one.insert(sent('c', 'c1', 0, 5), sent('a', 'a2', 1, 10), sent('d', 'd1', 1, 11));
  const { id } = await exporting.scheduled(one.home, { ...one.body, ...orders }, 1);
  assert.deepEqual(
    (await one.deliver(id, 1)).map(({ status, latest_error }) => [status, latest_error]),
    [['Completed', null]],
  );
  assert.deepEqual(rowsOf(await one.files()), ['a a1', 'b b2', 'c c1']);
  const first = await one.snapshot();
  assert.deepEqual(
    first.metadata['partition-specs']
      .at(-1)!
      .fields.map(({ name, transform }) => [name, transform]),
    [['id_bucket', 'bucket[16]']],
  );
  assert.equal(first.parent!.summary.operation, 'append');
  assert.deepEqual(await one.differences(id), []);

  assert.equal((await one.deliver(id, 2)).at(-1)!.status, 'Completed');
  assert.deepEqual(rowsOf(await one.files()), ['a a2', 'b b2', 'c c1', 'd d1']);
  const bucket = (id: string) => transformed('bucket[16]', id);
  const there = new Set(['a', 'b', 'c'].map(bucket));
  const replaced = new Set(['a', 'd'].map(bucket).filter((touched) => there.has(touched)));
  const { summary } = (await one.snapshot()).parent!;
  assert.deepEqual(
    [summary.operation, summary['total-records'], summary['deleted-data-files']],
    ['overwrite', '4', String(replaced.size)],
  );
  assert.deepEqual(await one.differences(id), []);

  // The same rows again, and older ones, change nothing.
  const before = (await one.snapshot()).parent!['snapshot-id'];
  const { harness } = exporting;
  await harness.deps.clickhouse.insert({
    table: 'events',
    format: 'JSONEachRow',
    values: [
      {
        team_id: one.home.project.id,
        uuid: crypto.randomUUID(),
        event: 'a0',
        distinct_id: 'a',
        person_id: crypto.randomUUID(),
        properties: '{}',
        person_properties: '{}',
        elements_chain: '',
        timestamp: '2026-01-01 00:01:00',
        created_at: '2026-01-01 02:01:00',
        inserted_at: '2026-01-01 02:01:00',
      },
    ],
  });
  assert.equal((await one.deliver(id, 3)).at(-1)!.status, 'Completed');
  assert.equal((await one.snapshot()).parent!['snapshot-id'], before);
  assert.deepEqual(await one.differences(id), []);
});

test('two exports into one merged table meet, and none loses a row', async () => {
  const one = await newHome({ partition_by: [] });
  await one.insert(...['a', 'b', 'c'].map((id, n) => sent(id, `${id}0`, 0, n)));
  await one.insert(...['a', 'b', 'c'].map((id, n) => sent(id, `${id}1`, 0, 30 + n)));
  const half = (event: string) => ({
    ...one.body,
    ...orders,
    custom_query: `${orders.custom_query} WHERE event LIKE '%${event}'`,
  });
  const exports = await Promise.all(
    ['0', '1'].map((end) => exporting.scheduled(one.home, half(end), 1)),
  );
  await Promise.all(exports.map(({ id }) => one.deliver(id, 1)));
  const ends = await Promise.all(exports.map(({ id }) => one.deliver(id, 1)));
  assert.deepEqual(
    ends.flat().map(({ status }) => status),
    ['Completed', 'Completed'],
  );
  assert.deepEqual(rowsOf(await one.files()), ['a a1', 'b b1', 'c c1']);
  assert.equal((await one.files()).length, 1);
});

test('a generation replaces the table in one snapshot, and never that of another', async () => {
  const one = await newHome();
  const body = {
    ...one.body,
    mode: 'replace',
    custom_query: 'SELECT distinct_id AS id, toString(count()) AS event FROM events GROUP BY id',
  };
  await one.insert(sent('a', 'x', 0, 1), sent('a', 'x', 0, 2), sent('a', 'x', 1, 3));
  const { id } = await exporting.scheduled(one.home, body, 1);
  assert.deepEqual(
    (await one.deliver(id, 1)).map(({ status, latest_error }) => [status, latest_error]),
    [['Completed', null]],
  );
  assert.deepEqual(rowsOf(await one.files()), ['a 2']);
  assert.equal((await one.deliver(id, 2)).at(-1)!.status, 'Completed');
  assert.deepEqual(rowsOf(await one.files()), ['a 3']);
  const { summary } = (await one.snapshot()).parent!;
  assert.deepEqual([summary.operation, summary['total-data-files']], ['overwrite', '1']);
  assert.deepEqual(await one.differences(id), []);

  const other = await exporting.scheduled(one.home, { ...body, name: 'other' }, 1);
  assert.equal((await one.deliver(other.id, 1)).at(-1)!.error_code, 'table_shared');
  assert.deepEqual(rowsOf(await one.files()), ['a 3']);
});

test('files have one partition each, and their rows the order of the table', async () => {
  const one = await newHome({
    partition_by: ['day(timestamp)', 'event'],
    sort_by: ['distinct_id desc', 'timestamp'],
  });
  const early = { ...sent('z', 'x', 0, 3), at: '1969-12-31T23:59:59Z' };
  await one.insert(sent('b', 'x', 0, 1), sent('c', 'x', 0, 2), sent('a', 'y', 0, 4));
  await exporting.harness.deps.clickhouse.insert({
    table: 'events',
    format: 'JSONEachRow',
    values: [
      {
        team_id: one.home.project.id,
        uuid: crypto.randomUUID(),
        event: early.event,
        distinct_id: 'z',
        person_id: crypto.randomUUID(),
        properties: '{}',
        person_properties: '{}',
        elements_chain: '',
        timestamp: '1969-12-31 23:59:59.5',
        created_at: '2026-01-01 00:03:00',
        inserted_at: '2026-01-01 00:03:00',
      },
    ],
  });
  const { id } = await exporting.scheduled(one.home, one.body, 1);
  assert.deepEqual(
    (await one.deliver(id, 1)).map(({ status, latest_error }) => [status, latest_error]),
    [['Completed', null]],
  );
  const files = await one.files([
    { name: 'distinct_id', type: 'text' },
    { name: 'event', type: 'text' },
  ]);
  const day = Date.parse('2026-01-01T00:00:00Z') / 86_400_000;
  assert.deepEqual(
    files.toSorted((a, b) => String(a.partition).localeCompare(String(b.partition))),
    [
      { partition: [-1, 'x'], rows: [['z', 'x']] },
      {
        partition: [day, 'x'],
        rows: [
          ['c', 'x'],
          ['b', 'x'],
        ],
      },
      { partition: [day, 'y'], rows: [['a', 'y']] },
    ],
  );
  const { metadata } = await one.snapshot();
  const order = metadata['sort-orders'].find(
    (found) => found['order-id'] === metadata['default-sort-order-id'],
  );
  assert.deepEqual(
    order!.fields.map(({ direction, 'null-order': nulls }) => [direction, nulls]),
    [
      ['desc', 'nulls-last'],
      ['asc', 'nulls-last'],
    ],
  );
  assert.deepEqual(await one.differences(id), []);
});

test('another prefix moves no table and delivers nothing again', async () => {
  const one = await newHome();
  await one.insert(sent('a', 'x', 0, 1), sent('b', 'y', 1, 1));
  const { id, send } = await exporting.scheduled(one.home, one.body, 1);
  await one.deliver(id, 1);
  const { location } = (await one.snapshot()).metadata;
  const change = { destination: { type: 'Iceberg', config: { prefix: 'elsewhere' } } };
  const { body: effect } = await send('POST', 'effect/', change);
  assert.equal(effect.starts_anew, false);
  assert.equal((await send('PATCH', '', change)).status, 200);
  await one.deliver(id, 2);
  assert.equal((await one.snapshot()).metadata.location, location);
  assert.deepEqual(rowsOf(await one.files([value])), ['x', 'y']);
  for (const path of await one.paths()) assert.ok(path.startsWith(`${location}/data/`), path);
  assert.deepEqual(await one.differences(id), []);
});
