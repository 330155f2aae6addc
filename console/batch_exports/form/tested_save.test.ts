import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { goTo } from '../../../test/console/go_to.ts';
import { openConsole } from '../../../test/console/open_console.ts';
import { checkEverywhere } from '../../../test/console/visitor.ts';
import { projectBase } from '../../../test/factories/batch_exports/batch_exports.ts';
import { insertEvents } from '../../../test/factories/batch_exports/delivering_harness.ts';
import { openPostgresServer } from '../../../test/servers/databases/postgres_destination.ts';
import type { PostgresServer } from '../../../test/servers/databases/postgres_destination.ts';

let warehouse: PostgresServer;
const world = openConsole({
  clickhouse: true,
  opened: async () => {
    warehouse = await openPostgresServer();
  },
  closing: () => warehouse.close(),
});
const { skip } = world;

const fill = (page: Page, label: string, value: string) =>
  page.getByRole('textbox', { name: label, exact: true }).fill(value);
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

test('a wrong password is refused at its field, and saved on demand alone', { skip }, async () => {
  const config = await warehouse.freshConfig();
  const home = await world.harness.newOrganization();
  await insertEvents(world.harness, home);
  const { page, leave } = await world.visit(home.user);
  await goTo(page, `/projects/${home.project.id}/exports/new`);
  const pasted = (password: string) =>
    `postgres://${config.user}:${password}@${config.host}:${config.port}/${config.database}` +
    '?sslmode=no-verify&application_name=x';
  await fill(page, 'Or paste a connection string', pasted('wr0ng-word'));
  await page.keyboard.press('Enter');
  await page.getByText('Filled in: Host, Port, Database, User, Password,').waitFor();
  await page.getByText('Left out: application_name.').waitFor();
  await fill(page, 'Name', 'Wrong password');
  await fill(page, 'Schema', config.schema);
  await button(page, 'Create export').click();
  const secret = page.locator('[name=destination__config__password]');
  await page.locator('[name=destination__config__password][aria-invalid=true]:focus').waitFor();
  await page.getByText('check “User” and “Password”.').first().waitFor();
  await page.getByText('The test failed at "Connect".').waitFor();
  const named = async () => {
    const { body } = await home.ask('GET', projectBase(home));
    return body.results.filter(({ name }: { name: string }) => name === 'Wrong password').length;
  };
  assert.equal(await named(), 0, 'nothing is saved');
  await checkEverywhere(page, 'new_export_refused', []);
  // The change has not been tested.
  await secret.fill('wrong-again');
  await button(page, 'Save anyway').waitFor({ state: 'detached' });
  await button(page, 'Create export').click();
  await button(page, 'Save anyway').click();
  await page.waitForURL(/\/exports\/[0-9a-f-]{36}$/);
  assert.equal(await named(), 1);

  // A right one is saved without a second button, and the timeline tells that it changed.
  const id = page.url().split('/').at(-1)!;
  await goTo(page, `/projects/${home.project.id}/exports/${id}/settings`);
  await secret.fill('wrong-too');
  await button(page, 'Save changes').click();
  await page.locator('[name=destination__config__password][aria-invalid=true]').waitFor();
  await secret.fill(config.password);
  await button(page, 'Save changes').click();
  await page.waitForURL(/\/exports\/[0-9a-f-]{36}$/);
  await goTo(page, `/projects/${home.project.id}/exports/${id}/timeline`);
  await page.getByText('Password changed').waitFor();

  // A copy has everything but the secret.
  await goTo(page, `/projects/${home.project.id}/exports/new?copy_of=${id}`);
  await page.getByText('Enter its secrets again').waitFor();
  const valueOf = (label: string) =>
    page.getByRole('textbox', { name: label, exact: true }).inputValue();
  assert.deepEqual(
    [await valueOf('Name'), await valueOf('Schema'), await secret.inputValue()],
    ['Copy of Wrong password', config.schema, ''],
  );
  await leave();
});
