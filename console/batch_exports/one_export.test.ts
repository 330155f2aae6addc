// Length: one world of exports, each of which a test repairs in another way.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, test } from 'node:test';
import type { Page } from 'playwright-core';
import sql from 'sql-template-tag';
import { pressByKey, tabTo } from '../../test/console/keyboard.ts';
import { goTo } from '../../test/console/go_to.ts';
import { checkEverywhere } from '../../test/console/visitor.ts';
import type { Visitor } from '../../test/console/visitor.ts';
import { is_deep } from '../../test/depth.ts';
import {
  insertRunRow,
  newExport,
  projectBase,
} from '../../test/factories/batch_exports/batch_exports.ts';
import {
  all_events,
  deliverHours,
  eventsIn,
  hour_of,
  insertAt,
  insertEvents,
  until,
} from '../../test/factories/batch_exports/delivering_harness.ts';
import type { TestOrganization } from '../../test/harness.ts';
import { startWorker } from '../../server/engine/exports/workers/worker.ts';
import type { Worker } from '../../server/engine/exports/workers/worker.ts';
import { openConsole } from '../../test/console/open_console.ts';

/** An organization with events, and another project of it that has the same. */
let home: TestOrganization;
let other: TestOrganization;
/** An export of each with a slot that is missing, by its prefix. */
let gaps: Record<'repaired' | 'keys' | 'offered' | 'found', string>;
/** Whoever looks at the pages, all of them within one document. */
let visitor: Visitor;
let worker: Worker;
const folder = mkdtempSync(join(tmpdir(), 'sluice-exports-'));
const world = openConsole({
  clickhouse: true,
  config: { export_dir: folder, settle_seconds: 1 },
  opened: async ({ deps }) => {
    const limits = { runs_max: 3, project_runs_max: 3, host_runs_max: 3 };
    worker = await startWorker(deps.engine, limits);
    if (world.skip === false) await fillWorld();
  },
  closing: async () => {
    await visitor?.close();
    await worker.stop();
  },
});
const { skip } = world;
after(() => rm(folder, { recursive: true, force: true }));
afterEach(() => assert.deepEqual(visitor?.complaints.splice(0) ?? [], []));

const hostile = `<img src=x onerror="document.title='taken'"><script>alert(1)</script>`;

/** Exports of three hours of events, for whose second hour no run was ever planned. */
async function fillWorld(): Promise<void> {
  const { harness } = world;
  home = await harness.newOrganization();
  const body = { name: 'Other' };
  const created = await harness.request('POST', '/api/projects/', { key: home.key, body });
  other = { ...home, project: created.body };
  await Promise.all([insertEvents(harness, home), insertEvents(harness, other)]);
  const gapOf = async (of: TestOrganization, prefix: string) =>
    (await newFileExport(of, prefix, { name: `Gap ${hostile}` })).id as string;
  gaps = {
    repaired: await gapOf(home, 'repaired'),
    keys: await gapOf(home, 'keys'),
    offered: await gapOf(home, 'offered'),
    found: await gapOf(other, 'found'),
  };
  await deliverHours(harness, worker, Object.values(gaps), [0, 1]);
  await deliverHours(harness, worker, Object.values(gaps), [2, 3]);
  visitor = await world.visit(home.user);
}

const newFileExport = (of: TestOrganization, prefix: string, body: Record<string, unknown>) =>
  newExport(of, { destination: { type: 'File', config: { prefix } }, ...body });

const pageOf = (id: string, rest = '') => `/projects/${home.project.id}/exports/${id}${rest}`;
const view = '?from=2025-12-31T20:00:00Z&to=2026-01-01T08:00:00Z';

const fact = (page: Page, name: string) =>
  page.locator('.facts > div').filter({ hasText: name }).locator('dd').textContent();

test('a gap is seen on the map and repaired: nothing doubled, nothing lost', { skip }, async () => {
  assert.equal((await eventsIn(folder, 'repaired')).length, 20);
  const { page } = visitor;
  await goTo(page, pageOf(gaps.repaired, view));
  const legend = page.getByRole('list', { name: 'Slots in view' });
  await legend.getByText('Delivered 2').waitFor();
  assert.match((await legend.textContent())!, /Delivered 2.*Missing 1$/);
  assert.match((await page.getByRole('heading', { level: 1 }).textContent())!, /<script>/);
  const map = page.getByLabel('Map of the slots');
  const box = (await map.boundingBox())!;
  // Twelve hours are in view; the gap is the sixth of them.
  const gap_x = (box.width * 5.5) / 12;
  await map.hover({ position: { x: (box.width * 4.5) / 12, y: 40 } });
  await page.locator('.readout').getByText('10 rows').waitFor();
  await page.locator('.readout').getByText('repaired/').waitFor();
  await map.hover({ position: { x: gap_x, y: 40 } });
  await page.locator('.readout').getByText('the schedule skipped it after a change').waitFor();
  if (is_deep) await checkEverywhere(page, 'export_map');
  await map.click({ position: { x: gap_x, y: 40 } });
  await page.getByRole('button', { name: 'Deliver 10 rows' }).waitFor();
  await page.waitForURL(({ searchParams }) => searchParams.get('selected_from') === hour_of(1));
  assert.equal(await fact(page, 'Rows to deliver'), '10');
  assert.equal(await fact(page, 'Will be doubled'), '0');
  await page.getByLabel('Deliver', { exact: true }).selectOption('All rows again');
  await page.getByRole('button', { name: 'Deliver 10 rows' }).waitFor();
  await page.getByLabel('Deliver', { exact: true }).selectOption('Only missing rows');
  await checkEverywhere(page, 'export_repair');
  await page.getByRole('button', { name: 'Deliver 10 rows' }).click();
  const repair = page.getByRole('region', { name: 'Backfill' });
  await repair.getByText('Completed', { exact: true }).waitFor({ timeout: 60_000 });
  await legend.getByText('Delivered 3').waitFor();
  await checkEverywhere(page, 'export_repaired');
  assert.deepEqual(await eventsIn(folder, 'repaired'), all_events);
  // A colleague who gets the address sees the same.
  await page.reload();
  await repair.getByText('Completed', { exact: true }).waitFor();
  await legend.getByText('Delivered 3').waitFor();
  assert.doesNotMatch(await page.title(), /^taken/);
});

test('a gap in view is offered, and one button repairs it', { skip }, async () => {
  const { page } = visitor;
  await goTo(page, pageOf(gaps.offered, view));
  const gap = page.getByRole('region', { name: 'Gap' });
  await gap.getByText('1 interval is missing: 2026-01-01 01:00 to 02:00.').waitFor();
  if (is_deep) await checkEverywhere(page, 'export_gap');
  await pressByKey(page, 'Repair this gap');
  const repair = page.getByRole('region', { name: 'Backfill' });
  await repair.getByText('Completed', { exact: true }).waitFor({ timeout: 60_000 });
  assert.deepEqual(await eventsIn(folder, 'offered'), all_events);
  await page.getByRole('list', { name: 'Slots in view' }).getByText('Delivered 3').waitFor();
  assert.equal(await gap.count(), 0);
});

test('the map is used by keyboard alone, and its table has the same', { skip }, async () => {
  const { page } = visitor;
  await goTo(page, pageOf(gaps.keys, view));
  await page.getByLabel('Map of the slots').waitFor();
  await tabTo(page, /^Map of the slots/);
  await page.keyboard.press('Home');
  for (let slot = 0; slot < 4; slot += 1) await page.keyboard.press('ArrowRight');
  await page.locator('.readout').getByText('2026-01-01 00:00').waitFor();
  await page.keyboard.press('Shift+ArrowRight');
  await page.keyboard.press('Shift+ArrowRight');
  await page.getByRole('button', { name: 'Deliver 10 rows' }).waitFor();
  assert.deepEqual(
    [await fact(page, 'Rows to deliver'), await fact(page, 'Delivered or in progress')],
    ['10', '20'],
  );
  await page.keyboard.press('Escape');
  await page.getByRole('region', { name: 'Backfill' }).waitFor({ state: 'detached' });
  const before = new URL(page.url()).searchParams.get('from');
  await page.keyboard.press('+');
  await page.waitForURL((url) => url.searchParams.get('from') !== before);
  await goTo(page, pageOf(gaps.keys, view));
  const row = page.getByRole('row').filter({ hasText: 'the schedule skipped it after a change' });
  assert.match((await row.textContent())!, /2026-01-01 01:002026-01-01 02:001/);
  await row.getByRole('button').click();
  await page.getByRole('button', { name: 'Deliver 10 rows' }).waitFor();
  await page.getByLabel('Which slots').selectOption('All');
  assert.equal(await page.getByRole('row').filter({ hasText: 'Delivered' }).count(), 2);
  await pressByKey(page, 'Deliver 10 rows');
  const repair = page.getByRole('region', { name: 'Backfill' });
  await repair.getByText('Completed', { exact: true }).waitFor({ timeout: 60_000 });
  assert.deepEqual(await eventsIn(folder, 'keys'), all_events);
});

test('a backfill typed by its dates can be of what happened then', { skip }, async () => {
  await insertAt(world.harness, home, [
    { event: 'old', happened: Date.parse('2024-05-01T00:10:00Z'), taken: Date.parse(hour_of(4)) },
  ]);
  const { page } = visitor;
  await goTo(page, pageOf(gaps.keys, view));
  await page.getByRole('link', { name: 'Backfill', exact: true }).click();
  await page.getByLabel('From (UTC)').fill('2024-05-01T00:00');
  await page.getByLabel('Until (UTC)').fill('2024-05-01T01:00');
  await page.keyboard.press('Enter');
  await page.getByText(/^There is nothing to deliver.*choose “Event time”/).waitFor();
  await page.getByLabel('Range by').selectOption('timestamp');
  await page.getByRole('button', { name: 'Deliver 1 row' }).waitFor();
  await pressByKey(page, 'Deliver 1 row');
  const repair = page.getByRole('region', { name: 'Backfill' });
  await repair.getByText('Completed', { exact: true }).waitFor({ timeout: 60_000 });
  assert.deepEqual(await eventsIn(folder, 'keys'), ['old', ...all_events].sort());
  // It lies on the map where it happened, by the clock of its backfill (C-01).
  const around = '?from=2024-04-30T20:00:00Z&to=2024-05-01T08:00:00Z';
  await page.goto(pageOf(gaps.keys, around));
  const legend = page.getByRole('list', { name: 'Slots in view' });
  await legend.getByText('Delivered 1').waitFor();
  assert.doesNotMatch((await legend.textContent())!, /Missing/);
  await page.locator('.readout').getByText('Happened, by backfills').waitFor();
  await page.locator('.readout').getByText('1 row').waitFor();
  await checkEverywhere(page, 'export_both_clocks');
});

/** A paused export of which the run of the second hour failed, with script in what is told. */
async function withFailure(prefix: string) {
  const { id } = await newFileExport(home, prefix, { name: `Failing ${hostile}`, paused: true });
  const { db } = world.harness.deps;
  const run_id = await insertRunRow(world.harness, id, { status: 'Failed', hour: 1 });
  await db.run(sql`UPDATE batch_export_runs SET latest_error = ${hostile},
    error_code = 'destination_refused' WHERE id = ${run_id}`);
  await db.run(sql`
    INSERT INTO batch_export_logs (batch_export_id, run_id, level, message) VALUES
      (${id}, ${run_id}, 'INFO', 'It began.'), (${id}, ${run_id}, 'ERROR', ${hostile})`);
  return { id: id as string, run_id };
}

test('runs are filtered, and a failed one is retried', { skip }, async () => {
  const { id } = await withFailure('retried');
  await insertRunRow(world.harness, id, { status: 'Completed', hour: 4, total: 0 });
  const { page } = visitor;
  await goTo(page, pageOf(id, '/runs'));
  const rows = page.locator('.run_rows [role=row]');
  await rows.nth(1).waitFor();
  await page.getByLabel('Status').selectOption('Failed');
  await page.waitForURL('**/runs?status=failed');
  await rows.nth(1).waitFor({ state: 'detached' });
  assert.match((await rows.textContent())!, /2026-01-01 01:00.*Failed.*<script>/);
  if (is_deep) await checkEverywhere(page, 'export_runs');
  const asked: string[] = [];
  page.on('request', (request) => asked.push(request.url().slice(-7)));
  await rows.getByRole('button', { name: 'Retry' }).dblclick();
  await rows.getByText(/A retry (is in progress|has delivered it)\./).waitFor();
  assert.equal(asked.filter((end) => end === '/retry/').length, 1);
  await page.getByLabel('Status').selectOption('Completed');
  await rows.filter({ hasText: '2026-01-01 01:00' }).getByText('10', { exact: true }).waitFor();
  assert.equal((await eventsIn(folder, 'retried')).length, 10);
  await goTo(page, pageOf(id, '/runs?after=2026-01-01T04:00:00Z'));
  await rows.getByText('2026-01-01 04:00').waitFor();
  assert.match(await page.title(), /^Runs, /);
});

test('the page of a run has its receipt, its files and its log', { skip }, async () => {
  const { id, run_id } = await withFailure('told');
  const { page } = visitor;
  await goTo(page, pageOf(id, `/runs/${run_id}`));
  await page.getByText(`Failed: ${hostile}`, { exact: true }).waitFor();
  const log = page.getByRole('list', { name: 'Log, newest first' });
  await log.getByText('It began.').waitFor();
  await page.getByLabel('Level').selectOption('Errors');
  await log.getByText('It began.').waitFor({ state: 'detached' });
  assert.match((await log.textContent())!, /ERROR <img/);
  await page.getByLabel('Level').selectOption('All');
  await page.getByLabel('Text').fill('BEGAN');
  await log.getByText('<img').waitFor({ state: 'detached' });
  await page.waitForURL('**text=BEGAN');
  if (is_deep) await checkEverywhere(page, 'export_run_failed');
  await page.getByRole('button', { name: /^Retry/ }).click();
  const again = page.getByText('Retried as').getByRole('link');
  const of_it = (await again.getAttribute('href'))!.split('/').at(-1);
  const path = `${projectBase(home)}${id}/runs/${of_it}/`;
  const get = () => world.harness.request('GET', path, { key: home.key });
  const run = await until(get, ({ status }) => status === 'Completed');
  await page.getByRole('button', { name: /^Retry/ }).waitFor({ state: 'detached' });
  await again.click();
  await page.getByText('Completed: 10 rows in').waitFor();
  const downloading = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Download the receipt' }).click();
  const receipt = JSON.parse(await readFile(await (await downloading).path(), 'utf8'));
  assert.equal(receipt.run_id, run.id);
  const [slice] = receipt.slices;
  const bytes = await readFile(join(folder, slice.name));
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  await page.getByText(sha256).waitFor();
  await page.getByText(slice.name, { exact: true }).waitFor();
  await checkEverywhere(page, 'export_run');
});

test('a record is found where it is, or with the reason why not', { skip }, async () => {
  await newExport(other, {
    name: 'Excludes',
    destination: { type: 'NoOp', config: { exclude_events: ['event 3'] } },
  });
  await newExport(other, { name: 'Weekly', interval: 'week' });
  await insertAt(world.harness, other, [
    { event: hostile, happened: Date.now(), taken: Math.floor(Date.now() / 1000) * 1000 },
  ]);
  const { page } = visitor;
  await goTo(page, `/projects/${other.project.id}/exports`);
  await page.getByRole('link', { name: 'Find a record' }).click();
  await page.getByLabel('Or a distinct id').fill('d');
  await page.getByLabel(/and a day/).fill('2026-01-01');
  await page.getByRole('button', { name: 'Find its records' }).click();
  await page.getByText('30 records found.').waitFor();
  const record = (event: string) =>
    page.locator('.found').filter({ has: page.getByRole('heading', { name: event, exact: true }) });
  const inExport = async (event: string, name: string) =>
    (await record(event).getByRole('listitem').filter({ hasText: name }).textContent())!;
  assert.match(await inExport('event 3', 'Gap'), /Delivered.*found\/.*10 rows/);
  assert.match(await inExport('event 3', 'Excludes'), /Excluded.*exclude_events/);
  assert.match(await inExport('event 12', 'Gap'), /Missing.*skipped it/);
  const uuid = (await record('event 3').locator('code').first().textContent())!;
  await page.getByLabel('The uuid of an event').fill(uuid);
  await page.getByRole('button', { name: 'Find the event' }).click();
  await page.getByText('1 record found.').waitFor();
  await page.waitForURL(`**/find?uuid=${uuid}`);
  await checkEverywhere(page, 'find');
  await page.getByLabel('The uuid of an event').fill(crypto.randomUUID());
  await page.getByRole('button', { name: 'Find the event' }).click();
  await page.getByText(/No event .* is stored\./).waitFor();
  await checkEverywhere(page, 'find_unknown', []);
  await page.getByLabel('The uuid of an event').fill('no uuid');
  await page.getByRole('button', { name: 'Find the event' }).click();
  await page.getByText('This is not a uuid').waitFor();
  const today = new Date().toISOString().slice(0, 10);
  await goTo(page, `/projects/${other.project.id}/find?distinct_id=d&day=${today}`);
  await page.getByRole('heading', { name: hostile }).waitFor();
  const waits = page.getByText(/Ingested at .*\. The run planned at .* delivers it/);
  await waits.nth(1).waitFor();
  assert.doesNotMatch(await page.title(), /^taken/);
});
