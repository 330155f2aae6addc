import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openConsole } from './open_console.ts';
import { checkEverywhere } from './visitor.ts';

const world = openConsole();
const { skip } = world;
const projects_made = 24;

test('of many projects few are shown, and all are found by name', { skip }, async () => {
  const home = await world.harness.newOrganization({ name: 'Home' });
  for (let number = 1; number <= projects_made; number += 1) {
    const body = { name: `Shop ${String(number).padStart(2, '0')}` };
    assert.equal((await home.ask('POST', '/api/projects/', body)).status, 201);
  }
  const { page, leave } = await world.visit(home.user);
  await page.goto('/account');
  await page.getByText('Create a key').click();
  const projects = page.getByRole('group', { name: /^Only in these projects/ });
  const boxes = projects.getByRole('checkbox');
  await boxes.first().waitFor();
  assert.equal(await boxes.count(), 12);
  await projects.getByText('13 more').waitFor();
  const search = projects.getByRole('textbox', { name: 'Search 25 choices' });
  await search.fill('shop 23');
  await boxes.first().check();
  assert.equal(await boxes.count(), 1);
  // A ticked box stays in sight, and Enter does not send the form.
  await search.fill('shop 01');
  assert.equal(await boxes.count(), 2);
  await search.press('Enter');
  await checkEverywhere(page, 'many_projects');
  await page.getByLabel('Name of the key').fill('Of one shop');
  await page.getByLabel('event:write').check();
  await page.getByRole('button', { name: 'Create the key' }).click();
  await page.getByText('It is shown once').waitFor();
  await page.getByText('in project Shop 23').waitFor();

  await page.getByRole('button', { name: 'Home' }).click();
  const items = page.getByRole('menuitem');
  await items.first().waitFor();
  assert.equal(await items.count(), 9);
  await items.filter({ hasText: 'Search 17 more projects' }).click();
  await page.getByRole('combobox', { name: 'Page, export or action' }).waitFor();
  await page.keyboard.type('shop 17');
  await page.getByRole('option', { name: 'Shop 17' }).click();
  await page.waitForURL('**/projects/*/exports');
  await page.getByRole('button', { name: 'Home Shop 17' }).waitFor();
  await leave();
});
