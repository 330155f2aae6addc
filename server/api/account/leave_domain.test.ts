import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { addMember } from '../../../test/factories/people/members.ts';
import {
  inMail,
  mailedToken,
  newPerson,
  password,
  signedIn,
} from '../../../test/factories/people/people.ts';
import type { TestBrowser } from '../../../test/factories/people/people.ts';
import {
  harness,
  openAroundTests,
  server,
} from '../../../test/factories/people/people_around_tests.ts';
import type { TestOrganization } from '../../../test/harness.ts';

openAroundTests('mail');

// Single sign-on cannot be left by changing an address.
const url = '/api/users/@me/';
const newAddress = () => `${randomUUID()}@freemail.example`;

/** An organization whose domain enforces its provider, and a member with an address there. */
async function newHome(level: 1 | 15 = 1) {
  const home = await harness.newOrganization();
  const domain = `d${randomUUID().slice(0, 8)}.example`;
  const base = `/api/organizations/${home.organization.id}/`;
  const { body } = await home.ask('POST', `${base}domains/`, { domain });
  await harness.deps.db.run(sql`UPDATE domains SET state = 'verified', saml_entity_id = 'urn:x',
    saml_acs_url = 'https://idp.example/', saml_x509_cert = 'x' WHERE id = ${body.id}::uuid`);
  const user = await newPerson(harness, { email: `mallory@${domain}` });
  await addMember(harness.deps, home.organization.id, user, level);
  const browser = await signedIn(harness, user);
  const enforce = (on = true) =>
    harness.deps.db.run(sql`UPDATE domains SET sso_enforcement = ${on ? 'saml' : ''}
      WHERE id = ${body.id}::uuid`);
  await enforce();
  return { home, domain, base, user, browser, enforce };
}

async function moveTo(browser: TestBrowser, email: string): Promise<void> {
  const asked = await browser.ask('POST', `${url}email/`, { email, current_password: password });
  assert.equal(asked.status, 200, asked.text);
  const token = await mailedToken(server, email, 'verify-email');
  const proved = await browser.ask('POST', '/api/users/verify_email/', { token });
  assert.equal(proved.status, 200, proved.text);
}

async function membersOf(home: TestOrganization): Promise<string[]> {
  const path = `/api/organizations/${home.organization.id}/members/`;
  const { body } = await home.ask('GET', path);
  return body.results.map(({ user }: { user: { email: string } }) => user.email);
}

async function entriesOf(home: TestOrganization): Promise<string[]> {
  const rows = await harness.deps.db.rows<{ said: string }>(sql`
    SELECT activity || ' ' || scope AS said FROM activity
    WHERE chain_id = ${home.organization.id}::uuid ORDER BY number DESC LIMIT 2`);
  return rows.map(({ said }) => said);
}

test('an address outside of an enforced domain ends the membership', async () => {
  for (const level of [1, 15] as const) {
    const { home, domain, user, browser } = await newHome(level);
    const elsewhere = await harness.newOrganization();
    await addMember(harness.deps, elsewhere.organization.id, user, 1);
    const email = newAddress();
    await moveTo(browser, email);
    assert.deepEqual(await membersOf(home), [home.user.email]);
    assert.ok((await membersOf(elsewhere)).includes(email), 'nothing else ends');
    assert.deepEqual(await entriesOf(home), ['left member', 'created domain']);
    assert.equal((await entriesOf(elsewhere))[0], 'verified_email user');
    const told = await inMail(server, home.user.email, ({ content }) =>
      content.subject === `A member left ${domain}` ? content.text : undefined,
    );
    assert.ok(told.includes(user.email), told);
  }
});

test('the person learns before a change of address what it ends', async () => {
  const { home, user, browser } = await newHome();
  const email = newAddress();
  await browser.ask('POST', `${url}email/`, { email, current_password: password });
  for (const address of [email, user.email]) {
    const { text = '' } = (await server.waitFor(address)).content;
    assert.ok(text.includes('no longer a member of'), text);
    assert.ok(text.includes(home.organization.name), text);
  }
});

test('an exempt person keeps the membership, and so does one who stays in the domain', async () => {
  const { home, base, domain, user, browser } = await newHome();
  await moveTo(browser, `mallory.new@${domain}`);
  assert.ok((await membersOf(home)).includes(`mallory.new@${domain}`));
  const exempted = await home.ask('PATCH', `${base}security/`, { exempt_members: [user.uuid] });
  assert.equal(exempted.status, 200, exempted.text);
  const email = newAddress();
  await moveTo(browser, email);
  assert.ok((await membersOf(home)).includes(email));
  assert.equal((await entriesOf(home))[0], 'verified_email user');
});

test('no membership ends if the domain enforces nothing', async () => {
  const { home, browser, enforce } = await newHome();
  await enforce(false);
  const email = newAddress();
  await moveTo(browser, email);
  assert.ok((await membersOf(home)).includes(email));
});

test('the only owner learns to exempt themselves, or to make another owner', async () => {
  const { home, user, browser } = await newHome(15);
  await harness.deps.db.run(sql`UPDATE members SET level = 8
    WHERE organization_id = ${home.organization.id}::uuid AND user_id <> ${user.id}`);
  const email = newAddress();
  const asked = await browser.ask('POST', `${url}email/`, { email, current_password: password });
  assert.deepEqual([asked.status, asked.body.code], [409, 'conflict']);
  assert.match(asked.body.detail, /only owner/);
});
