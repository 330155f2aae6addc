import { test } from 'node:test';
import { goTo } from '../../../test/console/go_to.ts';
import { openConsole } from '../../../test/console/open_console.ts';
import { checkEverywhere } from '../../../test/console/visitor.ts';
import { oauthTool } from '../../../test/factories/plugins/oauth_tools.ts';
import { openOauthVendor, vendor_client } from '../../../test/servers/oauth_vendor.ts';
import type { OauthVendorServer } from '../../../test/servers/oauth_vendor.ts';

let vendor: OauthVendorServer;
const world = openConsole({
  opened: async () => {
    vendor = await openOauthVendor();
  },
  closing: () => vendor.close(),
});
const { skip } = world;

test('an application is registered, an account connected and disconnected', { skip }, async () => {
  const home = await world.harness.newOrganization();
  const tool = await oauthTool(world.harness, home, `${vendor.url}/in`);
  const visitor = await world.visit(home.user);
  const { page } = visitor;
  const path = `/projects/${home.project.id}/plugins/pipeline_destinations/${tool.plugin}`;
  await goTo(page, path);
  const section = page.getByRole('region', { name: 'Connection' });
  await section.getByText('No OAuth application').waitFor();
  await checkEverywhere(page, 'tool_oauth_application');
  await section.getByLabel('Client ID').fill(vendor_client.id);
  await section.getByLabel('Client secret').fill(vendor_client.secret);
  await section.getByLabel('Authorize address').fill(`${vendor.url}/authorize`);
  await section.getByLabel('Token address').fill(`${vendor.url}/token`);
  await section.getByLabel('Revocation address (optional)').fill(`${vendor.url}/revoke`);
  await section.getByRole('button', { name: 'Register application' }).click();
  await section.getByText('Not connected').waitFor();
  await section.getByRole('button', { name: 'Connect account' }).click();
  const connected = section.locator('.good', { hasText: 'Connected' });
  await connected.waitFor();
  await checkEverywhere(page, 'tool_oauth_connected');
  await section.getByRole('button', { name: 'Disconnect', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Disconnect' }).click();
  await section.getByText('Not connected').waitFor();
  await page.getByText('The tool is disconnected, and its tokens are revoked.').waitFor();
});
