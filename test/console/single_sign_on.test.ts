import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { before, test } from 'node:test';
import { openDns } from '../../server/platform/dns/dns.ts';
import { silentLog } from '../../server/platform/log.ts';
import { genuine } from '../factories/people/single_sign_on.ts';
import { encodeResponse, readLoginUrl, testIdentityProvider } from '../saml/identity_provider.ts';
import { openDnsServer } from '../servers/dns_server.ts';
import type { DnsServer } from '../servers/dns_server.ts';
import { goTo } from './go_to.ts';
import { openConsole } from './open_console.ts';
import { checkEverywhere } from './visitor.ts';

const acme = testIdentityProvider('acme');
let resolver: DnsServer;
// Another site than the server's, whose page posts the response by itself.
const provider = createServer((request, response) => {
  const asked = readLoginUrl(`http://${request.headers.host}${request.url}`);
  response
    .writeHead(200, { 'content-type': 'text/html' })
    .end(
      `<form method="post" action="${asked.acs_url}"><input name="SAMLResponse" ` +
        `value="${encodeResponse(genuine(world, asked))}"></form>` +
        '<script>document.forms[0].submit()</script>',
    );
});
const world = openConsole({
  prepare: async () => {
    resolver = await openDnsServer();
    const { address } = resolver;
    return {
      deps: { dns: openDns({ servers: [address], time_limit_ms: 2_000, log: silentLog() }) },
    };
  },
  closing: async () => {
    provider.closeAllConnections();
    provider.close();
    await resolver.close();
  },
});
const { skip } = world;
before(async () => {
  provider.listen(0, 'localhost');
  await once(provider, 'listening');
});

test('from the claim of a domain to a sign-in through its provider', { skip }, async () => {
  const home = await world.harness.newOrganization({ name: 'Acme' });
  const { page, context, close } = await world.visit(home.user);
  await page.goto(`/organizations/${home.organization.id}/domains`);
  await page.getByLabel('Domain', { exact: true }).fill('acme.example');
  await page.getByRole('button', { name: 'Claim the domain' }).click();
  await page.getByRole('heading', { name: 'acme.example', level: 1 }).waitFor();

  // The record is looked for, not found, added as the page says it, and found.
  const told = (what: string) =>
    page.getByRole('region', { name: what, exact: true }).textContent();
  const name = await told('the name of the record');
  const value = await told('the value of the record');
  const record = page.getByRole('region', { name: '1. Add the record to your DNS' });
  await page.getByRole('button', { name: 'Check now' }).click();
  await page.getByText('The server checked the record.').waitFor();
  await record.getByText('To do').waitFor();
  // A step that the API would refuse is not offered; it says what is left to do.
  await page.getByText('It can begin once the steps above are done.').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Start test' }).count(), 0);
  assert.equal(await page.getByRole('button', { name: 'Save the rules' }).count(), 0);
  resolver.set(name!, { records: [{ type: 'TXT', strings: [value!] }] });
  await page.getByRole('button', { name: 'Check now' }).click();
  await record.getByText('Done').waitFor();
  await page.getByText('It can begin once all three fields of step 3 are saved.').waitFor();
  assert.equal(await page.locator('option[value=saml]').count(), 0);

  // Each provider's steps have values of this server; the metadata has the same ones.
  const acs_url = await told('the address for responses');
  const entity_id = await told('the identifier of this server');
  await page.getByRole('button', { name: 'Another provider' }).click();
  assert.equal(await told('the address for responses'), acs_url);
  assert.equal(await told('the identifier of this server'), entity_id);
  const address = (await told('the address of the metadata'))!;
  assert.equal(entity_id, address);
  const metadata = await (await fetch(address)).text();
  assert.ok(metadata.includes(`entityID="${entity_id}"`), metadata);
  assert.ok(metadata.includes(`Location="${acs_url}"`), metadata);
  const { port } = provider.address() as AddressInfo;
  await page.getByLabel('Entity ID').fill(acme.entity_id);
  await page.getByLabel('Sign-on URL').fill(`http://localhost:${port}/sso`);
  // A part of it is kept, and not called the provider.
  await page.getByRole('button', { name: 'Save the provider' }).click();
  await page.getByText('Saved. Still missing: Certificates.').waitFor();
  await page.getByLabel('Certificates').fill(acme.certificate);
  await page.getByRole('button', { name: 'Save the provider' }).click();
  await page.getByText('The provider was saved.').waitFor();

  // The test signs nobody in, and shows what the provider says.
  await page.getByRole('button', { name: 'Start test' }).click();
  const [tried] = await Promise.all([
    context.waitForEvent('page'),
    page.getByRole('link', { name: 'Open the test in another tab' }).click(),
  ]);
  await tried.getByText('ada@acme.example').first().waitFor();
  await tried.close();

  await page.getByLabel('Required sign-in').selectOption('saml');
  await page.getByLabel('Add people at their first sign-in').check();
  await page.getByRole('button', { name: 'Save the rules' }).click();
  await page.getByText('The rules were saved.').waitFor();
  await checkEverywhere(page, 'domain_done');

  const guest = await world.visit();
  await guest.page.goto('/login');
  await guest.page.getByLabel('E-mail address').fill('ada@acme.example');
  await guest.page.getByRole('button', { name: /^Continue with single sign-on/ }).click();
  await guest.page.waitForURL(
    ({ href, pathname }) => href.startsWith(world.server.address) && pathname !== '/login',
  );
  await guest.page.getByRole('heading', { level: 1 }).waitFor();
  await guest.page.goto('/account');
  await guest.page.getByText('You are signed in as ada@acme.example').waitFor();
  await guest.close();

  await goTo(page, `/organizations/${home.organization.id}/members`);
  await page.getByRole('row').filter({ hasText: 'ada@acme.example' }).waitFor();
  await close();
  assert.ok(resolver.queries.length >= 2);
});
