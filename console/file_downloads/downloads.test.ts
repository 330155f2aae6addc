import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openConsole } from '../../test/console/open_console.ts';
import { checkEverywhere } from '../../test/console/visitor.ts';

const world = openConsole({ clickhouse: true });
const { skip } = world;
/** Far less than the time after which the page reads its list by itself. */
const soon = { timeout: 10_000 };

test('a download is there once it is asked for, and gone once deleted', { skip }, async () => {
  const home = await world.harness.newOrganization({ name: 'Home' });
  const { page, leave } = await world.visit(home.user);
  await page.goto(`/projects/${home.project.id}/downloads`);
  await page.getByText('No downloads').waitFor();
  const tomorrow = new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10);
  const today = await page.getByLabel('First day').inputValue();
  const create = page.getByRole('button', { name: 'Create download' });
  await page.getByLabel('First day').fill(tomorrow);
  await page.getByLabel('Last day').fill(tomorrow);
  await create.click();
  await page.locator('[name=start_at][aria-invalid=true]').waitFor();
  await page.getByText('Must not be in the future.').waitFor();
  await page.getByLabel('First day').fill(today);
  await create.click();
  await page.locator('[name=end_at][aria-invalid=true]').waitFor();
  await page.getByLabel('Last day').fill(today);
  await create.click();
  const row = page.getByRole('row').filter({ hasText: 'Events' });
  await row.waitFor(soon);
  const told = page.getByText('The download was created.');
  await told.waitFor();
  await checkEverywhere(page, 'downloads');

  await row.getByRole('button', { name: 'Delete' }).click();
  // The next press ends the message on what was done before.
  await told.waitFor({ state: 'detached' });
  const dialog = page.getByRole('dialog', { name: 'Delete the download of “Events”?' });
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  assert.equal(await row.count(), 1);
  await row.getByRole('button', { name: 'Delete' }).click();
  await dialog.getByRole('button', { name: 'Delete the download' }).click();
  await page.getByText('No downloads').waitFor(soon);
  await leave();
});
