import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import sql from 'sql-template-tag';
import type { Harness, TestOrganization } from '../../test/harness.ts';
import { openPageServer } from '../../test/console/page_server.ts';
import type { PageServer } from '../../test/console/page_server.ts';
import { checkEverywhere, openSignedIn } from '../../test/console/visitor.ts';
import { newPerson, openTestClock, password } from '../../test/factories/people.ts';
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
  await create(home, 'Second');
  await page.reload();
  const row = page.getByRole('row').filter({ hasText: hostile });
  assert.match((await row.textContent())!, /Active.*none yet.*events.*File.*hour/);
  assert.doesNotMatch(await page.title(), /taken/);
  await checkEverywhere(page, 'exports');

  const path = `/api/projects/${home.project.id}/batch_exports/${id}/pause/`;
  assert.equal((await harness.request('POST', path, { key: home.key })).status, 200);
  await page.reload();
  await row.getByText('Paused').waitFor();
  await leave();
});

test('the address tells the page of a long list, also to a colleague', { skip }, async () => {
  const home = await harness.newOrganization();
  const first = await create(home, 'The first of all');
  await harness.deps.db.run(sql`
    INSERT INTO batch_exports
    SELECT (jsonb_populate_record(e, jsonb_build_object('id', gen_random_uuid(),
      'name', 'Copy ' || n, 'created_at', e.created_at + n * interval '1 second'))).*
    FROM batch_exports e, generate_series(1, 60) n WHERE e.id = ${first}::uuid`);
  const { page, leave } = await openSignedIn(browser, server, home.user);
  await page.goto(`/projects/${home.project.id}/exports`);
  await page.getByText('Copy 60').waitFor();
  assert.equal(await page.getByText('The first of all').count(), 0);
  await page.getByRole('button', { name: 'next page' }).click();
  await page.getByText('The first of all').waitFor();
  assert.equal(new URL(page.url()).search, '?page=2');
  await page.reload();
  await page.getByText('The first of all').waitFor();
  await leave();
});

test('what cannot be read says why, and is asked for again', { skip }, async () => {
  const home = await harness.newOrganization();
  await create(home, 'Still there');
  const { page, context } = await openSignedIn(browser, server, home.user);
  let is_broken = true;
  await context.route('**/batch_exports/*', (route) =>
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
  const address = `${server.address}/projects/${project.id}/exports?page=2`;
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
