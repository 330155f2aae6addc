import assert from 'node:assert/strict';
import { createReadStream } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { loadTable } from '../../server/engine/destinations/lake/delta_log/log.ts';
import { rowsOf } from '../../server/engine/destinations/lake/delta_log/live_files.ts';
import { openWorld as openDelta } from '../../server/engine/destinations/lake/delta_log/world.ts';
import { file_place } from '../../server/engine/destinations/file/file.ts';
import { readParquet } from '../../server/engine/destinations/formats/parquet/read_parquet.ts';
import { liveFiles } from '../../server/engine/destinations/iceberg/live_files.ts';
import { openWorld as openIceberg } from '../../server/engine/destinations/iceberg/open_world.ts';
import { destinationDeps } from '../../server/engine/exports/engine.ts';
import { aroundTests } from '../around_tests.ts';
import { openQueryHarness } from '../factories/batch_exports/query_exports.ts';
import type { TestEvent } from '../factories/batch_exports/query_exports.ts';

const exporting = aroundTests(openQueryHarness);

const columns = [
  { name: 'id', type: 'text' },
  { name: 'event', type: 'text' },
  { name: 'is_deleted', type: 'boolean' },
] as const;
const types = ['Delta', 'Iceberg'] as const;
type Type = (typeof types)[number];

/** A row that comes in an hour, whatever its version. */
const sent = (distinct_id: string, event: string, hour: number, version: number): TestEvent => ({
  distinct_id,
  event,
  at: `2026-01-01T0${hour - 1}:30:00Z`,
  properties: { version },
});

const destinationOf = (type: Type, config: Record<string, unknown> = {}) => ({
  type,
  config: { storage: 'File', table: 'orders', ...config },
});

/** The rows that readers of the table see. */
async function rowsIn(type: Type, team_id: number): Promise<string[]> {
  const deps = destinationDeps(exporting.harness.deps.engine, new AbortController().signal);
  const { config } = destinationOf(type);
  const rows: string[] = [];
  if (type === 'Delta') {
    const world = await openDelta(file_place, config, team_id, deps);
    for await (const row of rowsOf(world, await loadTable(world.log), columns))
      rows.push(row.join(' '));
  } else
    for (const uri of (
      await liveFiles(await openIceberg(file_place, config, team_id, deps))
    ).keys())
      for await (const row of readParquet(createReadStream(fileURLToPath(uri)), [...columns]))
        rows.push(row.join(' '));
  return rows.toSorted();
}

for (const type of types) {
  test(`${type}: a deletion is a row that stays, and no older row comes back`, async () => {
    const home = await exporting.harness.newOrganization();
    const { id } = await exporting.scheduled(
      home,
      {
        name: 'orders',
        destination: destinationOf(type),
        custom_query: `SELECT distinct_id AS id, event, event = 'deleted' AS is_deleted,
          toInt(properties.version) AS version FROM events`,
        mode: 'merge',
        primary_key: ['id'],
        version_key: ['version'],
      },
      1,
    );
    await exporting.insert(home, [
      sent('a', 'paid', 1, 1),
      sent('b', 'paid', 1, 1),
      sent('b', 'deleted', 2, 3),
      sent('b', 'late', 3, 2),
      sent('b', 'returned', 4, 4),
    ]);
    for (const [index, row] of ['b paid', 'b deleted', 'b deleted', 'b returned'].entries()) {
      await exporting.extend(id, index + 1);
      const runs = await exporting.runAll(id);
      assert.equal(runs.at(-1)!.status, 'Completed', runs.at(-1)!.latest_error ?? '');
      const last = `${row} ${row === 'b deleted'}`;
      assert.deepEqual(await rowsIn(type, home.project.id), ['a paid false', last]);
    }
  });

  test(`${type}: a column whose type another query changed is refused by name`, async () => {
    const home = await exporting.harness.newOrganization();
    const [one, other] = await Promise.all(
      ['toInt(properties.version)', 'toFloat(properties.version)'].map((version, index) =>
        exporting.scheduled(
          home,
          {
            name: `export ${index}`,
            destination: destinationOf(type),
            custom_query: `SELECT distinct_id AS id, event, false AS is_deleted,
              ${version} AS version FROM events`,
          },
          1,
        ),
      ),
    );
    await exporting.insert(home, [sent('a', 'paid', 1, 1)]);
    assert.equal((await exporting.runAll(one!.id)).at(-1)!.status, 'Completed');
    const refused = (await exporting.runAll(other!.id)).at(-1)!;
    assert.deepEqual([refused.status, refused.error_code], ['Failed', 'table_unsuitable']);
    assert.match(refused.latest_error!, /"version".*has the type long.*delivers double/);
    assert.deepEqual(await rowsIn(type, home.project.id), ['a paid false']);
  });

  test(`${type}: partitions that rows cannot have are refused with the field`, async () => {
    const home = await exporting.harness.newOrganization();
    const create = (partition_by: string[], more: object = {}) =>
      home.ask('POST', `/api/projects/${home.project.id}/batch_exports/`, {
        name: 'parted',
        interval: 'hour',
        destination: destinationOf(type, { partition_by }),
        custom_query: `SELECT distinct_id AS id, event, timestamp,
          toFloat(properties.total) AS total
          FROM events`,
        ...more,
      });
    const merge = { mode: 'merge', primary_key: ['id'], version_key: ['timestamp'] };
    for (const [partition_by, told, more] of [
      [['plan'], /has no column `plan`/],
      [['total'], /has the type float/],
      [['timestamp'], /has the type timestamp/],
      [['day(event)'], /has the type text/],
      [['week(timestamp)'], /is no partition/],
      [['bucket(0, id)'], /1 to \d+ buckets/],
      [['bucket(8, total)'], /has the type float/],
      [['event', 'event'], /./],
      [['event'], /not in `primary_key`/, merge],
    ] as [string[], RegExp, object?][]) {
      const { status, body, text } = await create(partition_by, more);
      assert.equal(status, 400, `${partition_by.join()}: ${text}`);
      assert.match(body.attr, /^destination__config__partition_by/);
      assert.match(body.detail, told);
    }
    assert.equal((await create(['day(timestamp)', 'event'])).status, 201);
  });
}
