import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { newExport, projectBase } from '../factories/batch_exports/batch_exports.ts';
import { openConsole } from './open_console.ts';
import { checkEverywhere, untilInPage } from './visitor.ts';

const world = openConsole();
const { skip } = world;

const hostile = `<img src=x onerror="document.title='taken'">`;
const field = (page: Page) => page.getByRole('combobox', { name: 'Page, export or action' });
/** Types into the palette, and does what is first. */
async function choose(page: Page, typed: string, option: string | RegExp): Promise<void> {
  await page.keyboard.press('Control+k');
  await field(page).waitFor();
  await page.keyboard.type(typed);
  const chosen = page.locator('[role=option][aria-selected=true]').filter({ hasText: option });
  await chosen.waitFor();
  // The focused element names the chosen option.
  assert.equal(
    await page.evaluate("document.activeElement.getAttribute('aria-activedescendant')"),
    await chosen.getAttribute('id'),
  );
  await page.keyboard.press('Enter');
}

test('pages, exports and actions are reached by keyboard alone', { skip }, async () => {
  const home = await world.harness.newOrganization({ name: 'Home' });
  const created = await newExport(home, { name: `Nightly ${hostile}` });
  await newExport(home, { name: 'Hourly' });
  const paused = async () =>
    (await home.ask('GET', `${projectBase(home)}${created.id}/`)).body.paused as boolean;
  const { page, context, leave } = await world.visit(home.user);
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.goto(`/projects/${home.project.id}/exports`);
  await page.getByRole('link', { name: 'Hourly' }).waitFor();

  await page.keyboard.press('Control+k');
  await page.getByRole('option', { name: 'New export' }).waitFor();
  await checkEverywhere(page, 'palette');
  await page.keyboard.press('Escape');
  await field(page).waitFor({ state: 'detached' });

  await choose(page, 'night', `Nightly ${hostile}`);
  await page.waitForURL(`**/exports/${created.id}`);
  await page.getByRole('heading', { name: hostile }).waitFor();
  // Enter in an empty palette takes the first, which changes nothing.
  await page.keyboard.press('Control+k');
  await page.getByRole('option', { name: 'Pause this export' }).waitFor();
  assert.equal(
    await page.getByRole('dialog').getByRole('option').first().textContent(),
    'Edit this export',
  );
  await page.keyboard.press('Escape');
  await field(page).waitFor({ state: 'detached' });
  await choose(page, 'pause', 'Pause this export');
  await page.getByText('The export is paused.').waitFor();
  assert.equal(await paused(), true);
  await checkEverywhere(page, 'palette_done');
  await page.keyboard.press('Escape');
  await choose(page, 'resume', /Resume this export/);
  await page.getByText('The export is resumed.').waitFor();
  assert.equal(await paused(), false);
  await page.keyboard.press('Escape');
  await choose(page, 'curl', 'as curl');
  await page.getByText('Copied.').waitFor();
  assert.match(
    await page.evaluate<string>('navigator.clipboard.readText()'),
    new RegExp(`^curl -H "Authorization: Bearer \\$KEY" [^]*${created.id}/slots/'$`),
  );
  await page.keyboard.press('Escape');
  await choose(page, 'runs', 'Runs of this export');
  await page.waitForURL('**/runs');
  await choose(page, 'backfill', 'Backfill this export');
  await page.waitForURL('**backfill=dates');
  await choose(page, 'new', 'New export');
  await page.waitForURL('**/exports/new');
  await choose(page, 'members', 'Members');
  await page.waitForURL('**/members');
  await choose(page, 'dark', 'Theme: dark');
  await untilInPage(page, "document.documentElement.dataset.mantineColorScheme === 'dark'");
  await page.keyboard.press('Control+k');
  await page.keyboard.type('no such thing');
  await page.getByText('Nothing fits.').waitFor();
  await page.keyboard.press('Escape');
  await choose(page, 'sign out', 'Sign out');
  await page.waitForURL('**/login');
  await leave();
});

test('it is there by pointing too, in a narrow window as well', { skip }, async () => {
  const home = await world.harness.newOrganization({ name: 'Home' });
  const { page, leave } = await world.visit(home.user);
  await page.goto(`/projects/${home.project.id}/settings`);
  await page.getByRole('button', { name: 'Go to…' }).click();
  await page.getByRole('option', { name: 'Notices' }).click();
  await page.waitForURL('**/notices');
  await page.setViewportSize({ width: 320, height: 700 });
  await page.getByRole('button', { name: 'Navigation' }).click();
  await page.getByRole('button', { name: 'Close the navigation' }).waitFor();
  await page.getByRole('button', { name: 'Go to…' }).click();
  await field(page).fill('domains');
  await page.getByRole('option', { name: 'Domains' }).click();
  await page.waitForURL('**/domains');
  // A link to the page that is shown leads to it as well.
  await page.getByRole('button', { name: 'Navigation', exact: true }).click();
  const navigation = page.getByRole('dialog', { name: 'Navigation' });
  await navigation.getByRole('link', { name: 'Domains' }).click();
  await navigation.waitFor({ state: 'detached' });
  await leave();
});
