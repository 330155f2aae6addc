import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import sql from 'sql-template-tag';
import { checkEverywhere, checkPage, focused, giveSession } from '../../test/console/visitor.ts';
import type { Visitor } from '../../test/console/visitor.ts';
import type { TestOrganization } from '../../test/harness.ts';
import {
  codeOf,
  newPerson,
  password,
  setUpSecondFactor,
  signedIn,
} from '../../test/factories/people/people.ts';
import { newExport } from '../../test/factories/batch_exports/batch_exports.ts';
import { openOneBrowser } from '../../test/console/open_console.ts';

/** The browser of everybody here: each test opens a link in it, which is a load. */
let visitor: Visitor;
let page: Page;
const world = openOneBrowser((opened) => {
  visitor = opened;
  page = opened.page;
});
const { skip, clock } = world;

const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
const fill = (label: string, text: string) => page.getByLabel(label, { exact: true }).fill(text);
async function signIn(email: string, secret: string): Promise<void> {
  await fill('E-mail address', email);
  await fill('Password', secret);
  await press('Sign in');
}
const levelOf = async (home: TestOrganization, email: string) =>
  (
    await world.harness.request('GET', `/api/organizations/${home.organization.id}/members/`, {
      key: home.key,
    })
  ).body.results.find((member: any) => member.user.email === email)?.level;

async function invite(target_email: string): Promise<TestOrganization> {
  const home = await world.harness.newOrganization({ name: 'Analytical <Engines>' });
  await newExport(home);
  const body = { target_email, first_name: 'Ada', level: 8, message: 'We <b>count</b>.' };
  assert.equal(
    (
      await world.harness.request('POST', `/api/organizations/${home.organization.id}/invites/`, {
        key: home.key,
        body,
      })
    ).status,
    201,
  );
  return home;
}

/** The first page of a person who has joined. */
const startOf = ({ project }: TestOrganization) => `**/projects/${project.id}/exports`;

test('from the mail of an invite to membership, with the keyboard alone', { skip }, async () => {
  const email = `${randomUUID()}@example.org`;
  const home = await invite(email);
  await page.goto(await world.server.linkIn(email, 'invites you'));
  await page.getByRole('heading', { name: 'Join Analytical <Engines>' }).waitFor();
  await page.getByText('We <b>count</b>.', { exact: true }).waitFor();
  await checkEverywhere(page, 'invite_sign_up');
  // The token has left the address.
  await page.waitForURL(/\/invite\/[0-9a-f-]+$/);
  await page.getByLabel('Last name').focus();
  await page.keyboard.type('Lovelace');
  await page.keyboard.press('Tab');
  await page.keyboard.type('ada ada ada');
  await page.keyboard.press('Enter');
  await page.locator('[aria-invalid=true]').waitFor();
  assert.match(await focused(page), /^Password: .*Must have at least 12 characters\./);
  await page.keyboard.type(password);
  await page.keyboard.press('Enter');
  await page.waitForURL(startOf(home));
  await page.goto('/account');
  await page.getByText('You are an administrator').waitFor();
  assert.equal(await levelOf(home, email), 8);
  assert.equal(await page.getByLabel('Last name').inputValue(), 'Lovelace');
});

test('a person with an account signs in with their second factor and joins', { skip }, async () => {
  const user = await newPerson(world.harness);
  const { secret } = await setUpSecondFactor(world.harness, await signedIn(world.harness, user));
  const home = await invite(user.email);
  await page.goto(await world.server.linkIn(user.email, 'invites you'));
  await fill('Password', 'not the password');
  await press('Sign in and join');
  await page
    .getByRole('alert')
    .filter({ hasText: 'no account with this e-mail address and password' })
    .waitFor();
  await fill('Password', password);
  await press('Sign in and join');
  await page.getByLabel('Code of your second factor').waitFor();
  await checkPage(page);
  assert.match(await focused(page), /^Code of your second factor: /);
  await press('Sign in and join');
  await page.getByText('Fill in the code.').waitFor();
  await page.getByLabel('Code of your second factor').fill(codeOf(secret, clock.now(), 1));
  await press('Sign in and join');
  await page.waitForURL(startOf(home));
  assert.equal(await levelOf(home, user.email), 8);
});

test(
  'a person signed in with another account signs out, and finds the invite again',
  { skip },
  async () => {
    const user = await newPerson(world.harness);
    const email = `${randomUUID()}@example.org`;
    await invite(email);
    await page.goto('/login');
    await signIn(user.email, password);
    await page.waitForURL('**/account');
    await page.goto(await world.server.linkIn(email, 'invites you'));
    await page.getByText(`You are signed in as ${user.email}`).waitFor();
    await press('Sign out');
    await page.getByRole('button', { name: 'Sign up and join' }).waitFor();
  },
);

test(
  'a person signed in with the invited account joins, also without the token',
  { skip },
  async () => {
    for (const is_by_token of [true, false]) {
      const user = await newPerson(world.harness);
      const home = await invite(user.email);
      const link = new URL(await world.server.linkIn(user.email, 'invites you'));
      if (!is_by_token) {
        link.search = '';
        // Without the token the address has to be proved.
        await world.harness.deps.db.run(
          sql`UPDATE users SET is_email_verified = true WHERE id = ${user.id}`,
        );
      }
      await giveSession(visitor, world.server, user);
      await page.goto(link.href);
      await page.getByRole('button', { name: 'Join' }).click();
      // Whatever this browser looked at before.
      await page.waitForURL(startOf(home));
      assert.equal(await levelOf(home, user.email), 8);
    }
  },
);

test('a domain that asks for single sign-on leaves that way alone', { skip }, async () => {
  const home = await world.harness.newOrganization();
  const domain = `${randomUUID()}.example.com`;
  const saml = 'https://idp.example';
  await world.harness.deps.db.run(sql`
    INSERT INTO domains (id, organization_id, domain, verification_challenge, sso_enforcement,
      saml_entity_id, saml_acs_url, saml_x509_cert, state, since_at, reason, created_at)
    VALUES (${randomUUID()}, ${home.organization.id}, ${domain}, '', 'saml', ${saml}, ${saml},
      ${saml}, 'verified', now(), '', now())`);
  await invite(`ada+1@${domain}`);
  await page.goto(await world.server.linkIn(`ada+1@${domain}`, 'invites you'));
  const way = page.getByRole('link', { name: 'Continue with single sign-on' });
  await way.waitFor();
  await checkPage(page);
  assert.equal(await page.locator('form').count(), 0);
  const asked = new URL((await way.getAttribute('href'))!, world.server.address).searchParams;
  assert.equal(asked.get('email'), `ada+1@${domain}`);
  assert.match(asked.get('next')!, /^\/invite\/[0-9a-f-]+$/);
});

test('an invite that has expired says so, and to whom to turn', { skip }, async () => {
  const email = `${randomUUID()}@example.org`;
  await invite(email);
  const link = await world.server.linkIn(email, 'invites you');
  clock.pass(73 * 3_600_000);
  await page.goto(link);
  await page.getByRole('heading', { name: 'This invite has expired' }).waitFor();
  await page.getByText('administrator of Analytical <Engines> to invite you again').waitFor();
  // `routes.test.ts` asks the rules of axe-core for the like.
  await checkPage(page, []);
  assert.equal(await page.locator('form').count(), 0);
});
