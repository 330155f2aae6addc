import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openSandbox } from '../../../../server/engine/plugins/sandbox/sandbox.ts';
import { systemClock } from '../../../../server/platform/clock.ts';
import { silentLog } from '../../../../server/platform/log.ts';
import { openOutbound } from '../../../../server/platform/outbound/outbound.ts';
import { connectHubspot } from '../../../../test/factories/plugins/connected_hubspot.ts';
import { goTo } from '../../../../test/console/go_to.ts';
import { openConsole } from '../../../../test/console/open_console.ts';
import { checkEverywhere } from '../../../../test/console/visitor.ts';
import { openVendorReceiver } from '../../../../test/vendors/receiver.ts';
import type { VendorReceiver } from '../../../../test/vendors/receiver.ts';
import { readVendors } from '../../../../test/vendors/vendors.ts';
import { matchingChoices } from './field_rules.ts';

const vendors = readVendors().filter(({ name }) => ['HubSpot', 'Klaviyo'].includes(name));
let receiver: VendorReceiver;
const world = openConsole({
  prepare: async () => {
    receiver = await openVendorReceiver(vendors);
    const outbound = { ...openOutbound({ allow: [] }), fetch: receiver.fetch };
    const sandbox = await openSandbox({
      outbound,
      log: silentLog(),
      clock: systemClock,
      public_url: 'http://127.0.0.1',
    });
    return { clickhouse: true, deps: { outbound, sandbox } };
  },
});
after(() => receiver?.close());

test('choices are found by name and value, and a chosen one hides no other', () => {
  const one = { value: 'Y6nRLr', label: 'Newsletter', description: null };
  const two = { value: 'X1abcd', label: 'Early birds', description: null };
  assert.deepEqual(matchingChoices([one, two], ' news'), [one]);
  assert.deepEqual(matchingChoices([one, two], 'X1'), [two]);
  assert.deepEqual(matchingChoices([one, two], 'Y6nRLr'), [one, two]);
  assert.deepEqual(matchingChoices([one, two], 'none'), []);
});

test('a list of Klaviyo is chosen by its name', { skip: world.skip }, async () => {
  const home = await world.harness.newOrganization();
  const visitor = await world.visit(home.user);
  const { page } = visitor;
  page.setDefaultTimeout(15_000);
  await goTo(page, `/projects/${home.project.id}/plugins`);
  await page.getByRole('button', { name: 'Install Klaviyo', exact: true }).click();
  await page.getByRole('heading', { name: 'Klaviyo', level: 1 }).waitFor();
  const here = page.getByRole('region', { name: 'In this project' });
  await here.getByLabel('Add a mapping').selectOption({ label: 'Subscribe Profile' });
  const list = here.getByRole('combobox', { name: 'List Id' }).last();
  await here
    .getByText(/more fields?$/)
    .last()
    .click();
  await list.click();
  await here.getByText(/needs its settings first\. API Key is required/).waitFor();
  await checkEverywhere(page, 'choices_missing');

  await here.getByLabel('API Key').fill('wrong');
  await list.press('Escape');
  await list.click();
  await here.getByText(/refuses the settings \(401\)\. Check the key/).waitFor();
  await here.getByLabel('API Key').fill('right');
  await list.press('Escape');
  await list.click();
  await page.getByRole('option', { name: /Newsletter/ }).waitFor();
  await checkEverywhere(page, 'choices_open');
  await list.press('ArrowDown');
  await list.press('ArrowDown');
  await list.press('Enter');
  assert.equal(await list.inputValue(), 'X1abcd');
  await here.getByText('Chosen: Early <b>birds</b>').waitFor();
  await list.fill('T0typed');
  assert.equal(await list.inputValue(), 'T0typed', 'free text stays');
  await checkEverywhere(page, 'choices_typed');
  await visitor.leave();
});

test('objects have their parts and keys to choose', { skip: world.skip }, async () => {
  const home = await world.harness.newOrganization();
  const plugins = `/api/organizations/${home.organization.id}/pipeline_destinations/`;
  const { body: plugin } = await home.ask('POST', plugins, {
    plugin_type: 'repository',
    name: 'HubSpot',
  });
  const mapping = { object_details: { id_field_value: { '@path': '$.userId' } } };
  const upsert = { partnerAction: 'upsertObject', subscribe: 'type = "identify"', mapping };
  const created = await home.ask('POST', `/api/projects/${home.project.id}/plugin_configs/`, {
    plugin: plugin.id,
    config: { mappings: JSON.stringify([upsert]) },
    allowed_hosts: ['api.hubapi.com'],
  });
  assert.equal(created.status, 201, created.text);
  await connectHubspot(world.harness, home, created.body.id, 'right');
  const visitor = await world.visit(home.user);
  const { page } = visitor;
  page.setDefaultTimeout(15_000);
  await goTo(page, `/projects/${home.project.id}/plugins/pipeline_destinations/${plugin.id}`);
  const here = page.getByRole('region', { name: 'In this project' });
  const type = here.getByRole('combobox', { name: 'Object Type' }).first();
  await here.getByText(/more fields$/).click();
  const name = here.getByRole('combobox', { name: 'Name to add to Properties', exact: true });
  await name.click();
  await here.getByText(/Select a value from the 'Object Type' field/).waitFor();
  await type.click();
  await page.getByRole('option', { name: /Cars/ }).click();
  assert.equal(await type.inputValue(), 'p12345_cars');
  await name.click();
  await page.getByRole('option', { name: /City/ }).click();
  assert.equal(await name.inputValue(), '');
  await here.getByLabel('city', { exact: true }).fill('$.traits.city');
  await here.getByRole('button', { name: 'Add to Associations to add' }).click();
  const other = here.getByRole('combobox', { name: /To Object Type/ }).first();
  await other.click();
  await page.getByRole('option', { name: /Cars/ }).click();
  await checkEverywhere(page, 'choices_of_objects');
  await here.getByRole('button', { name: 'Save the settings' }).click();
  await page.getByText('The settings were saved.').waitFor();
  const { body: saved } = await home.ask(
    'GET',
    `/api/projects/${home.project.id}/plugin_configs/${created.body.id}/`,
  );
  assert.deepEqual(JSON.parse(saved.config.mappings)[0].mapping, {
    object_details: { id_field_value: { '@path': '$.userId' }, object_type: 'p12345_cars' },
    properties: { city: { '@path': '$.traits.city' } },
    associations: [{ object_type: 'p12345_cars' }],
  });
  await visitor.leave();
});
