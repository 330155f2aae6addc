import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Harness } from '../../../test/harness.ts';
import { planDueExports } from '../../engine/exports/runs/plan_due_exports.ts';
import { readReceipt } from '../../engine/exports/runs/receipt.ts';
import { aroundTests } from '../../../test/around_tests.ts';
import {
  all_events,
  eventsIn,
  openDeliveringHarness,
  scheduleFrom,
  until,
  withEvents,
} from '../../../test/factories/batch_exports/delivering_harness.ts';

let harness: Harness;
const delivering = aroundTests(openDeliveringHarness, async (opened) => {
  harness = opened.harness;
});

test('a run cancelled before a worker takes it is Cancelled, and a retry delivers it', async () => {
  const { created, get, send } = await withEvents(harness, 'cancelled');
  await scheduleFrom(harness, created.id);
  while ((await planDueExports(harness.deps.engine)) > 0);
  const [run] = (await get('runs/?ordering=data_interval_start')).body.results;
  assert.equal(run.cancel_requested_at, null);
  const asked = (await send('POST', `runs/${run.id}/cancel/`)).body;
  assert.deepEqual([asked.status, asked.cancel_requested_at], ['Starting', asked.last_updated_at]);
  await delivering.startOnce();
  const ended = await until(
    () => get(`runs/${run.id}/`),
    (body) => body.finished_at !== null,
  );
  assert.deepEqual([ended.status, ended.error_code], ['Cancelled', 'cancelled']);
  const retried = await send('POST', `runs/${run.id}/retry/`);
  assert.equal(retried.status, 200, retried.text);
  await until(
    () => get('runs/?status=Completed'),
    (body) => body.results.length === 3,
  );
  assert.deepEqual(await eventsIn(delivering.folder, 'cancelled'), all_events);
});

test('the schedule delivers each hour once; a backfill of them adds nothing', async () => {
  await delivering.startOnce();
  const { created, get, send } = await withEvents(harness, 'scheduled');
  await scheduleFrom(harness, created.id);
  const { results } = await until(
    () => get('runs/?status=completed&ordering=data_interval_start'),
    (body) => body.results.length === 3,
  );
  assert.deepEqual(
    results.map((run: { data_interval_start: string; records_completed: number }) => [
      run.data_interval_start,
      run.records_completed,
    ]),
    [
      ['2026-01-01T00:00:00.000000Z', 10],
      ['2026-01-01T01:00:00.000000Z', 10],
      ['2026-01-01T02:00:00.000000Z', 10],
    ],
  );
  assert.deepEqual(await eventsIn(delivering.folder, 'scheduled'), all_events);
  const { text, body: receipt } = await get(`runs/${results[0].id}/receipt/`);
  assert.deepEqual(readReceipt(text, harness.deps.secrets.public_key)?.run_id, results[0].id);
  assert.equal(
    readReceipt(text.replace('"records":10', '"records":11'), harness.deps.secrets.public_key),
    undefined,
  );
  assert.deepEqual(
    [receipt.records, receipt.bytes, receipt.delivery_id],
    [10, results[0].bytes_completed, results[0].delivery_id],
  );
  assert.ok(
    (await get(`runs/${results[0].id}/logs/`)).body.results.some(
      (line: { message: string }) => line.message === 'Run completed.',
    ),
  );
  assert.deepEqual((await get('')).body.latest_runs.length, 3);
  const range = {
    start_at: '2026-01-01T00:00:00.000000Z',
    end_at: '2026-01-01T03:00:00.000000Z',
  };
  const counts = [];
  for (const mode of ['missing', 'all'])
    counts.push(
      (await send('POST', 'backfill/', { ...range, mode, dry_run: true })).body.backfill.progress
        .records_total_count,
    );
  assert.deepEqual(counts, [0, 30]);
  const { backfill } = (await send('POST', 'backfill/', range)).body;
  const over = await until(
    () => get(`backfills/${backfill.id}/`),
    (body) => body.finished_at !== null,
  );
  assert.deepEqual(
    [over.status, over.progress],
    [
      'Completed',
      {
        total_runs: 3,
        finished_runs: 3,
        completed_runs: 3,
        records_completed: 0,
        records_total_count: 0,
        records_elsewhere: 30,
      },
    ],
  );
  assert.deepEqual(await eventsIn(delivering.folder, 'scheduled'), all_events);
  const again = (await send('POST', 'backfill/', { ...range, mode: 'all' })).body.backfill;
  assert.equal(
    (
      await until(
        () => get(`backfills/${again.id}/`),
        (body) => body.finished_at !== null,
      )
    ).progress.records_completed,
    30,
  );
  assert.equal((await eventsIn(delivering.folder, 'scheduled')).length, 60);
});

test('a failed run is retried at the place that the export was changed to', async () => {
  await delivering.startOnce();
  await writeFile(join(delivering.folder, 'taken'), 'a file where the folder should be');
  const { created, get, send } = await withEvents(harness, 'taken/inside');
  await scheduleFrom(harness, created.id);
  const { results } = await until(
    () => get('runs/?status=Failed&ordering=data_interval_start'),
    (body) => body.results.length === 3,
  );
  assert.equal(results[0].error_code, 'invalid_path');
  assert.equal(
    (await send('PATCH', '', { destination: { config: { prefix: 'free' } } })).status,
    200,
  );
  for (const run of results)
    assert.equal((await send('POST', `runs/${run.id}/retry/`)).status, 200);
  await until(
    () => get('runs/?status=Completed'),
    (body) => body.results.length === 3,
  );
  assert.deepEqual(await eventsIn(delivering.folder, 'free'), all_events);
  assert.equal((await send('POST', `runs/${results[0].id}/retry/`)).status, 409);
});
