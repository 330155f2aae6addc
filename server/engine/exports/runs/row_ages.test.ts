import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import { aroundTests } from '../../../../test/around_tests.ts';
import { projectBase } from '../../../../test/factories/batch_exports/batch_exports.ts';
import type { Answer } from '../../../../test/harness.ts';
import type { BatchExportRun } from '../../../api/batch_exports/runs/schema.ts';
import { noteDeliveredThrough } from '../health/delivered_through.ts';

const exporting = aroundTests(openQueryHarness);
/** The runs of an export as they are on the wire, oldest first. */
async function listed(get: (path: string) => Promise<Answer>): Promise<BatchExportRun[]> {
  const { results } = (await get('runs/')).body as { results: BatchExportRun[] };
  return results.toSorted((one, other) =>
    one.data_interval_start.localeCompare(other.data_interval_start),
  );
}

const seconds = (from: string, to: string) => (Date.parse(to) - Date.parse(from)) / 1000;

test('a run tells the ages of its rows, and the export those of its newest run', async () => {
  const { harness } = exporting;
  const home = await harness.newOrganization();
  const { id, get } = await exporting.scheduled(home, {
    destination: { type: 'File', config: { prefix: 'ages/' } },
  });
  const [oldest, newest] = ['2026-01-01T00:10:00.000Z', '2026-01-01T00:50:00.000Z'];
  await exporting.insert(home, [
    { event: 'one', at: newest },
    { event: 'two', at: '2026-01-01T00:30:00.000Z' },
    { event: 'three', at: oldest },
  ]);
  await exporting.runAll(id);
  const runs = await listed(get);
  const [first, empty] = runs;
  const { body: run } = await get(`runs/${first!.id}/`);
  assert.equal(run.status, 'Completed');
  // The end is read in microseconds, and the ages are whole milliseconds.
  assert.ok(Math.abs(run.oldest_row_seconds - seconds(oldest, run.finished_at)) < 0.002);
  assert.ok(Math.abs(run.newest_row_seconds - seconds(newest, run.finished_at)) < 0.002);
  const { body: without } = await get(`runs/${empty!.id}/`);
  assert.deepEqual(
    [without.records_completed, without.oldest_row_seconds, without.newest_row_seconds],
    [0, null, null],
  );
  const path = `${projectBase(home).replace('batch_exports/', '')}overview/`;
  const [overview] = (await home.ask('GET', path)).body.results;
  assert.equal(overview.oldest_row_seconds, run.oldest_row_seconds);
  assert.equal(overview.newest_row_seconds, run.newest_row_seconds);
  assert.equal(overview.delivered_through, runs.at(-1)!.data_interval_end);
  const text = await harness.deps.metrics.registry.metrics();
  assert.match(text, /^sluice_export_freshness_seconds_count\{destination="File"\} 1$/m);
});

test('the ages of rows without an insertion are not known', async () => {
  const { harness } = exporting;
  const home = await harness.newOrganization();
  const { id, get } = await exporting.scheduled(home, {
    custom_query: 'SELECT event, count() AS n FROM events GROUP BY event',
    destination: { type: 'File', config: { prefix: 'counts/' } },
  });
  await exporting.insert(home, [{ event: 'one', at: '2026-01-01T00:10:00.000Z' }]);
  await exporting.runAll(id);
  const [run] = await listed(get);
  assert.deepEqual(
    [run!.records_completed, run!.oldest_row_seconds, run!.newest_row_seconds],
    [1, null, null],
  );
});

test('what is in progress or failed holds up delivered_through', async () => {
  const { harness } = exporting;
  const home = await harness.newOrganization();
  const { id, get } = await exporting.scheduled(home, {
    destination: { type: 'File', config: { prefix: 'through/' } },
  });
  await exporting.runAll(id);
  const runs = await listed(get);
  const path = `${projectBase(home).replace('batch_exports/', '')}overview/`;
  const through = async () => (await home.ask('GET', path)).body.results[0].delivered_through;
  const change = (status: string) =>
    harness.deps.db.run(sql`UPDATE batch_export_runs SET status = ${status}, finished_at =
      CASE WHEN ${status} = 'Starting' THEN NULL ELSE now() END WHERE id = ${runs[1]!.id}`);
  assert.equal(await through(), runs.at(-1)!.data_interval_end);
  await change('Starting');
  assert.equal(await through(), runs[1]!.data_interval_start);
  await harness.deps.db.run(sql`UPDATE batch_exports SET next_run_at = now() WHERE id = ${id}`);
  await noteDeliveredThrough(harness.deps.engine);
  const gauge = await harness.deps.metrics.export_delivered_through_seconds.get();
  const hours = gauge.values.find(({ labels }) => labels.interval === 'hour');
  assert.equal(hours?.value, Date.parse(runs[1]!.data_interval_start) / 1000);
});
