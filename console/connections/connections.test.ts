import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseDestination } from '../../test/console/choose_destination.ts';
import { checkEverywhere } from '../../test/console/visitor.ts';
import { openConsole } from '../../test/console/open_console.ts';
import { projectBase } from '../../test/factories/batch_exports/batch_exports.ts';
import { connectionsBase } from '../../test/factories/batch_exports/connections.ts';

const world = openConsole({ clickhouse: true });
const { skip } = world;
const hostile = `<img src=x onerror="document.title='taken'">`;

test('a connection is created, used by an export, tested, rotated and kept', { skip }, async () => {
  const home = await world.harness.newOrganization();
  const { page, leave } = await world.visit(home.user);
  await page.goto(`/organizations/${home.organization.id}/connections`);
  await page.getByText('No connections yet').waitFor();
  await page.getByLabel('Name').fill(hostile);
  await chooseDestination(page, 'HTTP endpoint');
  await page.getByRole('button', { name: 'Create connection' }).click();
  await page.getByText('required').first().waitFor();
  await page.locator('[name=config__url]').fill('http://127.0.0.1:2/rows');
  await page.locator('[name=config__token]').fill('pl4nted-word');
  await page.getByRole('button', { name: 'Create connection' }).click();
  await page.locator('[name=config__url][aria-invalid=true]').waitFor();
  assert.equal((await home.ask('GET', connectionsBase(home))).body.count, 0, 'nothing is saved');
  await page.getByRole('button', { name: 'Save anyway' }).click();
  await page.getByText('No export uses it yet').waitFor();
  await page.getByRole('button', { name: 'Test connection' }).click();
  await page.getByText('The test failed').waitFor();

  await page.goto(`/projects/${home.project.id}/exports/new`);
  await page.getByLabel('Name').fill('Sent');
  await chooseDestination(page, 'HTTP endpoint');
  await page.getByLabel('Connection').selectOption({ label: hostile });
  assert.equal(await page.locator('[name=destination__config__url]').count(), 0);
  await page.getByRole('button', { name: 'Create export' }).click();
  // The fault is that of the connection, which has the address.
  await page.locator('[name=connection_id][aria-invalid=true]').waitFor();
  await page.getByRole('button', { name: 'Save anyway' }).click();
  await page.getByRole('heading', { name: 'Sent' }).waitFor();
  const { body } = await home.ask('GET', projectBase(home));
  const [connection] = (await home.ask('GET', connectionsBase(home))).body.results;
  assert.equal(body.results[0].connection_id, connection.id);

  await page.goto(`/organizations/${home.organization.id}/connections/${connection.id}`);
  await page.getByRole('link', { name: 'Sent' }).waitFor();
  await page.locator('[name=config__token]').fill('pl4nted-other');
  await page.getByRole('button', { name: 'Save connection' }).click();
  await page.getByRole('button', { name: 'Save anyway' }).click();
  await page.getByText('The connection was saved.').waitFor();
  await checkEverywhere(page, 'connection');
  await page.getByRole('button', { name: 'Delete connection' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox').fill(hostile);
  await dialog.getByRole('button', { name: 'Delete connection' }).click();
  await page.getByText('Batch exports use this connection').waitFor();
  await leave();
});
