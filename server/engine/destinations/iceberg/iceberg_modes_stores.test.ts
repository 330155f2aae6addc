import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { inTurn } from '../../../../test/depth.ts';
import { aroundTests } from '../../../../test/around_tests.ts';
import { newExport } from '../../../../test/factories/batch_exports/batch_exports.ts';
import { listenAsCatalog } from '../../../../test/factories/batch_exports/faulty_catalog.ts';
import { faultyEngine } from '../../../../test/factories/batch_exports/faulty_worker.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import {
  openTableStore,
  table_stores,
  withoutStore,
} from '../../../../test/factories/batch_exports/table_stores.ts';
import type { TestOrganization } from '../../../../test/harness.ts';
import {
  startSeaweedfs,
  tableBucketConfig,
  without_seaweedfs,
} from '../../../../test/servers/lake/seaweedfs.ts';
import { claimRun } from '../../exports/workers/claims.ts';
import { executeRun } from '../../exports/delivery/execute.ts';
import { destinationDeps } from '../../exports/engine.ts';
import { verifyExports } from '../../exports/verification/verify_exports.ts';
import { readParquet } from '../formats/parquet/read_parquet.ts';
import { table_places } from '../index.ts';
import { placeOf } from '../lake/table_places.ts';
import { liveFiles } from './live_files.ts';
import { openWorld } from './open_world.ts';
import { readData } from './world.ts';

let uri: string;
const exporting = aroundTests(openQueryHarness, async ({ harness }) => {
  uri = await listenAsCatalog(harness);
});

const hours = 4;
/** Keys that every hour changes, and one that only the first has. */
const ids = ['a', 'b', 'c'];
const columns = ['id', 'event'];

/** An hour of events: each key twice, the later one counts. */
const eventsOf = (hour: number) =>
  [...ids, ...(hour === 0 ? ['only'] : [])].flatMap((distinct_id) =>
    [10, 40].map((minute) => ({
      distinct_id,
      event: `${distinct_id} ${hour}:${minute}`,
      at: `2026-01-01T0${hour}:${minute}:00Z`,
    })),
  );

/** Carries a run out by workers of which the first dies at a part of its way. */
async function deliverKilled(run_id: string, part: number): Promise<void> {
  const { db, engine } = exporting.harness.deps;
  const attempt = async (kill_at: number | undefined) => {
    await db.run(sql`UPDATE batch_export_runs SET worker_id = NULL, due_at = now()
      WHERE id = ${run_id} AND status IN ('Starting', 'Running')`);
    const run = await claimRun(db, run_id, randomUUID());
    if (run === undefined) return;
    const worker = new AbortController();
    const faults = { kill_at, answers: [], before_commit: undefined, is_naive: false };
    const { engine: dying, struck } = faultyEngine(engine, faults, () => worker.abort('shutdown'));
    await executeRun(dying, run, worker.signal).catch((error: unknown) => {
      if (!struck.killed) throw error;
    });
    boundaries = Math.max(boundaries, struck.boundaries);
  };
  await attempt(part === 0 ? undefined : Math.max(1, Math.round(boundaries * part)));
  for (let tries = 0; tries < 3; tries += 1) await attempt(undefined);
}
let boundaries = 0;

/** Delivers each hour with a kill, and gives the rows that readers see after it. */
async function follow(home: TestOrganization, config: Record<string, unknown>, body: object) {
  const { db, engine } = exporting.harness.deps;
  const { id } = await exporting.scheduled(
    home,
    { destination: { type: 'Iceberg', config: { table: 'events', ...config } }, ...body },
    1,
  );
  const world = async () =>
    openWorld(
      placeOf(table_places, config),
      { table: 'events', ...config },
      home.project.id,
      destinationDeps(engine, new AbortController().signal),
    );
  const rows = async () => {
    const opened = await world();
    const found: string[] = [];
    for (const [file, entries] of await liveFiles(opened))
      for (const _ of entries)
        for await (const row of readParquet(
          await readData(opened, file),
          columns.map((name) => ({ name })),
        ))
          found.push(row.join(': '));
    return found.toSorted();
  };
  const seen: string[][] = [];
  boundaries = 0;
  for (let hour = 0; hour < hours; hour += 1) {
    await exporting.extend(id, hour + 1);
    const [run] = await exporting.plan(id);
    // The first run is whole: it says how long the way is.
    await deliverKilled(run!.id, [0, 0.35, 0.7, 0.95][hour]!);
    seen.push(await rows());
  }
  const ends = await db.rows<{ status: string; latest_error: string | null }>(sql`
    SELECT status, latest_error FROM batch_export_runs WHERE batch_export_id = ${id}`);
  for (const { status, latest_error } of ends)
    assert.equal(status, 'Completed', latest_error ?? '');
  const differences = (await verifyExports(engine, id)).flatMap((one) => one.differences);
  assert.deepEqual(
    differences.filter(({ kind }) => kind !== 'added'),
    [],
  );
  return seen;
}

async function newHome(): Promise<TestOrganization> {
  const home = await exporting.harness.newOrganization();
  for (let hour = 0; hour < hours; hour += 1) await exporting.insert(home, eventsOf(hour));
  return home;
}

const merged = {
  custom_query: 'SELECT distinct_id AS id, event, timestamp FROM events',
  mode: 'merge',
  primary_key: ['id'],
  version_key: ['timestamp'],
};
const replaced = {
  custom_query:
    'SELECT distinct_id AS id, toString(count()) AS event FROM events GROUP BY distinct_id',
  mode: 'replace',
};
/** The rows after each hour. */
const merges = Array.from({ length: hours }, (_, hour) => [
  ...ids.map((id) => `${id}: ${id} ${hour}:40`),
  'only: only 0:40',
]);
const replaces = Array.from({ length: hours }, (_, hour) => [
  ...ids.map((id) => `${id}: ${2 * (hour + 1)}`),
  'only: 2',
]);

for (const name of inTurn(table_stores, table_stores.length))
  test(
    `${name}: killed merges and replaces leave what a whole one does`,
    { skip: withoutStore(name) },
    async () => {
      const store = await openTableStore(name, exporting.harness);
      try {
        const home = await newHome();
        assert.deepEqual(await follow(home, store.config(), merged), merges);
        const other = { ...store.config(), table: 'counts' };
        assert.deepEqual(await follow(home, other, replaced), replaces);
      } finally {
        await store.close();
      }
    },
  );

const bucket_test = 'a table bucket is merged into and replaced, with kills';
test(bucket_test, { skip: without_seaweedfs }, async () => {
  const store = await startSeaweedfs([], ['lake']);
  try {
    const config = { ...tableBucketConfig(store, 'lake'), namespace: 'shop' };
    const home = await newHome();
    assert.deepEqual(await follow(home, config, merged), merges);
    assert.deepEqual(await follow(home, { ...config, table: 'counts' }, replaced), replaces);
  } finally {
    await store.close();
  }
});

test('a table of another catalog in S3 is merged into and replaced, with kills', async () => {
  const store = await openTableStore('S3', exporting.harness);
  try {
    const home = await newHome();
    const { storage: _storage, prefix: _prefix, ...keys } = store.config();
    const config = { ...keys, storage: 'S3' };
    const { id: storage } = await newExport(home, {
      paused: true,
      destination: { type: 'S3', config: { ...keys, prefix: '' } },
    });
    const created = await home.ask('POST', `/iceberg/v1/${home.project.id}/namespaces`, {
      namespace: ['shop'],
      properties: { 'sluice.batch-export': storage },
    });
    assert.equal(created.status, 200, created.text);
    const foreign = {
      ...config,
      namespace: 'shop',
      catalog: 'rest',
      catalog_uri: uri,
      catalog_warehouse: String(home.project.id),
      catalog_token: home.key,
    };
    assert.deepEqual(await follow(home, foreign, merged), merges);
    assert.deepEqual(await follow(home, { ...foreign, table: 'counts' }, replaced), replaces);
  } finally {
    await store.close();
  }
});
