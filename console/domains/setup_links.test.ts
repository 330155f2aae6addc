import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { openConsole } from '../../test/console/open_console.ts';
import { checkEverywhere } from '../../test/console/visitor.ts';
import { domainsPath } from '../../test/factories/people/domains.ts';
import { testIdentityProvider } from '../../test/saml/identity_provider.ts';

const world = openConsole();
const { skip } = world;
const hostile = `<img src=x onerror="document.title='taken'">`;

test('an owner sends a link, and somebody without an account sets up', { skip }, async () => {
  const { harness } = world;
  const home = await harness.newOrganization({ name: hostile });
  const { body: domain } = await home.ask('POST', domainsPath(home), { domain: 'setup.test' });
  const owner = await world.visit(home.user);
  await owner.page.goto(`/organizations/${home.organization.id}/domains/${domain.id}`);
  await owner.page.getByText('Create a setup link').click();
  await owner.page.getByLabel('Who gets the link').fill(hostile);
  await owner.page.getByRole('button', { name: 'Create link' }).click();
  await owner.page.getByText('The link was created.').waitFor();
  const url = (await owner.page.locator('.panel code').first().textContent())!;
  assert.match(url, /\/setup#sll_/);
  await checkEverywhere(owner.page, 'setup links of a domain');
  await owner.leave();

  // The name server of the test does not know the domain.
  await harness.deps.db.run(sql`UPDATE domains SET state = 'verified', missing_since_at = NULL
    WHERE id = ${domain.id}::uuid`);
  const { page, leave } = await world.visit();
  await page.goto(`/setup${new URL(url).hash}`);
  await page.getByRole('heading', { name: 'Set up single sign-on for setup.test' }).waitFor();
  await page.getByText(domain.verification_challenge).waitFor();
  await page.getByLabel('Entity id').fill('https://idp.example/entity');
  await page.getByRole('button', { name: 'Save the provider' }).click();
  await page.locator('[name=saml_acs_url][aria-invalid=true]').waitFor();
  await page.locator('[name=saml_acs_url]').fill('https://idp.example/sso');
  await page.locator('[name=saml_x509_cert]').fill(testIdentityProvider('acme').certificate);
  await page.getByRole('button', { name: 'Save the provider' }).click();
  await page.getByText('Saved. An owner has to confirm it.').waitFor();
  await page.getByRole('button', { name: 'Start test' }).click();
  await page.getByRole('link', { name: 'Open the test in another tab' }).waitFor();
  await checkEverywhere(page, 'setup page');
  const { body: after } = await home.ask('GET', domainsPath(home, domain));
  assert.equal(after.pending_changes.saml_acs_url, 'https://idp.example/sso');
  assert.equal(await page.getByText(home.user.email).count(), 0);
  await leave();
});

test('a link that is not open says so', { skip }, async () => {
  const { page, leave } = await world.visit();
  await page.goto(`/setup#sll_${'0'.repeat(43)}`);
  await page.getByRole('heading', { name: 'This link is not open' }).waitFor();
  await leave();
});
