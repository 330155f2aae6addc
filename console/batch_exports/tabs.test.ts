import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import sql from 'sql-template-tag';
import { goTo } from '../../test/console/go_to.ts';
import { checkEverywhere, focused } from '../../test/console/visitor.ts';
import type { Visitor } from '../../test/console/visitor.ts';
import { is_deep } from '../../test/depth.ts';
import {
  insertRunRow,
  newExport,
  projectBase,
} from '../../test/factories/batch_exports/batch_exports.ts';
import { completed, endedRun, failed } from '../../test/factories/batch_exports/ended_runs.ts';
import { openWebhook } from '../../test/factories/notices.ts';
import type { TestOrganization } from '../../test/harness.ts';
import { openHttpReceiver } from '../../test/servers/http_receiver.ts';
import type { HttpReceiver } from '../../test/servers/http_receiver.ts';
import { workBulkActions } from '../../server/api/batch_exports/bulk_actions/work.ts';
import { sendDueNotices } from '../../server/engine/notices/send.ts';
import { openConsole } from '../../test/console/open_console.ts';

let receiver: HttpReceiver;
let home: TestOrganization;
/** Whoever looks at the pages, all of them within one document. */
let visitor: Visitor;
const world = openConsole({
  opened: async (harness) => {
    receiver = await openHttpReceiver({});
    home = await harness.newOrganization();
    if (world.skip === false) visitor = await world.visit(home.user);
  },
  closing: async () => {
    await visitor?.close();
    await receiver.close();
  },
});
const { skip } = world;
afterEach(() => assert.deepEqual(visitor?.complaints.splice(0) ?? [], []));

const hostile = `<img src=x onerror="document.title='taken'">`;

const pageOf = (id: string) => `/projects/${home.project.id}/exports/${id}`;

async function open(body: Record<string, unknown> = {}) {
  const { id } = await newExport(home, { name: `Export ${hostile}`, ...body });
  return {
    id: id as string,
    page: visitor.page,
    address: pageOf(id),
    send: (method: string, path: string, sent: unknown = {}) =>
      world.harness.request(method, `${projectBase(home)}${id}/${path}`, {
        key: home.key,
        body: sent,
      }),
  };
}

test('an export is paused, resumed, and deleted once its name is typed', { skip }, async () => {
  const name = `Export  of two blanks ${hostile}`;
  const { page, address, id, send } = await open({ name });
  await goTo(page, `${address}/settings`);
  const pause = page.getByRole('button', { name: 'Pause the export' });
  await pause.waitFor();
  // A run that the page does not know of yet is nobody's change; another interval is.
  const interval = (wanted: string) => send('PATCH', '', { interval: wanted });
  assert.equal((await interval('day')).status, 200);
  await pause.click();
  await page.getByText('Somebody changed this since you opened it').waitFor();
  await page.reload();
  await pause.waitFor();
  await insertRunRow(world.harness, id, { status: 'Completed' });
  await pause.click();
  await page.getByText('The export is paused.').waitFor();
  await page.getByText('No runs are planned since').waitFor();
  if (is_deep) await checkEverywhere(page, 'export_settings');
  await page.getByRole('button', { name: 'Resume the export' }).click();
  await page.getByText('The export is resumed.').waitFor();
  await page.getByRole('button', { name: 'Delete the export' }).click();
  const dialog = page.getByRole('dialog', { name: 'Delete the export?' });
  await dialog.getByRole('textbox').fill('Export');
  await dialog.getByRole('button', { name: 'Delete the export' }).click();
  await dialog.getByText('exactly as it is written').waitFor();
  assert.deepEqual(await dialog.locator('.typed').allInnerTexts(), [name, name]);
  await dialog.getByRole('textbox').fill(name);
  await dialog.getByRole('button', { name: 'Delete the export' }).click();
  await page.waitForURL('**/exports');
  const row = await world.harness.deps.db.row<{ deleted_at: string | null }>(
    sql`SELECT deleted_at FROM batch_exports WHERE id = ${id}`,
  );
  assert.notEqual(row?.deleted_at ?? 'gone', null);
});

test('a running repair is aborted; a missing export says so', { skip }, async () => {
  const { page, address, send } = await open();
  const asked = await send('POST', 'backfill/', {
    start_at: '2026-01-01T00:00:00Z',
    end_at: '2026-01-02T00:00:00Z',
    by: 'inserted_at',
  });
  await goTo(page, `${address}?backfill=${asked.body.backfill.id}`);
  const repair = page.getByRole('region', { name: 'Backfill' });
  await repair.getByText('Waiting').waitFor();
  await repair.getByRole('button', { name: 'Abort' }).click();
  const asking = page.getByRole('dialog', { name: 'Abort this backfill?' });
  await asking.getByRole('button', { name: 'Let it continue' }).click();
  await repair.getByText('Waiting').waitFor();
  await repair.getByRole('button', { name: 'Abort' }).click();
  await asking.getByRole('button', { name: 'Abort the backfill' }).click();
  await repair.getByText('Cancelled', { exact: true }).waitFor();
  await repair.getByRole('button', { name: 'Abort' }).waitFor({ state: 'detached' });
  // Nobody counts it here, where there is no analytics store.
  await repair.getByRole('button', { name: 'Deliver the rest' }).waitFor();
  assert.ok(visitor.complaints.splice(0).every((one) => one.includes('status of 503')));
  await goTo(page, address.replace(/.{12}$/, '000000000000'));
  const alert = page.getByRole('alert');
  await alert.getByText('There is no such export: it was deleted, or you may not').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Try again' }).count(), 0);
  await alert.getByRole('link', { name: 'The exports of this project' }).waitFor();
  // The list that cannot be read is asked the rules of axe-core, and says it in the same way.
  await checkEverywhere(page, 'export_missing', []);
});

test(
  'a map says that a backfill by event time failed, however far its slots are',
  { skip },
  async () => {
    const { page, address, id: export_id, send } = await open();
    const asked = await send('POST', 'backfill/', {
      start_at: '2026-01-01T00:00:00Z',
      end_at: '2026-01-02T00:00:00Z',
    });
    const { id } = asked.body.backfill;
    await world.harness.deps.db.run(sql`UPDATE batch_export_backfills
    SET status = 'Failed', finished_at = now() WHERE id = ${id}::uuid`);
    await goTo(page, address);
    const note = page.getByRole('note').filter({ hasText: 'by event time' });
    await note.getByText('1 backfill by event time failed.').waitFor();
    await checkEverywhere(page, 'backfill_failed', []);
    await note.getByRole('link', { name: 'The failed runs' }).click();
    await page.waitForURL('**/runs?status=failed');
    // Its status stays when what had failed is delivered by a retry.
    await world.harness.deps.db.run(sql`UPDATE batch_export_backfills SET total_runs = 1
    WHERE id = ${id}::uuid`);
    await endedRun(world.harness, export_id, completed, { rows: 3, backfill_id: id });
    await page.goto(address);
    await page.getByRole('list', { name: 'Slots in view' }).waitFor();
    assert.equal(await note.count(), 0);
    await goTo(page, `${address}?backfill=${id}`);
    await page.getByText(/^Events that happened from 2026-01-01 00:00/).waitFor();
  },
);

test('a backfill is asked for by typing its dates', { skip }, async () => {
  const { page, address } = await open();
  await goTo(page, address);
  await page.getByRole('link', { name: 'Backfill', exact: true }).click();
  const repair = page.getByRole('region', { name: 'Backfill' });
  await repair.waitFor();
  assert.match(await focused(page), /^From \(UTC\)/);
  await page.getByLabel('From (UTC)').fill('2099-01-01T01:00');
  const until = page.getByLabel('Until (UTC)');
  const early = repair.getByText('This time must be after the start.');
  const plan = repair.getByText('This range is in the future');
  await until.fill('2099-01-01T00:30');
  await repair.getByRole('button', { name: 'Count rows' }).click();
  await early.waitFor();
  await until.fill('2099-01-01T02:00');
  await until.press('Enter');
  await plan.waitFor();
  // A text that cannot be read leaves no earlier fault, and no earlier range to be delivered.
  await until.fill('soon');
  await until.press('Enter');
  await repair.getByText('Type a day and a time').waitFor();
  assert.equal((await early.count()) + (await plan.count()), 0);
  assert.match(await focused(page), /^Until/);
  await page.waitForURL('**selected_from=2099-01-01T01*selected_to=2099-01-01T02*');
  assert.doesNotMatch(page.url(), /backfill/);
});

test('the timeline has what happened, and what a change made of what', { skip }, async () => {
  const { page, address, id, send } = await open();
  await send('PATCH', '', { name: `Renamed ${hostile}` });
  await send('POST', 'pause/');
  await endedRun(world.harness, id, failed);
  await goTo(page, `${address}/timeline`);
  const stream = page.locator('.stream > li');
  await stream.filter({ hasText: /1 run: Failed/ }).waitFor();
  assert.match(
    (await stream.filter({ hasText: 'Updated' }).textContent())!,
    /Name: Export <img.*Renamed <img/,
  );
  await checkEverywhere(page, 'export_timeline');
  // Also where the system chooses the colours, the tab that is shown is another than its neighbour.
  await page.emulateMedia({ forcedColors: 'active' });
  const edgeOf = (tab: string) =>
    page.evaluate<string>(`getComputedStyle(document.querySelector('${tab}')).borderBottomColor`);
  const [shown, other_tab] = ['.tabs [data-status=active]', '.tabs :not([data-status=active])'];
  assert.notEqual(await edgeOf(shown), await edgeOf(other_tab));
  await page.emulateMedia({ forcedColors: null });
  await page.getByLabel('Show').selectOption('Pauses');
  await page.waitForURL('**/timeline?type=pause');
  await stream.filter({ hasText: /Failed/ }).waitFor({ state: 'detached' });
  assert.match((await stream.textContent())!, /Paused/);
  assert.doesNotMatch(await page.title(), /^taken/);
});

test('a run tells its refused rows, and has them delivered again', { skip }, async () => {
  const { page, address, id } = await open();
  const run_id = await insertRunRow(world.harness, id, { status: 'Completed', total: 40 });
  await world.harness.deps.db.run(sql`UPDATE batch_export_runs
    SET records_completed = 38, records_rejected = 2 WHERE id = ${run_id}`);
  await goTo(page, `${address}/runs`);
  await page.getByText('38 2 refused').waitFor();
  await goTo(page, `${address}/runs/${run_id}`);
  await page.getByText('The destination refused 2 rows: they are set aside').waitFor();
  await checkEverywhere(page, 'export_run_refused');
  await page.getByRole('button', { name: 'Deliver refused rows again' }).click();
  // Without a receipt: the API says that there is none to go by.
  await page.getByText('The run has not completed').waitFor();
});

test('metrics are charts and a table; dragging looks closer', { skip }, async () => {
  const { page, address, id } = await open({ interval: 'every 5 minutes' });
  await world.harness.deps.db.run(sql`
    INSERT INTO batch_export_runs (id, batch_export_id, team_id, revision, delivery_id, status,
      data_interval_start, data_interval_end, selection, created_at, started_at, finished_at,
      records_total_count, records_completed, bytes_completed)
    SELECT made.id, ${id}, e.team_id, 1, made.id, 'Completed', at, at + interval '5 minutes', '[]',
      at + interval '6 minutes', at + interval '6 minutes',
      at + interval '6 minutes 20 seconds', n * 10, n * 10, n * 2000
    FROM generate_series(1, 24) n
      CROSS JOIN LATERAL (SELECT gen_random_uuid() AS id,
        '2026-01-01Z'::timestamptz + n * interval '5 minutes' AS at WHERE n > 0) made
      JOIN batch_exports e ON e.id = ${id}`);
  await goTo(page, `${address}/metrics?from=2026-01-01T00:00:00Z&to=2026-01-01T03:00:00Z`);
  await page.getByText('Each point is a run').waitFor();
  const chart = page.locator('.chart .u-over').first();
  await chart.waitFor();
  await page.getByText('The same as a table').click();
  assert.equal(await page.locator('.cards tbody tr').count(), 24);
  assert.match(
    (await page.locator('.cards tbody tr').first().textContent())!,
    /240.*48\.0 kB.*20 s/,
  );
  await checkEverywhere(page, 'export_metrics');
  // Hovering scrolls the chart into view and waits until it stands still.
  await chart.hover();
  const { width } = (await chart.boundingBox())!;
  await chart.hover({ position: { x: width * 0.5, y: 40 } });
  await page.mouse.down();
  await chart.hover({ position: { x: width * 0.6, y: 40 } });
  await chart.hover({ position: { x: width * 0.75, y: 40 } });
  await page.mouse.up();
  await page.waitForURL((url) => url.searchParams.get('from')!.startsWith('2026-01-01T01'));
  await page.locator('.cards tbody tr').nth(8).waitFor({ state: 'detached' });
});

test('all matching runs are retried, and each has its result', { skip }, async () => {
  const { page, address, id } = await open({ paused: true });
  for (let hour = 0; hour < 5; hour += 1)
    await insertRunRow(world.harness, id, { status: 'Failed', hour });
  await goTo(page, `${address}/runs?status=failed&after=2026-01-01T02:00:00Z`);
  await page.getByRole('button', { name: 'Retry all that match' }).click();
  await page.getByText('3 runs of this export match now').waitFor();
  await checkEverywhere(page, 'export_bulk');
  await page.getByRole('button', { name: 'Retry 3 runs' }).click();
  await page.waitForURL('**action=*');
  await workBulkActions(world.harness.deps);
  const panel = page.getByRole('region', { name: 'Many runs' });
  await panel.getByText('Result of each').click();
  await panel.getByText('3 results').waitFor();
  await panel.getByRole('listitem').filter({ hasText: ': Done' }).nth(2).waitFor();
  if (is_deep) await checkEverywhere(page, 'export_bulk_done');
  const { count } = (await world.harness.deps.db.row<{ count: number }>(sql`
    SELECT count(*) AS count FROM batch_export_runs
    WHERE batch_export_id = ${id} AND status = 'Starting'`))!;
  assert.equal(count, 3);
});

test('notices have what was sent and each attempt, and are sent again', { skip }, async () => {
  const { exported } = await openWebhook(world.harness, receiver, {}, home);
  receiver.plan({ status: 500 });
  await endedRun(world.harness, exported.id, failed);
  const deliver = () => sendDueNotices({ ...world.harness.deps, public_url: world.server.address });
  await deliver();
  const { page } = visitor;
  await goTo(page, `${pageOf(exported.id)}/notices`);
  const first = page.locator('.records > li').filter({ hasText: 'to a webhook' });
  await first.getByText('Failing', { exact: true }).waitFor();
  await first.getByText('after 1 attempt').waitFor();
  await first.getByText('Content and attempts').click();
  await first.getByText('failed, status 500').waitFor();
  await first.getByRole('region', { name: 'Body of the notice' }).getByText('failing').waitFor();
  await checkEverywhere(page, 'export_notices');
  await first.getByRole('button', { name: 'Send again' }).click();
  await first.getByText('Sluice sends it again.').waitFor();
  assert.match(await focused(page), /^Send again/);
  await deliver();
  await first.getByText('Delivered', { exact: true }).waitFor();
});
