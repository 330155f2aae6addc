// Length: all pages of the list share one browser and its harness.
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import type { Page } from 'playwright-core';
import sql from 'sql-template-tag';
import type { TestOrganization } from '../../../test/harness.ts';
import { inDepth, is_deep } from '../../../test/depth.ts';
import { goTo } from '../../../test/console/go_to.ts';
import { checkColumns, checkScale } from '../../../test/console/scale.ts';
import { checkEverywhere, untilInPage } from '../../../test/console/visitor.ts';
import type { Visitor } from '../../../test/console/visitor.ts';
import { completed, endedRun, failed } from '../../../test/factories/batch_exports/ended_runs.ts';
import { manageByCode } from '../../../test/factories/configurations.ts';
import { newPerson, password } from '../../../test/factories/people/people.ts';
import { workBulkActions } from '../../../server/api/batch_exports/bulk_actions/work.ts';
import { openConsole } from '../../../test/console/open_console.ts';

let organization: TestOrganization;
/** Whoever looks at the lists, all of them within one document. */
let visitor: Visitor;
const world = openConsole({
  opened: async (harness) => {
    organization = await harness.newOrganization();
    if (world.skip === false) visitor = await world.visit(organization.user);
  },
  closing: async () => visitor?.close(),
});
const { skip } = world;
afterEach(() => assert.deepEqual(visitor?.complaints.splice(0) ?? [], []));

const hostile = `<img src=x onerror="document.title='taken'"> & "more"`;
const hostile_tag = '<b onclick="x">& "more"</b>';

/** Another project of the organization, and who has the console open for it. */
async function newList(
  name: string,
): Promise<{ home: TestOrganization; page: Page; list: string }> {
  const { key } = organization;
  const created = await world.harness.request('POST', '/api/projects/', { key, body: { name } });
  assert.equal(created.status, 201, created.text);
  const home = { ...organization, project: created.body };
  return { home, page: visitor.page, list: `/projects/${created.body.id}/exports` };
}

async function create(home: TestOrganization, name: string, tags: string[] = []): Promise<string> {
  const { status, body } = await world.harness.request(
    'POST',
    `/api/projects/${home.project.id}/batch_exports/`,
    {
      key: home.key,
      body: {
        name,
        interval: 'hour',
        tags,
        destination: { type: 'File', config: { prefix: 'list' } },
      },
    },
  );
  assert.equal(status, 201, JSON.stringify(body));
  return body.id as string;
}

test('the list is filtered by a tag, which a row names and a view keeps', { skip }, async () => {
  const { home, page, list } = await newList('Tagged');
  await create(home, 'Ledger', ['finance', hostile_tag]);
  await create(home, 'Clicks');
  await goTo(page, list);
  await page
    .getByRole('row')
    .filter({ hasText: 'Ledger' })
    .getByText(`finance, ${hostile_tag}`)
    .waitFor();
  await page.getByLabel('Tag', { exact: true }).selectOption({ label: 'finance (1)' });
  await page.getByText('1 export', { exact: true }).waitFor();
  await page.getByRole('row').filter({ hasText: 'Clicks' }).waitFor({ state: 'detached' });
  assert.equal(new URL(page.url()).searchParams.get('tag'), 'finance');
  await page.getByRole('button', { name: 'Save view' }).click();
  await page.getByLabel('Name of the view').fill('Money');
  await page.getByRole('button', { name: 'Save view' }).click();
  await page.getByRole('button', { name: 'Money' }).click();
  await page.getByRole('row').filter({ hasText: 'Clicks' }).waitFor();
  await checkEverywhere(page, 'exports_tagged');
});

test('the list shows the state of each export, and follows changes', { skip }, async () => {
  await goTo(visitor.page, (await newList('Empty')).list);
  await visitor.page.getByText('No exports yet').waitFor();
  await checkEverywhere(visitor.page, 'exports_empty');

  const long_name = 'Health '.padEnd(100, 'long');
  const { home, page, list } = await newList(long_name);
  const id = await create(home, `Events ${hostile}`);
  const second = await create(home, 'Second');
  for (const rows of [90, 120, 40, 130]) await endedRun(world.harness, second, completed, { rows });
  await endedRun(world.harness, second, { ...failed, message: hostile });
  // It asked the destination for nothing, so whether that works is as unknown as before.
  await endedRun(world.harness, second, completed, { rows: 0 });
  await manageByCode(world.harness, home, id);
  await goTo(page, list);
  const row = page.getByRole('row').filter({ hasText: `Events ${hostile}` });
  assert.match((await row.textContent())!, /Waiting for the schedule.*events.*File.*Every hour/);
  const managed = { name: 'Managed by the configuration warehouse' };
  await row.getByRole('img', managed).waitFor();
  assert.equal(await page.getByRole('img', managed).count(), 1);
  const failing = page.getByRole('row').filter({ hasText: 'Second' });
  assert.match((await failing.textContent())!, /Failing since \d\d:\d\d/);
  assert.ok((await failing.textContent())!.includes(`1 interval, 0 rows waiting. ${hostile}`));
  assert.ok((await failing.textContent())!.includes('380'));
  // The number of exports that need attention is in the navigation and in the tab.
  await page.getByRole('link', { name: 'Exports 1 need attention' }).waitFor();
  assert.match(await page.title(), /^\(1\) Exports/);
  const chips = page.getByRole('group', { name: 'States' });
  assert.equal(await chips.textContent(), 'Failing 1Waiting for the schedule 1');
  await failing
    .getByRole('img', { name: 'Rows of the latest 5 runs: at most 130, now 0' })
    .waitFor();
  assert.doesNotMatch(await page.title(), /taken/);
  await page.getByRole('button', { name: 'Select all' }).click();
  await page.getByText('2 exports of 2 selected').waitFor();
  await checkEverywhere(page, 'exports');
  await checkColumns(page);

  const path = `/api/projects/${home.project.id}/batch_exports/${id}/pause/`;
  assert.equal((await world.harness.request('POST', path, { key: home.key })).status, 200);
  await page.reload();
  await row.getByText('Paused').waitFor();
  // A long name takes one line of the navigation, and pointing at it shows the whole.
  const switcher = await page.getByTitle(long_name).boundingBox();
  assert.ok(switcher!.height < 30, String(switcher!.height));

  // The export's own page says the same.
  await failing.getByRole('link').click();
  await page.locator('.standing').getByText('events to Files on the server').waitFor();
  await page.locator('.standing').getByText('Every hour').waitFor();
  await page.locator('.standing').getByText('Failing').waitFor();
  const standing = (await page.locator('.standing').textContent())!;
  assert.match(standing, /^Failing since \d\d:\d\d.*: 1 interval, 0 rows waiting\. /);
  assert.ok(standing.includes(hostile));
  await checkEverywhere(page, 'export_failing');
});

/** Adds copies of an export, `Copy 1` and so on, each newer than the one before. */
const addCopies = (of: string, count: number) =>
  world.harness.deps.db.run(sql`
    INSERT INTO batch_exports
    SELECT (jsonb_populate_record(e, jsonb_build_object('id', gen_random_uuid(),
      'name', 'Copy ' || n, 'created_at', e.created_at + n * interval '1 second'))).*
    FROM batch_exports e, generate_series(1, ${count}) n WHERE e.id = ${of}::uuid`);

test('a long list draws only the exports in the window, and finds them all', { skip }, async () => {
  const count = inDepth(300, 10_000);
  const { home, page, list } = await newList('Many');
  await addCopies(await create(home, 'The first of all'), count - 1);
  await goTo(page, `${list}?ordering=-created_at`);
  await page.getByText(`Copy ${count - 1}`, { exact: true }).waitFor();
  await page.getByText(`${count.toLocaleString('en')} exports`).waitFor();
  assert.ok((await page.getByRole('row').count()) < 60);
  // On paper there are more.
  await page.evaluate("dispatchEvent(new Event('beforeprint'))");
  await page.getByText('Copy 10', { exact: true }).waitFor();
  await page.emulateMedia({ media: 'print' });
  await untilInPage(page, "document.querySelector('.export_rows').offsetHeight > 44 * 200");
  await page.emulateMedia({ media: null });
  await page.evaluate("dispatchEvent(new Event('afterprint'))");
  await page.getByText('Copy 10', { exact: true }).waitFor({ state: 'detached' });
  await page.keyboard.press('End');
  await page.getByText('The first of all').waitFor();
  await page.getByLabel('Order').selectOption('created_at');
  await page.waitForURL(/ordering=created_at/);
  await page.getByLabel('Search by name').fill('first OF');
  await page.waitForURL(/search=first/);
  await page.getByText('1 export', { exact: true }).waitFor();
  await page.reload();
  await page.getByText('The first of all').waitFor();
  assert.equal(await page.getByLabel('Search by name').inputValue(), 'first OF');
  await page.getByRole('button', { name: 'Save view' }).click();
  await page.getByLabel('Name of the view').fill('Mine');
  await page.getByRole('button', { name: 'Save view' }).click();
  const view = page.getByRole('button', { name: 'Mine' });
  await goTo(page, list);
  await view.click();
  await page.getByText('1 export', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Remove view' }).click();
  await view.waitFor({ state: 'detached' });
  // A button that ends a search empties its field, which would search again.
  await page.getByLabel('Search by name').fill('of nothing');
  await page.getByRole('button', { name: 'Show all exports' }).click();
  assert.equal(await page.getByLabel('Search by name').inputValue(), '');
  await page.getByText(`${count.toLocaleString('en')} exports`).waitFor();
  await goTo(page, `${list}?health=failing`);
  await page.getByText('No exports match').waitFor();
  await page.getByRole('button', { name: /^Failing 0/ }).click();
  await page.getByText(`${count.toLocaleString('en')} exports`).waitFor();
  // The page names the faults of its address.
  await goTo(page, `${list}?health=weather`);
  await page.getByRole('alert').filter({ hasText: 'health: Must be one of' }).waitFor();
});

test('many are paused, resumed and deleted, also those not on the screen', { skip }, async () => {
  const { home, page, list } = await newList('Bulk');
  await addCopies(await create(home, `Kept ${hostile}`), 30);
  const states = async () =>
    (
      await world.harness.deps.db.row<{ states: string }>(sql`
        SELECT string_agg(DISTINCT paused::text, ',') || ' ' || count(*) AS states
        FROM batch_exports WHERE team_id = ${home.project.id} AND deleted_at IS NULL`)
    )?.states;
  const button = (name: string) => page.getByRole('button', { name });
  const work = async (detail: RegExp) => {
    await workBulkActions(world.harness.deps);
    await page.getByRole('region', { name: 'Many exports' }).getByText(detail).waitFor();
  };
  await goTo(page, `${list}?ordering=-created_at`);
  await button('Select all').click();
  await page.getByText('31 exports of 31 selected').waitFor();
  assert.ok((await page.getByRole('row').count()) < 31);
  await checkScale(page);
  if (is_deep) await checkEverywhere(page, 'exports_selected');
  await button('Pause 31 exports').click();
  await page.waitForURL(/action=/);
  await work(/31/);
  assert.equal(await states(), 'true 31');
  await page.getByRole('row').filter({ hasText: 'Copy 30' }).getByText('Paused').waitFor();
  if (is_deep) await checkEverywhere(page, 'exports_paused');
  await button('Close').click();
  await button('Select all').click();
  await button('Resume 31 exports').click();
  await page.waitForURL(/action=/);
  await work(/31/);
  assert.equal(await states(), 'false 31');

  await button('Close').click();
  await page.getByLabel('Search by name').fill('Copy');
  await page.getByText('30 exports').waitFor();
  await button('Select all').click();
  await button('Delete 30 exports').click();
  const dialog = page.getByRole('dialog', { name: 'Delete 30 exports?' });
  await dialog.getByRole('button', { name: /^Delete 30/ }).click();
  await dialog.getByText('exactly as it is written').waitFor();
  if (is_deep) await checkEverywhere(page, 'exports_delete');
  await dialog.getByRole('textbox').fill('delete 30');
  await dialog.getByRole('button', { name: /^Delete 30/ }).click();
  await page.waitForURL(/action=/);
  await work(/30/);
  assert.equal(await states(), 'false 1');
  await page.reload();
  await page.getByRole('region', { name: 'Many exports' }).waitFor();
});

test('a tick in one project does not tick anything in another', { skip }, async () => {
  const [first, second] = [await newList('Ticked'), await newList('Not ticked')];
  await addCopies(await create(first.home, 'One of three'), 2);
  await create(second.home, 'The only one');
  const { page } = visitor;
  // Both are known before anything is ticked, so nothing is waited for in between.
  for (const [{ list }, shown] of [
    [first, 'One of three'],
    [second, 'The only one'],
    [first, 'One of three'],
  ] as const) {
    await goTo(page, list);
    await page.getByText(shown).waitFor();
  }
  await page.getByRole('button', { name: 'Select all' }).click();
  await page.getByText('3 exports of 3 selected').waitFor();
  await goTo(page, second.list);
  await page.getByText('The only one').waitFor();
  await page.getByText('1 export', { exact: true }).waitFor();
  assert.equal(await page.getByRole('button', { name: /^Delete/ }).count(), 0);
});

test('a list that cannot be read says why, and retries', { skip }, async () => {
  const { home, page, list } = await newList('Broken');
  await create(home, 'Still there');
  let is_broken = true;
  // A proxy answers in place of the server. With 503 the page would retry for seven seconds first.
  await page.route('**/overview/*', (route) =>
    is_broken ? route.fulfill({ status: 429, body: 'no' }) : route.continue(),
  );
  await goTo(page, list);
  await page.getByText('The server answered with the status 429').waitFor();
  await checkEverywhere(page, 'exports_broken');
  is_broken = false;
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('Still there').waitFor();
  await page.unroute('**/overview/*');
});

test('an ended session asks to sign in, and leads back to the same view', { skip }, async () => {
  const { organization, project } = await world.harness.newOrganization();
  const person = await newPerson(world.harness);
  await world.harness.deps.db.run(sql`INSERT INTO members (id, organization_id, user_id, level)
    VALUES (gen_random_uuid(), ${organization.id}::uuid, ${person.id}, 1)`);
  const { page, context, complaints } = await world.visit(person);
  const address = `${world.server.address}/projects/${project.id}/exports?search=x`;
  await page.clock.install();
  await page.goto(address);
  await page.getByText('No exports').waitFor();
  await world.harness.deps.db.run(sql`DELETE FROM sessions WHERE user_id = ${person.id}`);
  // The page finds out by itself, when it looks again.
  await page.clock.fastForward(31_000);
  await page.waitForURL('**/login?next=*');
  await page.getByLabel('E-mail address').fill(person.email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.waitForURL(address);
  await page.getByText('No exports').waitFor();
  // Its clock is another for good: nobody else gets it.
  await context.close();
  assert.deepEqual(complaints, []);
});
