import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import sql from 'sql-template-tag';
import type { Harness, TestOrganization } from '../../test/harness.ts';
import { openPageServer } from '../../test/console/page_server.ts';
import type { PageServer } from '../../test/console/page_server.ts';
import { checkEverywhere, openSignedIn } from '../../test/console/visitor.ts';
import { completed, endedRun, failed } from '../../test/factories/ended_runs.ts';
import { newPerson, openTestClock, password } from '../../test/factories/people.ts';
import { workBulkActions } from '../../server/api/batch_exports/bulk_actions/work.ts';
import { startChromium } from '../../test/processes/chromium.ts';

const started = await startChromium();
const skip = typeof started === 'string' ? started : false;
const browser = started as Browser;

let server: PageServer;
let harness: Harness;
before(async () => {
  server = await openPageServer(openTestClock());
  ({ harness } = server);
});
after(async () => {
  if (skip === false) await browser.close();
  await server.close();
});

const hostile = `<img src=x onerror="document.title='taken'"> & "more"`;

async function create(home: TestOrganization, name: string): Promise<string> {
  const { status, body } = await harness.request(
    'POST',
    `/api/projects/${home.project.id}/batch_exports/`,
    {
      key: home.key,
      body: {
        name,
        interval: 'hour',
        destination: { type: 'File', config: { prefix: 'list' } },
      },
    },
  );
  assert.equal(status, 201, JSON.stringify(body));
  return body.id as string;
}

test('the list says how each export stands, and follows what changes', { skip }, async () => {
  const home = await harness.newOrganization();
  const { page, leave } = await openSignedIn(browser, server, home.user);
  await page.goto(`/projects/${home.project.id}/exports`);
  await page.getByText('No exports yet.').waitFor();
  await checkEverywhere(page, 'exports_empty');

  const id = await create(home, `Events ${hostile}`);
  const second = await create(home, 'Second');
  for (const rows of [90, 120, 40, 130]) await endedRun(harness, second, completed, { rows });
  await endedRun(harness, second, { ...failed, message: hostile });
  await page.reload();
  const row = page.getByRole('row').filter({ hasText: `Events ${hostile}` });
  assert.match((await row.textContent())!, /Waiting for its first run.*events.*File.*hour/);
  const failing = page.getByRole('row').filter({ hasText: 'Second' });
  assert.ok((await failing.textContent())!.includes(`Failing, now${hostile}`));
  await failing
    .getByRole('img', { name: 'Rows of the latest 4 runs: at most 130, now 130' })
    .waitFor();
  assert.doesNotMatch(await page.title(), /taken/);
  await checkEverywhere(page, 'exports');

  const path = `/api/projects/${home.project.id}/batch_exports/${id}/pause/`;
  assert.equal((await harness.request('POST', path, { key: home.key })).status, 200);
  await page.reload();
  await row.getByText('Paused').waitFor();
  await leave();
});

/** Adds copies of an export, `Copy 1` and so on, each newer than the one before. */
const addCopies = (of: string, count: number) =>
  harness.deps.db.run(sql`
    INSERT INTO batch_exports
    SELECT (jsonb_populate_record(e, jsonb_build_object('id', gen_random_uuid(),
      'name', 'Copy ' || n, 'created_at', e.created_at + n * interval '1 second'))).*
    FROM batch_exports e, generate_series(1, ${count}) n WHERE e.id = ${of}::uuid`);

test(
  'of ten thousand exports those in the window are drawn, and all are found',
  { skip },
  async () => {
    const home = await harness.newOrganization();
    await addCopies(await create(home, 'The first of all'), 9_999);
    const { page, leave } = await openSignedIn(browser, server, home.user);
    await page.goto(`/projects/${home.project.id}/exports`);
    await page.getByText('Copy 9999', { exact: true }).waitFor();
    await page.getByText('10,000 exports').waitFor();
    assert.ok((await page.getByRole('row').count()) < 60);
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
    await page.getByLabel('Health').selectOption('failing');
    await page.getByText('No exports that fit.').waitFor();
    await leave();
  },
);

test('many are paused, resumed and deleted, also those not on the screen', { skip }, async () => {
  const home = await harness.newOrganization();
  await addCopies(await create(home, `Kept ${hostile}`), 150);
  const { page, leave } = await openSignedIn(browser, server, home.user);
  const states = async () =>
    (
      await harness.deps.db.row<{ states: string }>(sql`
        SELECT string_agg(DISTINCT paused::text, ',') || ' ' || count(*) AS states
        FROM batch_exports WHERE team_id = ${home.project.id} AND deleted_at IS NULL`)
    )?.states;
  const button = (name: string) => page.getByRole('button', { name });
  const work = async (detail: RegExp) => {
    await workBulkActions(harness.deps);
    await page.getByRole('region', { name: 'Many exports' }).getByText(detail).waitFor();
  };
  await page.goto(`/projects/${home.project.id}/exports`);
  await button('Select all').click();
  await page.getByText('151 exports of 151 selected').waitFor();
  await checkEverywhere(page, 'exports_selected');
  await button('Pause 151 exports').click();
  await page.waitForURL(/action=/);
  await work(/151/);
  assert.equal(await states(), 'true 151');
  await page.getByRole('row').filter({ hasText: 'Copy 150' }).getByText('Paused').waitFor();
  await checkEverywhere(page, 'exports_paused');
  await page.reload();
  await page.getByRole('region', { name: 'Many exports' }).waitFor();
  await button('Close').click();
  await button('Select all').click();
  await button('Resume 151 exports').click();
  await page.waitForURL(/action=/);
  await work(/151/);
  assert.equal(await states(), 'false 151');

  await button('Close').click();
  await page.getByLabel('Search by name').fill('Copy');
  await page.getByText('150 exports').waitFor();
  await button('Select all').click();
  await button('Delete…').click();
  const dialog = page.getByRole('dialog');
  assert.equal(await dialog.getByRole('button', { name: /^Delete 150/ }).count(), 0);
  await checkEverywhere(page, 'exports_delete');
  await dialog.getByLabel('Type "delete 150" to go on').fill('delete 150');
  await dialog.getByRole('button', { name: /^Delete 150/ }).click();
  await page.waitForURL(/action=/);
  await work(/150/);
  assert.equal(await states(), 'false 1');
  await leave();
});

test('what cannot be read says why, and is asked for again', { skip }, async () => {
  const home = await harness.newOrganization();
  await create(home, 'Still there');
  const { page, context } = await openSignedIn(browser, server, home.user);
  let is_broken = true;
  await context.route('**/overview/*', (route) =>
    is_broken ? route.fulfill({ status: 503, body: 'no' }) : route.continue(),
  );
  await page.goto(`/projects/${home.project.id}/exports`);
  await page.getByText('The server answered with the status 503').waitFor();
  await checkEverywhere(page, 'exports_broken');
  is_broken = false;
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('Still there').waitFor();
  await context.close();
});

test('an ended session asks to sign in, and leads back to the same view', { skip }, async () => {
  const { organization, project } = await harness.newOrganization();
  const person = await newPerson(harness);
  await harness.deps.db.run(sql`INSERT INTO members (id, organization_id, user_id, level)
    VALUES (gen_random_uuid(), ${organization.id}::uuid, ${person.id}, 1)`);
  const { page, leave } = await openSignedIn(browser, server, person);
  const address = `${server.address}/projects/${project.id}/exports?search=x`;
  await page.clock.install();
  await page.goto(address);
  await page.getByText('No exports').waitFor();
  await harness.deps.db.run(sql`DELETE FROM sessions WHERE user_id = ${person.id}`);
  // The page finds out by itself, when it looks again.
  await page.clock.fastForward(31_000);
  await page.waitForURL('**/login?next=*');
  await page.getByLabel('E-mail address').fill(person.email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.waitForURL(address);
  await page.getByText('No exports').waitFor();
  await leave();
});
