import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { newPerson, openTestClock, password } from '../factories/people.ts';
import { startChromium } from '../processes/chromium.ts';
import { openPageServer } from './page_server.ts';
import type { PageServer } from './page_server.ts';
import { openVisitor } from './visitor.ts';

const started = await startChromium();
const skip = typeof started === 'string' ? started : false;
const browser = started as Browser;

let server: PageServer;
before(async () => {
  server = await openPageServer(openTestClock(), {
    base_path: '/sluice',
    config: { gitlab_client_id: 'id', gitlab_client_secret: 'secret' },
  });
});
after(async () => {
  if (skip === false) await browser.close();
  await server.close();
});

test('the console works below a path, from the sign-in to a reload', { skip }, async () => {
  const { harness, address } = server;
  const user = await newPerson(harness);
  // Whatever is asked for outside of the path is a complaint.
  const { page, leave } = await openVisitor(browser, address);
  await page.goto(`${address}/account`);
  await page.waitForURL(`${address}/login?next=%2Faccount`);
  assert.equal(
    await page.getByRole('link', { name: 'Continue with GitLab' }).getAttribute('href'),
    '/sluice/login/gitlab/?next=%2Faccount',
  );
  await page.getByLabel('E-mail address').fill(user.email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.waitForURL(`${address}/account`);
  await page.reload();
  await page.getByText(`You are signed in as ${user.email}`).waitFor();
  await page.getByRole('button', { name: 'As curl' }).click();
  await page.getByText(`'${address}/api/users/@me/'`).waitFor();
  await page.goto(address);
  await page.waitForURL(`${address}/account`);
  await leave();
});

test('the server takes the path off, or does without where the proxy has', async () => {
  const { harness } = server;
  const { key, organization } = await harness.newOrganization();
  const get = (path: string) => harness.request('GET', path, { key });
  for (const base of ['', '/sluice']) {
    const { status, body } = await get(`${base}/api/organizations/${organization.id}/`);
    assert.deepEqual([status, body.id], [200, organization.id], base);
    const listed = await get(`${base}/api/projects/@current/batch_exports/?limit=1&offset=1`);
    assert.equal(
      listed.body.previous,
      `${server.address}/api/projects/@current/batch_exports/?limit=1&offset=0`,
    );
    assert.equal(
      (await get(`${base}/api/organizations`)).headers['location'],
      '/sluice/api/organizations/',
    );
    const page = await harness.request('GET', `${base}/login`, {
      headers: { accept: 'text/html' },
    });
    assert.ok(page.text.includes('<base href="/sluice/" />'));
  }
  for (const path of ['/sluicex/api/organizations/', '/sluice/sluice/api/organizations/'])
    assert.equal((await get(path)).status, 404, path);
});
