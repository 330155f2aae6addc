import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkEverywhere } from '../../test/console/visitor.ts';
import { openConsole } from '../../test/console/open_console.ts';
import { readTestCertificate } from '../../test/saml/identity_provider.ts';
import { providerMetadata } from '../../test/saml/provider_metadata.ts';

const world = openConsole();
const { skip } = world;
const certificate = readTestCertificate('saml_acme.crt').trim();
const url = 'https://idp.acme.example/sso';

test('metadata fills in the fields of the provider, which are then saved', { skip }, async () => {
  const home = await world.harness.newOrganization();
  const base = `/api/organizations/${home.organization.id}/domains/`;
  const { id } = (await home.ask('POST', base, { domain: 'metadata.example.com' })).body;
  const { page, leave } = await world.visit(home.user);
  await page.goto(`/organizations/${home.organization.id}/domains/${id}`);
  await page.getByRole('button', { name: 'Microsoft Entra' }).click();
  await page.getByText('download the "Federation Metadata XML"').waitFor();
  await page.getByLabel('or its text').fill('<html></html>');
  await page.getByRole('button', { name: 'Fill in the fields' }).click();
  await page.getByText('This is not the XML of SAML metadata.').waitFor();
  const metadata = providerMetadata({ entity_id: 'acme', url, certificate });
  await page.getByLabel('or its text').fill(metadata);
  await page.getByRole('button', { name: 'Fill in the fields' }).click();
  await page.getByText('The fields are filled in. Save the provider.').waitFor();
  assert.equal(await page.getByRole('textbox', { name: 'Sign-on URL' }).inputValue(), url);
  await page.getByText('Most providers have a URL here.').waitFor();
  await checkEverywhere(page, 'metadata_import');
  await page.getByRole('button', { name: 'Save the provider' }).click();
  await page.getByText(/^The provider was saved|^Saved\./).waitFor();
  const { pending_changes, ...domain } = (await home.ask('GET', `${base}${id}/`)).body;
  assert.deepEqual(
    { ...domain, ...pending_changes }.saml_x509_cert.replaceAll('\r\n', '\n'),
    certificate,
  );
  await leave();
});
