import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../test/around_tests.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import { claimRun } from '../../exports/workers/claims.ts';
import { executeRun } from '../../exports/delivery/execute.ts';
import { destinationDeps } from '../../exports/engine.ts';
import type { Engine } from '../../exports/engine.ts';
import { file_place } from '../file/file.ts';
import { commitTable } from '../../model/lake_catalog/commit.ts';
import { holdTable } from '../../model/lake_catalog/tables.ts';
import { liveFiles } from './live_files.ts';
import { openWorld } from './open_world.ts';

const exporting = aroundTests(openQueryHarness);

/** An export of two events of an hour to a table of its own. */
async function newTable(hours = 1) {
  const { harness, folder } = exporting;
  const home = await harness.newOrganization();
  const at = Array.from({ length: hours }, (_, hour) => `2026-01-01T0${hour}:30:00Z`);
  await exporting.insert(
    home,
    at.flatMap((one) => ['a', 'b'].map((event) => ({ event, at: one }))),
  );
  const config = { storage: 'File', table: 'events' };
  const body = { destination: { type: 'Iceberg', config } };
  const { id } = await exporting.scheduled(home, body, hours);
  const team_id = home.project.id;
  const { engine } = harness.deps;
  return {
    id,
    team_id,
    folder: join(folder, 'lake', String(team_id), 'sluice', 'events'),
    /** Rows that readers see, and the files that hold them. */
    seen: async () => {
      const deps = destinationDeps(engine, new AbortController().signal);
      const live = await liveFiles(await openWorld(file_place, config, team_id, deps));
      const entries = [...live.values()].flat();
      return { files: entries.length, rows: entries.reduce((sum, one) => sum + one.records, 0) };
    },
    run: async (own: Engine) => {
      const [{ id: run_id } = { id: '' }] = await exporting.plan(id);
      await harness.deps.db.run(
        sql`UPDATE batch_export_runs SET due_at = now() WHERE id = ${run_id}`,
      );
      const run = await claimRun(harness.deps.db, run_id, randomUUID());
      await executeRun(own, run!, new AbortController().signal);
      return (await harness.deps.db.row<{ status: string; latest_error: string | null }>(
        sql`SELECT status, latest_error FROM batch_export_runs WHERE id = ${run_id}`,
      ))!;
    },
  };
}

/** The engine, whose transactions that change a table end as `end` says, once. */
function withEnd(end: 'lost before' | 'lost after'): Engine {
  const { engine } = exporting.harness.deps;
  let is_struck = false;
  const { db } = engine;
  return {
    ...engine,
    db: {
      ...db,
      transaction: async (work) => {
        let ends = false;
        const result = await db.transaction(async (tx) => {
          const done = await work(tx);
          const row = await tx.row(sql`SELECT 1 FROM lake_snapshots
            WHERE xmin = pg_current_xact_id()::xid`);
          ends = row !== undefined && !is_struck;
          if (ends && end === 'lost before') {
            is_struck = true;
            throw new Error('The connection broke before the COMMIT.');
          }
          return done;
        });
        if (ends) {
          is_struck = true;
          throw new Error('The connection broke, the answer to the COMMIT is lost.');
        }
        return result;
      },
    },
  };
}

test('each hour is a snapshot, and the table and the run end together', async () => {
  const table = await newTable(2);
  const runs = await exporting.runAll(table.id);
  assert.deepEqual(
    runs.map(({ status, records_completed }) => [status, records_completed]),
    [
      ['Completed', 2],
      ['Completed', 2],
    ],
  );
  assert.deepEqual(await table.seen(), { files: 2, rows: 4 });
  const { db } = exporting.harness.deps;
  const told = await db.rows<{ delivery: string; run: string; last: string }>(sql`
    SELECT snapshot::jsonb -> 'summary' ->> 'sluice.delivery-id' AS delivery, run.id AS run,
      t.metadata::jsonb -> 'properties' ->> ${`sluice.last-delivery.${table.id}`} AS last
    FROM lake_snapshots s JOIN lake_tables t ON t.id = s.table_id
    JOIN batch_export_runs run ON run.delivery_id::text =
      snapshot::jsonb -> 'summary' ->> 'sluice.delivery-id'
    WHERE t.team_id = ${table.team_id} ORDER BY s.number`);
  assert.deepEqual(
    told.map(({ delivery }) => delivery),
    runs.map(({ id }) => id),
  );
  assert.equal(told[0]!.last, runs[1]!.id);
});

test('a lost transaction shows nothing, and the next attempt each row once', async () => {
  const table = await newTable();
  const engine = withEnd('lost before');
  const first = await table.run(engine);
  assert.equal(first.status, 'Running');
  assert.deepEqual(await table.seen(), { files: 0, rows: 0 });
  assert.equal((await table.run(engine)).status, 'Completed');
  assert.deepEqual(await table.seen(), { files: 1, rows: 2 });
});

test('a lost answer to the COMMIT doubles nothing and deletes nothing', async () => {
  const table = await newTable();
  const { status } = await table.run(withEnd('lost after'));
  assert.equal(status, 'Completed');
  assert.deepEqual(await table.seen(), { files: 1, rows: 2 });
  const names = await readdir(join(table.folder, 'data'));
  assert.equal(names.filter((name) => name.endsWith('.parquet')).length, 1);
  assert.deepEqual(await exporting.plan(table.id), []);
});

test('a commit of another writer in between is kept, and ours follows it', async () => {
  const table = await newTable(2);
  const { db, engine } = exporting.harness.deps;
  await table.run(engine);
  const name = { levels: ['sluice'], name: 'events' };
  const property = (tx: Parameters<typeof holdTable>[0]) =>
    holdTable(tx, table.team_id, name).then((held) =>
      commitTable(
        tx,
        held!,
        { requirements: [], updates: [{ action: 'set-properties', updates: { owner: 'etl' } }] },
        { writeFile: async () => undefined, now_ms: Date.now() },
      ),
    );
  await db.transaction(property);
  await table.run(engine);
  assert.deepEqual(await table.seen(), { files: 2, rows: 4 });
  const row = await db.row<{ owner: string; sequence: number }>(sql`
    SELECT metadata::jsonb -> 'properties' ->> 'owner' AS owner,
      (metadata::jsonb ->> 'last-sequence-number')::int AS sequence
    FROM lake_tables WHERE team_id = ${table.team_id}`);
  assert.deepEqual(row, { owner: 'etl', sequence: 2 });
});

test('a table that was dropped meanwhile is created again with all rows', async () => {
  const table = await newTable();
  const engine = withEnd('lost before');
  await table.run(engine);
  await engine.db.run(sql`DELETE FROM lake_tables WHERE team_id = ${table.team_id}`);
  assert.equal((await table.run(engine)).status, 'Completed');
  assert.deepEqual(await table.seen(), { files: 1, rows: 2 });
});
