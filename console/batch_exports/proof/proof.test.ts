import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { afterEach, test } from 'node:test';
import { goTo } from '../../../test/console/go_to.ts';
import { openConsole } from '../../../test/console/open_console.ts';
import { checkEverywhere } from '../../../test/console/visitor.ts';
import type { Visitor } from '../../../test/console/visitor.ts';
import { lookAt } from '../../../test/factories/batch_exports/looks.ts';
import { openS3Server } from '../../../test/servers/object_stores/s3_server.ts';
import { newExport } from '../../../test/factories/batch_exports/batch_exports.ts';
import {
  insertEvents,
  scheduleFrom,
} from '../../../test/factories/batch_exports/delivering_harness.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { executeRun } from '../../../server/engine/exports/delivery/execute.ts';
import { planDueExports } from '../../../server/engine/exports/runs/plan_due_exports.ts';
import { workVerifications } from '../../../server/engine/exports/verification/work.ts';
import { claimRun } from '../../../server/engine/exports/workers/claims.ts';
import sql from 'sql-template-tag';

let home: TestOrganization;
let visitor: Visitor;
let folder: string;
const world = openConsole({
  clickhouse: true,
  prepare: async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-proof-'));
    const outbound_allow = ['127.0.0.0/8'];
    return { config: { export_dir: folder, settle_seconds: 1, outbound_allow } };
  },
  opened: async (harness) => {
    home = await harness.newOrganization();
    await insertEvents(harness, home);
    if (world.skip === false) visitor = await world.visit(home.user);
  },
  closing: async () => {
    await visitor?.close();
    await rm(folder, { recursive: true, force: true });
  },
});
const { skip } = world;
afterEach(() => assert.deepEqual(visitor?.complaints.splice(0) ?? [], []));

const never = new AbortController().signal;

/** Executes what is planned of an export. */
async function deliver(id: string): Promise<void> {
  const { db, engine } = world.harness.deps;
  while ((await planDueExports(engine)) > 0);
  const open = await db.rows<{ id: string }>(sql`SELECT id FROM batch_export_runs
    WHERE batch_export_id = ${id} AND status IN ('Starting', 'Running') ORDER BY id`);
  for (const { id: run_id } of open) {
    const run = await claimRun(db, run_id, randomUUID());
    if (run !== undefined) await executeRun(engine, run, never);
  }
}

/** Delivers three hours to a destination, and returns the export's id. */
async function delivered(destination: { type: string; config: object }): Promise<string> {
  const { harness } = world;
  const { id } = (await newExport(home, { interval: 'hour', destination })) as { id: string };
  await scheduleFrom(harness, id);
  await harness.deps.db.run(sql`UPDATE batch_exports SET end_at = '2026-01-01T03:00:00Z'
    WHERE id = ${id}`);
  await deliver(id);
  return id;
}

const range = 'from=2026-01-01T00:00:00Z&to=2026-01-01T03:00:00Z';

test('a person proves an export, sees what was changed, and repairs it', { skip }, async () => {
  const { engine } = world.harness.deps;
  const prefix = 'proven';
  const id = await delivered({ type: 'File', config: { prefix } });
  const { page } = visitor;
  await goTo(page, `/projects/${home.project.id}/exports/${id}/proof?${range}`);
  await page.getByText('Not verified yet.').waitFor();
  await page.getByText(/rows stored, .* delivered\.$/).waitFor();
  await checkEverywhere(page, 'export_proof_never');
  await page.getByRole('button', { name: 'Verify all deliveries' }).click();
  await page.getByText('Waiting for a worker.').waitFor();
  await checkEverywhere(page, 'export_proof_waiting');
  await workVerifications(engine, never);
  await page.getByText(/^Everything is as delivered:/).waitFor();
  await page
    .locator('.proof_through')
    .getByText(/^Verified through 2026-01-01 03:00/)
    .waitFor();
  await page.getByRole('link', { name: /^Verified through 2026-01-01 03:00/ }).waitFor();
  const names = (await readdir(join(folder, prefix))).filter((name) => name.endsWith('.jsonl'));
  await rm(join(folder, prefix, names[0]!));
  await page.getByRole('button', { name: 'Verify all deliveries' }).click();
  await page.getByText('Waiting for a worker.').waitFor();
  await workVerifications(engine, never);
  const found = page.getByRole('region', { name: 'Findings' });
  await found.getByText('Missing', { exact: true }).first().waitFor();
  await checkEverywhere(page, 'export_proof_findings');
  await page.getByRole('button', { name: 'Repair delivery' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Repair delivery' }).click();
  await page.getByText('The repair was started.').waitFor();
  await page.getByRole('button', { name: 'Accept finding' }).click();
  await page.getByLabel('Reason').fill('It moved to the archive.');
  await checkEverywhere(page, 'export_proof_accept');
  await page.getByRole('dialog').getByRole('button', { name: 'Accept finding' }).click();
  await page.getByText('It moved to the archive.').waitFor();
  await checkEverywhere(page, 'export_proof_accepted');
  await deliver(id);
  await page.getByRole('button', { name: 'Verify all deliveries' }).click();
  await page.getByText('Waiting for a worker.').waitFor();
  await workVerifications(engine, never);
  await page.locator('.outcome').getByText('As delivered').waitFor();
  const download = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Download receipts' }).click();
  assert.equal((await download).suggestedFilename(), `receipts-${id}.zip`);
});

test('a bucket that refuses stops verification, and the page says why', { skip }, async (t) => {
  const { deps } = world.harness;
  const server = await openS3Server(['proof']);
  t.after(() => server.close());
  const id = await delivered({
    type: 'S3',
    config: {
      bucket_name: 'proof',
      region: 'us-east-1',
      prefix: 'a',
      endpoint_url: server.endpoint,
      aws_access_key_id: server.access_key,
      aws_secret_access_key: server.secret_key,
    },
  });
  const { page } = visitor;
  const path = `/projects/${home.project.id}/exports/${id}`;
  await lookAt(deps, id);
  await goTo(page, `${path}/proof?${range}`);
  const through = page.locator('.proof_through');
  const well = /^Verified through 2026-01-01 03:00.*: nothing is missing, changed or doubled\.$/;
  await through.getByText(well).waitFor();
  for (let turn = 0; turn < 20; turn += 1)
    server.failNext(/list-type=2|^HEAD|^GET/, 403, 'AccessDenied');
  await lookAt(deps, id);
  await page.reload();
  await through.getByText(/Verification has stopped: the findings below say why\.$/).waitFor();
  await page
    .getByText(/^Stopped after .*: The store refused the request: the access key/)
    .waitFor();
  await checkEverywhere(page, 'export_proof_standing_still');
  await goTo(page, path);
  await page.getByRole('link', { name: 'Verification has stopped' }).waitFor();
  await checkEverywhere(page, 'export_standing_still');
});
