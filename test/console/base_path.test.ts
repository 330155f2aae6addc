import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newPerson, password } from '../factories/people/people.ts';
import { openConsole } from './open_console.ts';

const world = openConsole({
  base_path: '/sluice',
  config: { gitlab_client_id: 'id', gitlab_client_secret: 'secret' },
});
const { skip } = world;

test('the console works below a path, from the sign-in to a reload', { skip }, async () => {
  const { address } = world.server;
  const user = await newPerson(world.harness);
  // Whatever is asked for outside of the path is a complaint.
  const { page, leave } = await world.visit();
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
  const { key, organization } = await world.harness.newOrganization();
  const get = (path: string) => world.harness.request('GET', path, { key });
  for (const base of ['', '/sluice']) {
    const { status, body } = await get(`${base}/api/organizations/${organization.id}/`);
    assert.deepEqual([status, body.id], [200, organization.id], base);
    const listed = await get(`${base}/api/projects/@current/batch_exports/?limit=1&offset=1`);
    assert.equal(
      listed.body.previous,
      `${world.server.address}/api/projects/@current/batch_exports/?limit=1&offset=0`,
    );
    assert.equal(
      (await get(`${base}/api/organizations`)).headers['location'],
      '/sluice/api/organizations/',
    );
    const page = await world.harness.request('GET', `${base}/login`, {
      headers: { accept: 'text/html' },
    });
    assert.ok(page.text.includes('<base href="/sluice/" />'));
  }
  for (const path of ['/sluicex/api/organizations/', '/sluice/sluice/api/organizations/'])
    assert.equal((await get(path)).status, 404, path);
});
