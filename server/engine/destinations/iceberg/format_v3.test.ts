// Length: each rule of version 3 is shown on a table of its own.
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../test/around_tests.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import type { TestEvent } from '../../../../test/factories/batch_exports/query_exports.ts';
import { tracedRows } from '../../../../test/factories/lineage.ts';
import { destinationDeps } from '../../exports/engine.ts';
import { maintainTable } from '../../exports/lake_maintenance/maintain.ts';
import {
  commitHeld,
  openMaintainedTable,
} from '../../exports/lake_maintenance/maintained_table.ts';
import { verifyExports } from '../../exports/verification/verify_exports.ts';
import { file_place } from '../file/file.ts';
import { readAvro, writeAvro } from '../lake/avro_file.ts';
import { openManifest } from '../lake/entries.ts';
import { readManifestList, writeManifestList } from '../lake/manifest_list.ts';
import { newSnapshotId } from '../lake/snapshot_change.ts';
import { liveFiles } from './live_files.ts';
import { openWorld } from './open_world.ts';

const exporting = aroundTests(openQueryHarness);

const merged = {
  custom_query: 'SELECT distinct_id AS id, event, timestamp FROM events',
  mode: 'merge',
  primary_key: ['id'],
  version_key: ['timestamp'],
};
const appended = { custom_query: 'SELECT distinct_id AS id, event, timestamp FROM events' };

const sent = (distinct_id: string, event: string, hour: number, minute = 10): TestEvent => ({
  distinct_id,
  event,
  at: `2026-01-01T0${hour}:${minute}:00Z`,
});

/** A project with an export to a table, and ways to look at it. */
async function newTable(
  body: Record<string, unknown>,
  config: Record<string, unknown>,
  hours = 1,
  ...events: TestEvent[]
) {
  const { engine, db } = exporting.harness.deps;
  const home = await exporting.harness.newOrganization();
  const team_id = home.project.id;
  const whole = { storage: 'File', table: 'orders', partition_by: [], ...config };
  await exporting.insert(home, events);
  const destination = { type: 'Iceberg', config: whole };
  const { id, send } = await exporting.scheduled(home, { destination, ...body }, hours);
  const signal = new AbortController().signal;
  const world = () => openWorld(file_place, whole, team_id, destinationDeps(engine, signal));
  const run = async (upTo: number) => {
    await exporting.extend(id, upTo);
    return (await exporting.runAll(id)).at(-1)!;
  };
  return {
    id,
    run,
    world,
    upgrade: () =>
      send('PATCH', '', {
        destination: { type: 'Iceberg', config: { ...whole, format_version: 3 } },
      }),
    insert: (...more: TestEvent[]) => exporting.insert(home, more),
    rows: async () =>
      (await tracedRows(await world(), ['id', 'event'])).map(
        (row) => `${row.key} ${row.value} #${row.id} @${row.sequence}`,
      ),
    state: async () => (await (await world()).catalog.load())!,
    differences: async () => (await verifyExports(engine, id)).flatMap((one) => one.differences),
    open: async () => {
      const row = await db.row<{ id: string }>(
        sql`SELECT id FROM lake_tables WHERE team_id = ${team_id}`,
      );
      return (await openMaintainedTable(engine, { id: row!.id, team_id }, signal))!;
    },
  };
}

test('an append of version 3 counts ids on, in snapshots, lists and manifests', async () => {
  const one = await newTable(
    appended,
    { format_version: 3 },
    1,
    sent('a', 'a1', 0),
    sent('b', 'b1', 0),
  );
  assert.equal((await one.run(1)).status, 'Completed');
  const first = await one.state();
  assert.deepEqual([first.metadata['format-version'], first.metadata['next-row-id']], [3, 2]);
  assert.deepEqual([first.parent!['first-row-id'], first.parent!['added-rows']], [0, 2]);
  await one.insert(sent('c', 'c1', 1));
  assert.equal((await one.run(2)).status, 'Completed');
  const second = await one.state();
  assert.deepEqual([second.parent!['first-row-id'], second.parent!['added-rows']], [2, 1]);
  assert.equal(second.metadata['next-row-id'], 3);
  const list = await readFile(fileURLToPath(second.parent!['manifest-list']));
  assert.deepEqual(
    [readAvro(list).meta['format-version'], readAvro(list).meta['first-row-id']],
    ['3', '2'],
  );
  const listed = readManifestList(list);
  assert.deepEqual(listed.map(({ first_row_id }) => first_row_id).toSorted(), [0n, 2n]);
  for (const manifest of listed) {
    const file = await readFile(fileURLToPath(manifest.manifest_path));
    assert.equal(readAvro(file).meta['format-version'], '3');
    const [entry] = openManifest(file, manifest).entries;
    // Null in the file, so that a retry need not write it again.
    assert.equal((entry!.record['data_file'] as Record<string, unknown>)['first_row_id'], null);
    assert.equal(entry!.first_row_id, manifest.first_row_id);
  }
  assert.deepEqual(
    (await one.rows()).map((row) => row.slice(0, 2) + row.slice(row.indexOf('@'))),
    ['a @1', 'b @1', 'c @2'],
  );
  assert.deepEqual(await one.differences(), []);
});

test('a merge keeps the id of each key, and the number of rows that stay', async () => {
  const one = await newTable(
    merged,
    { format_version: 3 },
    1,
    sent('a', 'a1', 0),
    sent('b', 'b1', 0),
  );
  assert.equal((await one.run(1)).status, 'Completed');
  const before = await one.rows();
  await one.insert(sent('b', 'b2', 1), sent('c', 'c1', 1));
  assert.equal((await one.run(2)).status, 'Completed');
  const [a, b, c] = await one.rows();
  assert.equal(a, before[0], 'an unchanged row');
  assert.equal(b, before[1]!.replace('b1', 'b2').replace('@1', '@2'), 'a changed row');
  assert.match(c!, /^c c1 #\d+ @2$/);
  assert.ok(Number(/#(\d+)/.exec(c!)![1]) >= 2, 'a new row has a new id');
  await one.insert(sent('d', 'd1', 2));
  await one.run(3);
  assert.deepEqual((await one.rows()).slice(0, 3), [a, b, c], 'ids of copied columns are copied');
  assert.deepEqual(await one.differences(), []);
});

for (const [kind, body] of Object.entries({ appended, merged }))
  test(`an upgraded table gives ids to its rows with the next commit, ${kind}`, async () => {
    const one = await newTable(body, {}, 1, sent('a', 'a1', 0), sent('b', 'b1', 0));
    await one.run(1);
    assert.equal((await one.state()).metadata['format-version'], 2);
    assert.deepEqual(await one.rows(), ['a a1 #null @1', 'b b1 #null @1']);
    const changed = await one.upgrade();
    assert.equal(changed.status, 200, changed.text);
    await one.insert(sent('b', 'b2', 1));
    assert.equal((await one.run(2)).status, 'Completed');
    const { metadata, parent } = await one.state();
    const rows = await one.rows();
    assert.deepEqual([metadata['format-version'], parent!['first-row-id']], [3, 0]);
    const ids = rows.map((row) => Number(/#(\d+)/.exec(row)![1]));
    assert.equal(new Set(ids).size, rows.length);
    assert.ok(Math.max(...ids) < Number(metadata['next-row-id']));
    assert.deepEqual(
      rows.map((row) => row.replace(/ #\d+/, '')),
      kind === 'merged' ? ['a a1 @1', 'b b2 @2'] : ['a a1 @1', 'b b1 @1', 'b b2 @2'],
    );
    assert.deepEqual(await one.differences(), []);
  });

test('a compaction keeps the id and the number of every row', async () => {
  const events = [0, 1, 2].flatMap((hour) => [
    sent(`a${hour}`, 'x', hour),
    sent(`b${hour}`, 'y', hour),
  ]);
  const one = await newTable(appended, { format_version: 3 }, 3, ...events);
  await one.run(3);
  const before = await one.rows();
  assert.equal(new Set(before).size, 6);
  const { result, detail } = await maintainTable(await one.open(), {
    is_daily: true,
    cleans: true,
  });
  assert.deepEqual([result.files_compacted, result.files_written, detail], [3, 1, null]);
  assert.deepEqual(await one.rows(), before);
  // The ids that the new file inherits are taken, and nobody has them.
  assert.equal((await one.state()).metadata['next-row-id'], 12);
  assert.deepEqual(await one.differences(), []);
});

test('a compaction of an upgraded table numbers its rows first', async () => {
  const one = await newTable(appended, {}, 2, sent('a', 'a1', 0), sent('b', 'b1', 1));
  await one.run(2);
  await commitHeld(await one.open(), async () => [
    { action: 'upgrade-format-version', 'format-version': 3 },
  ]);
  const { result } = await maintainTable(await one.open(), { is_daily: true, cleans: true });
  assert.equal(result.files_compacted, 2);
  const rows = await one.rows();
  assert.deepEqual(
    rows.map((row) => row.replace(/#\d+/, '#')),
    ['a a1 # @1', 'b b1 # @2'],
  );
  const ids = rows.map((row) => /#(\d+)/.exec(row)![1]);
  assert.deepEqual(ids.toSorted(), ['0', '1'], 'they are those of before the compaction');
});

/** Adds a deletion vector for a data file, as a foreign writer does. */
async function addDeletes(one: Awaited<ReturnType<typeof newTable>>): Promise<void> {
  const table = await one.open();
  const { metadata, parent } = await one.state();
  const [[uri]] = [...(await liveFiles(await one.world()))] as [[string, unknown]];
  const listed = readManifestList(await readFile(fileURLToPath(parent!['manifest-list'])));
  const data = listed[0]!;
  const manifest = readAvro(await readFile(fileURLToPath(data.manifest_path)));
  const { schema, records } = manifest;
  const { 'avro.schema': _, 'avro.codec': __, ...meta } = manifest.meta;
  const [file] = records as Record<string, Record<string, unknown>>[];
  const text = JSON.stringify(schema).replace(
    '{"name":"first_row_id"',
    '{"name":"referenced_data_file","type":["null","string"],"default":null,"field-id":143},' +
      '{"name":"first_row_id"',
  );
  const id = newSnapshotId();
  const bytes = writeAvro(
    JSON.parse(text) as Record<string, unknown>,
    [
      {
        ...file!,
        data_file: {
          ...file!['data_file'],
          content: 1,
          file_format: 'PUFFIN',
          file_path: `${metadata.location}/data/dv.puffin`,
          record_count: 1n,
          referenced_data_file: uri,
        },
      },
    ],
    { ...meta, content: 'deletes' },
  );
  const path = `${metadata.location}/metadata/dv.avro`;
  await writeFile(fileURLToPath(path), bytes);
  const sequence = BigInt(metadata['last-sequence-number']) + 1n;
  const list = writeManifestList(
    { id, parent_id: BigInt(parent!['snapshot-id']), sequence_number: sequence, first_row_id: 2n },
    [
      ...listed,
      {
        ...data,
        content: 1,
        manifest_path: path,
        manifest_length: BigInt(bytes.length),
        sequence_number: sequence,
        first_row_id: null,
      },
    ],
  );
  const list_uri = `${metadata.location}/metadata/snap-dv.avro`;
  await writeFile(fileURLToPath(list_uri), list);
  const snapshot = {
    ...parent!,
    'snapshot-id': id,
    'parent-snapshot-id': parent!['snapshot-id'],
    'sequence-number': Number(sequence),
    'manifest-list': list_uri,
    summary: { operation: 'delete' },
    'first-row-id': metadata['next-row-id'],
    'added-rows': 0,
  };
  await commitHeld(table, async () => [
    { action: 'add-snapshot', snapshot },
    { action: 'set-snapshot-ref', 'ref-name': 'main', type: 'branch', 'snapshot-id': id },
  ]);
}

test('a deletion vector of another writer is told, and stops a compaction', async () => {
  const one = await newTable(
    appended,
    { format_version: 3 },
    2,
    sent('a', 'a1', 0),
    sent('b', 'b1', 1),
  );
  await one.run(2);
  await addDeletes(one);
  const differences = await one.differences();
  assert.equal(differences.length, 1);
  assert.equal(differences[0]!.kind, 'changed');
  assert.match(differences[0]!.detail, /with 1 delete file such as .*dv\.puffin/);
  const { result, detail } = await maintainTable(await one.open(), {
    is_daily: true,
    cleans: true,
  });
  assert.deepEqual([result.files_compacted, detail], [0, 'Another writer has added delete files.']);
});

test('a merge refuses a table with a deletion vector, and verification tells it', async () => {
  const one = await newTable(
    merged,
    { format_version: 3 },
    1,
    sent('a', 'a1', 0),
    sent('b', 'b1', 0),
  );
  await one.run(1);
  await addDeletes(one);
  assert.match((await one.differences())[0]!.detail, /so readers see fewer rows/);
  await one.insert(sent('b', 'b2', 1));
  const run = await one.run(2);
  assert.deepEqual([run.status, run.error_code], ['Failed', 'table_unsuitable']);
});

test('version 3 refuses columns of its own names, and columns with defaults', async () => {
  const custom_query = 'SELECT distinct_id AS id, event AS _row_id, timestamp FROM events';
  const taken = await newTable({ custom_query }, { format_version: 3 }, 1, sent('a', 'a1', 0));
  assert.match((await taken.run(1)).latest_error!, /keeps the column name "_row_id" for itself/);
  const one = await newTable(appended, { format_version: 3 }, 1, sent('a', 'a1', 0));
  await one.run(1);
  const { metadata } = await one.state();
  const fields = [
    ...metadata.schemas[0]!.fields,
    { id: 9, name: 'plan', required: false, type: 'string', 'initial-default': 'free' },
  ];
  await commitHeld(await one.open(), async () => [
    { action: 'add-schema', schema: { type: 'struct', 'schema-id': 1, fields } },
    { action: 'set-current-schema', 'schema-id': -1 },
  ]);
  await one.insert(sent('b', 'b1', 1));
  assert.match((await one.run(2)).latest_error!, /lacks its column "plan", which has a default/);
  const { detail } = await maintainTable(await one.open(), { is_daily: true, cleans: false });
  assert.equal(detail, 'The column "plan" has a default value.');
});
