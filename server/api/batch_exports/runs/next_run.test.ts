import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundTests } from '../../../../test/around_tests.ts';
import { newExport, projectBase } from '../../../../test/factories/batch_exports/batch_exports.ts';
import { openHarness } from '../../../../test/harness.ts';

const harness = aroundTests(() =>
  openHarness({ clickhouse: false, config: { settle_seconds: 15 } }),
);

test('an export and its runs name the next run, its time, or why there is none', async () => {
  const home = await harness.newOrganization();
  const created = await newExport(home);
  const url = `${projectBase(home)}${created.id}/`;
  const runs = async () => (await home.ask('GET', `${url}runs/`)).body;
  const { data_interval_start, data_interval_end } = created.next_run;
  assert.equal(Date.parse(data_interval_end) - Date.parse(data_interval_start), 3_600_000);
  const { next_run, detail, results } = await runs();
  assert.deepEqual(results, []);
  assert.equal(next_run.data_interval_end, data_interval_end);
  assert.equal(Date.parse(next_run.due_at) - Date.parse(data_interval_end), 15_000);
  assert.match(
    detail,
    /^The next run delivers events ingested from .+ 15 seconds after the end of its interval/,
  );
  await home.ask('POST', `${url}backfill/`, {
    start_at: '2026-01-01T00:00:00Z',
    end_at: '2026-01-02T00:00:00Z',
  });
  assert.match((await runs()).detail, / A backfill starts at .+ are final\.$/);
  const paused = await home.ask('POST', `${url}pause/`);
  assert.equal(paused.body.next_run, null);
  assert.deepEqual((await runs()).next_run, null);
  assert.match((await runs()).detail, /^The export is paused: .+ A backfill starts at /);
});
