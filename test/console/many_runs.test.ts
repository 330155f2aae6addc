import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { workBulkActions } from '../../server/api/batch_exports/bulk_actions/work.ts';
import { inDepth } from '../depth.ts';
import { newExport } from '../factories/batch_exports/batch_exports.ts';
import { pressByKey, tabTo } from './keyboard.ts';
import { openConsole } from './open_console.ts';
import { checkEverywhere } from './visitor.ts';

const world = openConsole();
const { skip } = world;
const count = inDepth(150, 5_000);
const told = count.toLocaleString('en');

/** An export with so many failed runs of an hour each. */
async function withFailed() {
  const home = await world.harness.newOrganization();
  const { id } = await newExport(home, { name: 'After an outage' });
  await world.harness.deps.db.run(sql`
    INSERT INTO batch_export_runs (id, batch_export_id, team_id, revision, delivery_id, status,
      data_interval_start, data_interval_end, selection, finished_at, error_code)
    SELECT made.id, ${id}, ${home.project.id}, 1, made.id, 'Failed', made.at,
      made.at + interval '1 hour', jsonb_build_array(jsonb_build_object('event_from', null,
        'event_to', null, 'inserted_from', extract(epoch FROM made.at)::bigint * 1000,
        'inserted_to', (extract(epoch FROM made.at)::bigint + 3600) * 1000)), now(), 'gone'
    FROM generate_series(0, ${count - 1}::integer) n CROSS JOIN LATERAL (
      SELECT gen_random_uuid() AS id, '2026-01-01Z'::timestamptz + n * interval '1 hour' AS at
    ) made`);
  return { home, id };
}

test('many failed runs are retried by keyboard alone, each with its result', { skip }, async () => {
  const { home, id } = await withFailed();
  const { page, leave } = await world.visit(home.user);
  await page.goto(`/projects/${home.project.id}/exports/${id}/runs?status=failed`);
  await page.locator('.run_rows [role=row]').nth(5).waitFor();
  assert.ok((await page.locator('.run_rows [role=row]').count()) < 100, 'the list is windowed');
  await pressByKey(page, 'Retry all that match');
  await page.getByText(`${told} runs of this export match now`).waitFor();
  await pressByKey(page, `Retry ${told} runs`);
  await page.waitForURL('**action=*');
  const panel = page.getByRole('region', { name: 'Many runs' });
  await panel.getByRole('button', { name: 'Abort' }).waitFor();
  // A person who leaves and comes back sees the progress.
  await page.reload();
  await panel.getByRole('button', { name: 'Abort' }).waitFor();
  await workBulkActions(world.harness.deps);
  await panel.getByRole('button', { name: 'Close' }).waitFor();
  await page.getByRole('heading', { level: 1 }).click();
  await pressByKey(page, 'Result of each');
  await panel.getByText(`${told} results`).waitFor();
  const results = panel.getByRole('listitem');
  await results.filter({ hasText: 'Done' }).first().waitFor();
  assert.ok((await results.count()) < 60, 'only those in the window have elements');
  await tabTo(page, 'Results, one for each');
  await page.keyboard.press('End');
  await panel.locator(`[aria-posinset="${count}"]`).filter({ hasText: 'Done' }).waitFor();
  await checkEverywhere(page, 'many_runs');
  const retried = await world.harness.deps.db.row<{ count: number }>(sql`
    SELECT count(*) AS count FROM (SELECT delivery_id FROM batch_export_runs
      WHERE batch_export_id = ${id} GROUP BY delivery_id HAVING count(*) = 2) twice`);
  assert.equal(retried!.count, count);
  await leave();
});
