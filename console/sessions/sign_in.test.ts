import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import sql from 'sql-template-tag';
import { focused } from '../../test/console/visitor.ts';
import type { Visitor } from '../../test/console/visitor.ts';
import {
  newPerson,
  other_password,
  password,
  setUpSecondFactor,
  signedIn,
} from '../../test/factories/people/people.ts';
import { testIdentityProvider } from '../../test/saml/identity_provider.ts';
import { openOneBrowser } from '../../test/console/open_console.ts';

/** The browser of everybody here, in which nobody is signed in when a test begins by a load. */
let visitor: Visitor;
let page: Page;
const world = openOneBrowser((opened) => {
  visitor = opened;
  page = opened.page;
});
const { skip } = world;

const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
const fill = (label: string, text: string) => page.getByLabel(label, { exact: true }).fill(text);
async function signIn(email: string, secret: string): Promise<void> {
  await fill('E-mail address', email);
  await fill('Password', secret);
  await press('Sign in');
}

test('signing in takes the second factor, and says what is wrong', { skip }, async () => {
  const user = await newPerson(world.harness);
  const { recovery_codes } = await setUpSecondFactor(
    world.harness,
    await signedIn(world.harness, user),
  );
  await page.goto('/');
  await page.waitForURL('**/login?next=*');
  assert.equal(await page.getByText('to continue.').count(), 0);
  await press('Sign in');
  await page.locator('[aria-invalid=true]').first().waitFor();
  assert.match(await focused(page), /^E-mail address: /);
  await signIn(user.email, 'not the password');
  await page.getByRole('alert').filter({ hasText: 'There is no account' }).waitFor();
  assert.equal(await page.locator('[aria-invalid=true]').count(), 0);
  await fill('Password', password);
  await press('Sign in');
  const code = page.getByLabel('Code of your second factor');
  await code.fill('000000');
  await press('Sign in');
  await page.getByRole('alert').filter({ hasText: 'The code is wrong' }).waitFor();
  await code.fill(recovery_codes[0]!);
  await code.press('Enter');
  await page.waitForURL('**/account');
  await page.getByText('You have 9 recovery codes left').waitFor();
  // A signed-in person is redirected.
  await page.goto('/login');
  await page.waitForURL('**/account');
});

test(
  'after too many tries it says how long to wait; without the server, that it cannot be reached',
  { skip },
  async () => {
    await page.goto('/login');
    await fill('E-mail address', `${randomUUID()}@example.org`);
    await fill('Password', 'not the password');
    for (let tries = 0; tries < 6; tries += 1) {
      await press('Sign in');
      await page
        .getByRole('alert')
        .filter({
          hasText:
            tries < 5 ? 'There is no account' : /Too many requests: try again in \d+ seconds/,
        })
        .waitFor();
    }
    await visitor.context.setOffline(true);
    await press('Sign in');
    await page.getByRole('alert').filter({ hasText: 'The server cannot be reached' }).waitFor();
    assert.ok(await page.getByRole('button', { name: 'Sign in', exact: true }).isEnabled());
    await visitor.context.setOffline(false);
    const complaints = visitor.complaints.splice(0);
    const of_others = complaints.filter((text) => !text.includes('ERR_INTERNET_DISCONNECTED'));
    assert.deepEqual(of_others, []);
  },
);

test('while an answer is awaited, the button cannot be pressed again', { skip }, async () => {
  let held: (() => void) | undefined;
  let requests = 0;
  await page.route('**/api/users/reset_password/', async (route) => {
    requests += 1;
    await new Promise<void>((resolve) => (held = resolve));
    await route.continue();
  });
  await page.goto('/forgot-password');
  await fill('E-mail address', 'nobody@example.org');
  const button = page.getByRole('button', { name: 'Mail me a link' });
  await button.click();
  await page.locator('form[aria-busy=true]').waitFor();
  assert.ok(await button.isDisabled());
  await page.getByLabel('E-mail address').press('Enter');
  held!();
  await page.getByText('a mail with a link to choose').waitFor();
  assert.equal(requests, 1);
  await page.unroute('**/api/users/reset_password/');
});

test('a new password by mail', { skip }, async () => {
  const user = await newPerson(world.harness);
  await page.goto('/login');
  await page.getByRole('link', { name: 'Forgot your password?' }).click();
  await page.waitForURL('**/forgot-password');
  await press('Mail me a link');
  await page.getByText('This field may not be blank.').waitFor();
  await fill('E-mail address', user.email);
  await press('Mail me a link');
  await page.getByText('a mail with a link to choose').waitFor();
  const link = await world.server.linkIn(user.email, 'Choose a new password');
  await page.goto(link);
  // The token has left the address.
  await page.waitForURL(`${world.server.address}/reset-password`);
  await fill('New password', 'aaaaaaaaaaaaaaaa');
  await press('Save the password');
  await page.getByText('This password is easy to guess').waitFor();
  await press('Show the password');
  await fill('New password', other_password);
  assert.equal(await page.getByLabel('New password', { exact: true }).getAttribute('type'), 'text');
  await press('Save the password');
  await page.getByText(`The password of ${user.email} was changed.`).waitFor();
  assert.match(await focused(page), /was changed/);
  await page.getByRole('link', { name: 'Sign in' }).click();
  await signIn(user.email, other_password);
  await page.waitForURL('**/account');
  await page.goto(link);
  await fill('New password', password);
  await press('Save the password');
  await page.getByRole('alert').filter({ hasText: 'This link was used already' }).waitFor();
  await page.reload();
  await page.getByText('Open the link of the mail again').waitFor();
});

test(
  'the sign-on of an organization is found by the address alone, and shown if it is the only way',
  { skip },
  async () => {
    const { organization } = await world.harness.newOrganization();
    // Another site, as the browser sees it, to which our own server answers.
    const elsewhere = world.server.address.replace('127.0.0.1', 'localhost');
    await world.harness.deps.db.run(sql`
    INSERT INTO domains (id, organization_id, domain, verification_challenge, sso_enforcement,
      saml_entity_id, saml_acs_url, saml_x509_cert, state, since_at, reason, created_at)
    VALUES (${randomUUID()}, ${organization.id}, 'enforced.example.com', '', 'saml',
      'https://idp.example', ${`${elsewhere}/healthz`},
      ${testIdentityProvider('acme').certificate}, 'verified', now(), '', now())`);
    await page.goto('/login');
    const onward = page.getByRole('button', { name: /^Continue with single sign-on/ });
    await onward.click();
    await page.getByText('Fill in your address above').waitFor();
    assert.match(await focused(page), /^E-mail address: /);
    await signIn('ada+1@enforced.example.com', password);
    const link = page.getByRole('alert').getByRole('link');
    assert.equal(
      await link.getAttribute('href'),
      `${world.server.address}/login/saml/?email=ada%2B1%40enforced.example.com`,
    );
    for (const way of [link, onward]) {
      await way.click();
      await page.waitForURL(`${elsewhere}/healthz?SAMLRequest=*`);
      await page.goBack();
      await page.getByLabel('E-mail address').fill('ada+1@enforced.example.com');
    }
    // The other site, and what the page says of it.
    visitor.complaints.length = 0;
  },
);
