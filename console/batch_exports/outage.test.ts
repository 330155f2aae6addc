import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { afterEach, test } from 'node:test';
import sql from 'sql-template-tag';
import { goTo } from '../../test/console/go_to.ts';
import { openConsole } from '../../test/console/open_console.ts';
import { checkColumns } from '../../test/console/scale.ts';
import { checkEverywhere } from '../../test/console/visitor.ts';
import type { Visitor } from '../../test/console/visitor.ts';
import { insertRunRow, newExport } from '../../test/factories/batch_exports/batch_exports.ts';
import { completed } from '../../test/factories/batch_exports/ended_runs.ts';
import type { TestOrganization } from '../../test/harness.ts';
import { claimRun } from '../../server/engine/exports/workers/claims.ts';
import { endRun } from '../../server/engine/exports/runs/end_runs.ts';
import { retryLater } from '../../server/engine/exports/runs/progress.ts';

let home: TestOrganization;
/** Whoever looks at the pages, all of them within one document. */
let visitor: Visitor;
const world = openConsole({
  opened: async (harness) => {
    home = await harness.newOrganization();
    if (world.skip === false) visitor = await world.visit(home.user);
  },
  closing: async () => visitor?.close(),
});
const { skip } = world;
afterEach(() => assert.deepEqual(visitor?.complaints.splice(0) ?? [], []));

async function open(body: Record<string, unknown> = {}) {
  const { id } = (await newExport(home, body)) as { id: string };
  return { id, page: visitor.page, address: `/projects/${home.project.id}/exports/${id}` };
}

const error = { code: 'connection_failed', message: 'The server does not answer.' };

/** A run of an hour that waits after so many failed attempts. */
async function waitingRun(exportId: string, hour: number, failures: number): Promise<string> {
  const { db, engine } = world.harness.deps;
  const id = await insertRunRow(world.harness, exportId, { hour });
  for (let failure = 0; failure < failures; failure += 1) {
    const run = (await claimRun(db, id, randomUUID()))!;
    await retryLater(engine, { ...run, failures: 6 }, error);
  }
  await db.run(sql`UPDATE batch_export_runs SET records_total_count = 675, records_completed = 0
    WHERE id = ${id}`);
  return id;
}

test('an outage has a page, from the first failure to the proof', { skip }, async () => {
  const { page, address, id } = await open();
  const runs = [await waitingRun(id, 0, 3), await waitingRun(id, 1, 2)];
  await goTo(page, address);
  await page.getByRole('link', { name: 'See what is wrong' }).click();
  await page.getByRole('heading', { name: 'The server does not answer.' }).waitFor();
  await page.getByText('1,350 rows', { exact: true }).waitFor();
  await page
    .getByText(/^Next try at .* \(in \d+ s\)/)
    .first()
    .waitFor();
  await checkEverywhere(page, 'export_incident');
  await goTo(page, `${address}/runs/${runs[0]}`);
  await page.getByText('Attempt 3 failed: The server does not answer. Next try at').waitFor();
  assert.equal(await page.getByText('A worker delivers').count(), 0);
  assert.equal(await page.locator('.attempt_bar .attempt_failed').count(), 3);
  assert.equal(await page.locator('.attempt_bar .attempt_delivered').count(), 0);
  await page.getByLabel('Attempt', { exact: true }).selectOption('2');
  await page.waitForURL('**attempt=2');
  const log = page.getByRole('list', { name: 'Log, newest first' });
  await log.getByRole('listitem').nth(1).waitFor({ state: 'detached' });
  await log.getByText('Attempt 7 of 15 failed').waitFor();
  await checkEverywhere(page, 'export_run_waiting');
  await goTo(page, `${address}/incident`);
  await page.locator('.incident').getByRole('button', { name: 'Try now' }).click();
  await page.getByText('The next try starts now.').waitFor();
  for (const run_id of runs) {
    const run = (await claimRun(world.harness.deps.db, run_id, randomUUID()))!;
    await world.harness.deps.db.run(
      sql`UPDATE batch_export_runs SET records_completed = 675 WHERE id = ${run_id}`,
    );
    await endRun(world.harness.deps.engine, run, completed);
  }
  await page.getByText(/: 1,350 counted, 1,350 delivered, 0 doubled\.$/).waitFor();
  await checkEverywhere(page, 'export_recovered');
});

test('an interval that a retry repaired is one line without a button', { skip }, async () => {
  const { page, address, id } = await open({ paused: true });
  const failing = await insertRunRow(world.harness, id, { status: 'Failed', hour: 1 });
  await insertRunRow(world.harness, id, { status: 'Completed', hour: 1, delivery_id: failing });
  await goTo(page, `${address}/runs`);
  // The page before has a list of runs as well, but no filters.
  await page.getByLabel('Status').waitFor();
  const rows = page.locator('.run_rows [role=row]');
  await rows.getByText('Completed').waitFor();
  assert.deepEqual([await rows.count(), await rows.getByText('Retry').count()], [1, 0]);
  await rows.getByText('retried').waitFor();
  await rows.getByRole('button', { name: 'Show 2 runs' }).click();
  await rows.getByText('first run').waitFor();
  await checkEverywhere(page, 'export_folded');
  await checkColumns(page);
  await page.getByRole('button', { name: 'Retry all that match' }).click();
  await page.getByText('No run that matches can be retried.').waitFor();
});

test('the head of an export runs, pauses, duplicates and shows its request', { skip }, async () => {
  const { page, address, id } = await open();
  await goTo(page, address);
  const copy = page.getByRole('link', { name: 'Duplicate' });
  assert.ok((await copy.getAttribute('href'))!.endsWith(`/exports/new?copy_of=${id}`));
  await page.getByRole('button', { name: 'Pause', exact: true }).click();
  await page.getByText('The export is paused.').waitFor();
  await page.getByRole('button', { name: 'Resume', exact: true }).click();
  await page.getByText('The export is resumed.').waitFor();
  await page.getByRole('button', { name: 'Run now' }).click();
  await page.getByText(/^Run started: it delivers all new rows at \d\d:\d\d:\d\d\.$/).waitFor();
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name: 'As curl' }).click();
  const dialog = page.getByRole('dialog', { name: 'As curl' });
  await dialog.getByText(`/batch_exports/${id}/slots/`).waitFor();
  await dialog.getByRole('button', { name: 'Close' }).click();
});
