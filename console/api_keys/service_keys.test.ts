import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { openConsole } from '../../test/console/open_console.ts';
import { checkEverywhere } from '../../test/console/visitor.ts';

const world = openConsole();
const { skip } = world;
const hostile = `<img src=x onerror="document.title='taken'">`;

test('a service key is created, works, is rotated and revoked', { skip }, async () => {
  const { harness } = world;
  const home = await harness.newOrganization();
  const { page, leave } = await world.visit(home.user);
  await page.goto(`/organizations/${home.organization.id}/keys`);
  await page.getByText('No service keys').waitFor();
  await page.getByLabel('Name of the key').fill(hostile);
  await page.getByRole('button', { name: 'Create service key' }).click();
  await page.getByText('Choose at least one scope').waitFor();
  await page.getByLabel('project:read').check();
  await page.getByLabel('Level').selectOption('Administrator');
  await page.getByRole('button', { name: 'Create service key' }).click();
  await page.getByText('The service key was created.').waitFor();
  const shown = page.locator('.panel code');
  const first = (await shown.textContent())!;
  const status = async (key: string) =>
    (await harness.request('GET', '/api/projects/', { key })).status;
  assert.equal(await status(first), 200);
  const row = page.getByRole('row').filter({ hasText: hostile }).first();
  await row.getByText('Administrator: project:read').waitFor();
  await harness.deps.db.run(sql`UPDATE service_keys SET created_by = NULL
    WHERE organization_id = ${home.organization.id}::uuid`);
  await page.reload();
  await page.getByText('Creator is no administrator: rotate the key').waitFor();
  await checkEverywhere(page, 'service keys');

  await page.getByText('Rotate this key').click();
  await page.getByLabel('The old key works').selectOption('no longer: it stops at once');
  await page.getByRole('button', { name: /^Rotate key/ }).click();
  await page.getByText('The service key was rotated.').waitFor();
  const second = (await shown.textContent())!;
  assert.deepEqual([await status(first), await status(second)], [401, 200]);
  await page
    .getByRole('row')
    .nth(1)
    .getByRole('button', { name: /^Revoke/ })
    .click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke key' }).click();
  await page.getByText('The service key was revoked.').waitFor();
  assert.equal(await status(second), 401);
  await page.goto(`/organizations/${home.organization.id}/activity?scope=service_key`);
  await page.getByText('rolled').waitFor();
  await leave();
});

test('what a service key changed stands under its name in the activity', { skip }, async () => {
  const { harness } = world;
  const home = await harness.newOrganization();
  const cookie = await harness.newSession(home.user);
  const list = `/api/organizations/${home.organization.id}/service_keys/`;
  const { body } = await harness.request('POST', list, {
    headers: { cookie },
    body: { name: 'Nightly loader', scopes: ['project:write'], level: 8 },
  });
  await harness.request('PATCH', `/api/projects/${home.project.id}/`, {
    key: body.value,
    body: { name: 'Changed' },
  });
  const { page, leave } = await world.visit(home.user);
  await page.goto(`/organizations/${home.organization.id}/activity`);
  await page.getByText('by the service key').waitFor();
  await page.getByRole('link', { name: 'Nightly loader' }).first().click();
  await page.waitForURL(new RegExp(body.id));
  // Its creation was by a person.
  await page.getByText('Only one key').waitFor();
  assert.equal(await page.locator('.records > li').count(), 1);
  await leave();
});
