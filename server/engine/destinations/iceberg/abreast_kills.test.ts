import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../test/around_tests.ts';
import { faultyEngine } from '../../../../test/factories/batch_exports/faulty_worker.ts';
import { newLakeTable } from '../../../../test/factories/batch_exports/lake_tables.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import { executeRun } from '../../exports/delivery/execute.ts';
import { claimRun } from '../../exports/workers/claims.ts';

// Slices of partitions are written two at a time. A worker dies before, between and after them: at
// its nth statement or COMMIT.

const exporting = aroundTests(openQueryHarness);
const hours = 8;
const events = 12;

test('a worker that dies between two slices loses and doubles no row', async () => {
  const table = await newLakeTable(exporting, {
    hours: 1,
    events,
    config: { partition_by: ['bucket(4, uuid)'] },
  });
  assert.ok((await table.live()).length > 2, 'a run has few slices');
  const at = (hour: number) => `2026-01-01T0${hour}:30:00Z`;
  await exporting.insert(
    table.home,
    Array.from({ length: (hours - 1) * events }, (_, n) => ({
      event: `later ${n}`,
      at: at(1 + Math.floor(n / events)),
    })),
  );
  await exporting.extend(table.export_id, hours);
  const { db, engine } = exporting.harness.deps;
  let killed = 0;
  const attempt = async (run_id: string, kill_at?: number) => {
    await db.run(sql`UPDATE batch_export_runs SET worker_id = NULL, due_at = now()
      WHERE id = ${run_id} AND status IN ('Starting', 'Running')`);
    const run = await claimRun(db, run_id, randomUUID());
    if (run === undefined) return;
    const worker = new AbortController();
    const faults = { kill_at, answers: [], before_commit: undefined, is_naive: false };
    const faulty = faultyEngine(engine, faults, () => worker.abort('shutdown'));
    await executeRun(faulty.engine, run, worker.signal).catch((error: unknown) => {
      if (!faulty.struck.killed) throw error;
    });
    if (faulty.struck.killed) killed += 1;
  };
  for (const [index, { id }] of (await exporting.plan(table.export_id)).entries()) {
    for (const kill_at of [8, 16, 24, 32]) await attempt(id, kill_at + index);
    await attempt(id);
  }
  assert.ok(killed > 14, `only ${killed} workers died`);
  const runs = await exporting.runAll(table.export_id);
  assert.deepEqual(
    runs.map(({ status }) => status),
    Array.from({ length: hours }, () => 'Completed'),
  );
  const uuids = (await table.rows(['uuid'])).map(([uuid]) => uuid);
  assert.deepEqual([uuids.length, new Set(uuids).size], [hours * events, hours * events]);
  await table.checkWhole();
});
