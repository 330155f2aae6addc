import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { openPageServer } from '../../test/console/page_server.ts';
import type { PageServer } from '../../test/console/page_server.ts';
import { checkEverywhere, openSignedIn } from '../../test/console/visitor.ts';
import { openTestClock } from '../../test/factories/people.ts';
import { startChromium } from '../../test/processes/chromium.ts';

const started = await startChromium();
const skip = typeof started === 'string' ? started : false;
const browser = started as Browser;
const hostile = `<img src=x onerror="document.title='taken'">`;

let server: PageServer;
before(async () => {
  server = await openPageServer(openTestClock());
});
after(async () => {
  if (skip === false) await browser.close();
  await server.close();
});

test('a project is made, gets its zone, and is deleted by its name', { skip }, async () => {
  const home = await server.harness.newOrganization({ name: 'Home' });
  const { page, leave } = await openSignedIn(browser, server, home.user);
  await page.goto(`/organizations/${home.organization.id}/settings`);
  await page.getByText('New project').click();
  const made = page.locator('form', { hasText: 'Make the project' });
  await made.getByLabel('Name').fill(hostile);
  await made.getByRole('combobox').fill('Mars/Olympus');
  await made.getByRole('button').click();
  await page.getByText('Must be a name of the IANA time zone database').waitFor();
  assert.equal(await made.getByLabel('Name').inputValue(), hostile);
  await made.getByRole('combobox').fill('Europe/Berlin');
  await made.getByRole('button').click();
  await page.getByText('was made.').waitFor();
  await checkEverywhere(page, 'organization_settings');

  await page.getByRole('link', { name: hostile }).click();
  await page.getByRole('heading', { name: 'Project settings' }).waitFor();
  await page.getByText('Delete the project').first().click();
  await checkEverywhere(page, 'project_settings');
  const end = page.locator('form', { hasText: 'To confirm' });
  await end.getByLabel('Name').fill(hostile);
  await end.getByRole('button').click();
  await page.waitForURL('**/organizations/*/settings');
  await page.getByRole('link', { name: hostile }).waitFor({ state: 'detached' });
  await leave();
});

test('what somebody else saved meanwhile is not overwritten', { skip }, async () => {
  const { harness } = server;
  const home = await harness.newOrganization({ name: 'Home' });
  const { page, leave } = await openSignedIn(browser, server, home.user);
  await page.goto(`/organizations/${home.organization.id}/settings`);
  const name = page.getByRole('textbox', { name: 'Name' }).first();
  await name.fill('Mine');
  const path = `/api/organizations/${home.organization.id}/`;
  const changed = await harness.request('PATCH', path, { key: home.key, body: { name: 'Theirs' } });
  assert.equal(changed.status, 200);
  await page.getByRole('button', { name: 'Save the organization' }).click();
  await page.getByRole('alert').filter({ hasText: 'changed' }).waitFor();
  assert.equal(await name.inputValue(), 'Mine');
  await leave();
});
