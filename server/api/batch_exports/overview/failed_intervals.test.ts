import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import {
  insertRunRow,
  newExport,
  projectBase,
} from '../../../../test/factories/batch_exports/batch_exports.ts';
import {
  completed,
  endedRun,
  failed,
} from '../../../../test/factories/batch_exports/ended_runs.ts';
import { shareHarness } from '../../../../test/harness.ts';
import type { TestOrganization } from '../../../../test/harness.ts';
import { endRun } from '../../../engine/exports/runs/end_runs.ts';
import { claimRun } from '../../../engine/exports/workers/claims.ts';
import type { ExportOverview } from './schema.ts';

const harness = shareHarness({ clickhouse: false });
const every_event = { event_from: null, event_to: null };
const at = (hour: number) => Date.parse('2026-01-01T00:00:00Z') + hour * 3_600_000;

test('a failed interval is shown until something has delivered it', async () => {
  const home = await harness.newOrganization();
  const { id } = await newExport(home);
  const told = async () => {
    const [{ health, failed_interval }] = (await overview(home)).results as [ExportOverview];
    return [health.code, failed_interval?.run_id, health.detail, failed_interval?.retry_run_id];
  };
  const runs: string[] = [];
  for (const hour of [1, 2, 4]) runs.push(await endedRun(harness, id, failed, { hour }));
  assert.deepEqual((await told()).slice(0, 2), ['failing', runs[0]]);
  await endedRun(harness, id, completed, { hour: 5 });
  const [code, , detail] = await told();
  assert.equal(code, 'partly_delivered');
  assert.match(
    String(detail),
    new RegExp(
      '^Partly delivered since 20\\S+Z: events ingested from 2026-01-01T01:00:00.000000Z to ' +
        '2026-01-01T02:00:00.000000Z are missing, because their run failed: The bucket may not ' +
        'be written to. Retry it.$',
    ),
  );
  // It is told while a retry is under way, and when that one is done the next one is.
  const retry = async (run: string) =>
    home.ask('POST', `${projectBase(home)}${id}/runs/${run}/retry/`);
  const retried = (await retry(runs[0]!)).body.id as string;
  const [, run, sentence, retry_run_id] = await told();
  assert.deepEqual([run, retry_run_id], [runs[0], retried]);
  assert.match(String(sentence), /The bucket may not be written to\. A retry is in progress\.$/);
  await finish(retried);
  assert.equal((await told())[1], runs[1]);
  // A backfill that covers two hours delivers the second.
  const backfilled = await insertRunRow(harness, id, {
    hour: 20,
    selection: [{ ...every_event, inserted_from: at(2), inserted_to: at(4) }],
  });
  await harness.deps.db.run(sql`UPDATE batch_export_runs SET is_make_up = true
    WHERE id = ${backfilled}`);
  await finish(backfilled);
  assert.deepEqual((await told()).slice(0, 2), ['partly_delivered', runs[2]]);
  await finish((await retry(runs[2]!)).body.id);
  assert.deepEqual((await told()).slice(0, 2), ['up_to_date', undefined]);
});

test('an incomplete export is counted, filtered and ordered by', async () => {
  const home = await harness.newOrganization();
  const ids: string[] = [];
  for (const name of ['well', 'incomplete', 'revised', 'ended', 'paused'])
    ids.push((await newExport(home, { name })).id);
  for (const id of ids.slice(1)) await endedRun(harness, id, failed, { hour: 1 });
  for (const id of ids) await endedRun(harness, id, completed, { hour: 2 });
  const [, , revised, ended, paused] = ids;
  const change = (id: string, body: object) =>
    home.ask('PATCH', `${projectBase(home)}${id}/`, body);
  await change(revised!, { model: 'persons' });
  await change(ended!, { end_at: '2026-01-02T00:00:00Z' });
  await change(paused!, { paused: true });
  const named = async (query: string) =>
    (await overview(home, query)).results.map((one: ExportOverview) => one.name);
  assert.equal((await overview(home)).counts.partly_delivered, 3);
  const partly = ['ended', 'incomplete', 'revised'];
  assert.deepEqual(await named('?health=partly_delivered&ordering=name'), partly);
  // The revision that the change of model began lacks rows; a pause comes before what is missing.
  const all = ['ended', 'incomplete', 'revised', 'paused', 'well'];
  assert.deepEqual(await named('?ordering=health'), all);
  const [{ health }] = (await overview(home, '?search=ended')).results as [ExportOverview];
  assert.match(health.detail, /^Partly delivered since .* are missing, because their run failed/);
  const late = sql`UPDATE batch_exports SET schedule_changed_at = '2026-01-01'
    WHERE id = ${ids[1]}`;
  await harness.deps.db.run(late);
  assert.deepEqual(await named('?health=late'), ['incomplete']);
});

async function overview(home: TestOrganization, query = '') {
  const path = `/api/projects/${home.project.id}/overview/${query}`;
  return (await home.ask('GET', path)).body;
}

/** Ends a run that is planned, as if a worker had delivered it. */
async function finish(id: string): Promise<void> {
  const run = await claimRun(harness.deps.db, id, randomUUID());
  await endRun(harness.deps.engine, run!, completed);
}
