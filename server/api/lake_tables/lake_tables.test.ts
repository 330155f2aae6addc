import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundTests } from '../../../test/around_tests.ts';
import { openQueryHarness } from '../../../test/factories/batch_exports/query_exports.ts';
import { maintainTable } from '../../engine/exports/lake_maintenance/maintain.ts';
import { openMaintainedTable } from '../../engine/exports/lake_maintenance/maintained_table.ts';
import { maintainTables } from '../../engine/exports/lake_maintenance/work.ts';
import { newLakeTable } from '../../../test/factories/lake_tables.ts';

const exporting = aroundTests(openQueryHarness);

test('a table shows its rows, its schema, and the run behind each snapshot', async () => {
  const { harness } = exporting;
  const home = await harness.newOrganization();
  const tables = `/api/projects/${home.project.id}/lake_tables/`;
  const get = async (path: string) => {
    const { status, body, text } = await home.ask('GET', `${tables}${path}`);
    assert.equal(status, 200, text);
    return body;
  };
  assert.equal((await get('')).count, 0);
  await exporting.insert(
    home,
    [0, 1].flatMap((hour) =>
      ['a', 'b'].map((event) => ({ event, at: `2026-01-01T0${hour}:30:00Z` })),
    ),
  );
  const destination = { type: 'Iceberg', config: { storage: 'File', table: 'events' } };
  const { id: batch_export } = await exporting.scheduled(
    home,
    { name: 'To the lake', destination },
    2,
  );
  const runs = await exporting.runAll(batch_export);
  const other = await newLakeTable(home, 'etl', 'mine');

  const { results } = await get('');
  assert.deepEqual(
    results.map(({ namespace, name, rows, data_files, snapshots, batch_export: by }: Shown) => [
      `${namespace}.${name}`,
      rows,
      data_files,
      snapshots,
      by,
    ]),
    [
      ['etl.mine', null, null, 0, null],
      ['sluice.events', 4, 2, 2, { id: batch_export, name: 'To the lake' }],
    ],
  );
  const [unwritten, written] = results as [Shown, Shown];
  assert.deepEqual((await get(`?batch_export=${batch_export}`)).results, [written]);

  const table = await get(`${written.id}/`);
  assert.equal(table.rows, 4);
  assert.deepEqual(
    table.columns
      .slice(0, 2)
      .map(({ id, name, type }: { id: number; name: string; type: string }) => [id, name, type]),
    [
      [1, 'uuid', 'string'],
      [2, 'timestamp', 'timestamptz'],
    ],
  );
  assert.equal(table.properties[`sluice.last-delivery.${batch_export}`], runs[1]!.id);
  assert.deepEqual([table.partitions, table.sort_order, table.takes_commits], [[], [], false]);
  assert.deepEqual(table.refs, [
    { name: 'main', type: 'branch', snapshot: table.current_snapshot },
  ]);

  const snapshots = (await get(`${written.id}/snapshots/`)).results;
  assert.equal(snapshots[0].id, table.current_snapshot);
  assert.equal(snapshots[0].parent, snapshots[1].id);
  assert.deepEqual(
    snapshots.map(({ operation, added_rows, total_rows, run }: Record<string, unknown>) => [
      operation,
      added_rows,
      total_rows,
      run,
    ]),
    [
      ['append', 2, 4, { id: runs[1]!.id, batch_export }],
      ['append', 2, 2, { id: runs[0]!.id, batch_export }],
    ],
  );
  const next = await get(`${written.id}/snapshots/?limit=1&offset=1`);
  assert.deepEqual([next.count, next.results], [2, [snapshots[1]]]);

  const files = await get(`${written.id}/files/`);
  assert.equal(files.snapshot, table.current_snapshot);
  assert.deepEqual([files.data_files, files.manifests, files.fault], [2, 2, null]);
  assert.equal(files.bytes, table.bytes);
  assert.equal(files.smallest_bytes + files.largest_bytes, table.bytes);

  const { engine } = harness.deps;
  const place = { id: written.id, team_id: home.project.id };
  const opened = await openMaintainedTable(engine, place, new AbortController().signal);
  await maintainTable(opened!, { is_daily: true, cleans: false });
  const [latest] = (await get(`${written.id}/snapshots/`)).results;
  assert.deepEqual(
    [latest.operation, latest.maintenance, latest.run],
    ['replace', 'compaction', null],
  );
  assert.equal(snapshots[0].maintenance, null);

  const asked = await home.ask('POST', `${tables}${written.id}/maintain/`);
  assert.equal(asked.status, 202, asked.text);
  assert.deepEqual(
    [asked.body.maintenance.is_on, asked.body.maintenance.finished_at],
    [true, null],
  );
  await maintainTables(engine, new AbortController().signal);
  const { maintenance } = await get(`${written.id}/`);
  assert.match(maintenance.finished_at, /^20/);
  assert.ok(maintenance.due_at > maintenance.finished_at);
  assert.equal(maintenance.detail, null);
  const none = await home.ask('POST', `${tables}${unwritten.id}/maintain/`);
  assert.deepEqual(
    [none.status, none.body.detail],
    [
      409,
      'No export writes this table. Set its property `sluice.maintenance` to `true` to let ' +
        'Sluice maintain it.',
    ],
  );

  const empty = await get(`${unwritten.id}/files/`);
  assert.deepEqual([empty.snapshot, empty.data_files, empty.smallest_bytes], [null, 0, null]);
  const shown = await get(`${unwritten.id}/`);
  assert.equal(shown.metadata_location, other['metadata-location']);
  assert.deepEqual(
    [shown.takes_commits, shown.current_snapshot, shown.maintenance],
    [true, null, null],
  );
});

type Shown = {
  id: string;
  namespace: string;
  name: string;
  rows: number | null;
  data_files: number | null;
  snapshots: number;
  batch_export: unknown;
};
