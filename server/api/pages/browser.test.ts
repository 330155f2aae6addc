import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { checkPage, focused, openPageServer, openVisitor, startChromium } from '../../../test/chromium.ts';
import type { PageServer, Visitor } from '../../../test/chromium.ts';
import type { Harness, TestOrganization } from '../../../test/harness.ts';
import { codeOf, forgetAllAttempts, newPerson, openTestClock, other_password, password, setUpSecondFactor, signedIn } from '../../../test/people.ts';

const started = await startChromium();
const skip = typeof started === 'string' ? started : false;
const browser = started as Browser;
const clock = openTestClock();

let server: PageServer;
let harness: Harness;
let visitor: Visitor;
let page: Page;
before(async () => void ({ harness } = server = await openPageServer(clock)));
after(async () => {
  if (skip === false) await browser.close();
  await server.close();
});
beforeEach(async () => {
  await forgetAllAttempts(harness);
  if (skip !== false) return;
  visitor = await openVisitor(browser, server.address);
  page = visitor.page;
});

/** Ends the visit; fails when a page broke its own policy, a script failed, or something was asked of another site. */
async function leave({ context, complaints }: Visitor): Promise<void> {
  await context.close();
  assert.deepEqual(complaints, []);
}

const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
const fill = (label: string, text: string) => page.getByLabel(label, { exact: true }).fill(text);
async function signIn(email: string, secret: string): Promise<void> {
  await fill('E-mail address', email);
  await fill('Password', secret);
  await press('Sign in');
}
const path = () => page.url().slice(server.address.length);
const levelOf = async (home: TestOrganization, email: string) =>
  (await harness.request('GET', `/api/organizations/${home.organization.id}/members/`, { key: home.key })).body.results.find(
    (member: any) => member.user.email === email,
  )?.level;

async function invite(target_email: string): Promise<TestOrganization> {
  const home = await harness.newOrganization({ name: 'Analytical <Engines>' });
  const body = { target_email, first_name: 'Ada', level: 8 };
  assert.equal((await harness.request('POST', `/api/organizations/${home.organization.id}/invites/`, { key: home.key, body })).status, 201);
  return home;
}

test('from the mail of an invite to membership, with the keyboard alone', { skip }, async () => {
  const email = `${randomUUID()}@example.org`;
  const home = await invite(email);
  await page.goto(await server.linkIn(email, 'invites you'));
  await checkPage(page);
  assert.equal(await page.getByRole('heading', { level: 1 }).textContent(), 'Join Analytical <Engines>');
  assert.match(path(), /^\/invite\/[0-9a-f-]+$/, 'the token has left the address');
  await page.getByLabel('Last name').focus();
  await page.keyboard.type('Lovelace');
  await page.keyboard.press('Tab');
  await page.keyboard.type('ada ada ada');
  await page.keyboard.press('Enter');
  await page.locator('[aria-invalid=true]').waitFor();
  assert.equal(await focused(page), 'Password: Must have at least 12 characters.');
  await page.keyboard.type(password);
  await page.keyboard.press('Enter');
  await page.waitForURL('**/account');
  await checkPage(page);
  assert.equal(await levelOf(home, email), 8);
  assert.match((await page.getByRole('main').textContent())!, /You are an administrator/);
  assert.equal(await page.getByLabel('Last name').inputValue(), 'Lovelace');
  await leave(visitor);
});

test('who has an account signs in with his second factor and joins', { skip }, async () => {
  const user = await newPerson(harness);
  const { secret } = await setUpSecondFactor(harness, await signedIn(harness, user));
  const home = await invite(user.email);
  await page.goto(await server.linkIn(user.email, 'invites you'));
  await checkPage(page);
  await fill('Password', 'not the password');
  await press('Sign in and join');
  await page.getByRole('alert').filter({ hasText: 'no account with this e-mail address and password' }).waitFor();
  await fill('Password', password);
  await press('Sign in and join');
  await page.getByLabel('Code of your second factor').waitFor();
  await checkPage(page);
  assert.match(await focused(page), /^Code of your second factor: /);
  await press('Sign in and join');
  await page.getByText('Fill in the code.').waitFor();
  await page.getByLabel('Code of your second factor').fill(codeOf(secret, clock.now(), 1));
  await press('Sign in and join');
  await page.waitForURL('**/account');
  assert.equal(await levelOf(home, user.email), 8);
  await leave(visitor);
});

test('who is signed in with another account signs out, and finds the invite again', { skip }, async () => {
  const user = await newPerson(harness);
  const email = `${randomUUID()}@example.org`;
  await invite(email);
  await page.goto('/login');
  await signIn(user.email, password);
  await page.waitForURL('**/account');
  await page.goto(await server.linkIn(email, 'invites you'));
  assert.match((await page.getByRole('main').textContent())!, new RegExp(`You are signed in as ${user.email}`));
  await press('Sign out');
  await page.getByRole('button', { name: 'Sign up and join' }).waitFor();
  await leave(visitor);
});

test('signing in takes the second factor, and says what is wrong', { skip }, async () => {
  const user = await newPerson(harness);
  const { recovery_codes } = await setUpSecondFactor(harness, await signedIn(harness, user));
  await page.goto('/');
  assert.equal(path(), '/login');
  await checkPage(page);
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
  assert.match((await page.locator('#second_factor').textContent())!, /You have 9 recovery codes left/);
  await page.goto('/login');
  assert.equal(path(), '/account', 'who is signed in is led on');
  await leave(visitor);
});

test('after too many tries it says how long to wait; without the server, that it cannot be reached', { skip }, async () => {
  await page.goto('/login');
  await fill('E-mail address', `${randomUUID()}@example.org`);
  await fill('Password', 'not the password');
  for (let tries = 0; tries < 6; tries += 1) {
    await press('Sign in');
    await page
      .getByRole('alert')
      .filter({ hasText: tries < 5 ? 'There is no account' : /Too many requests: try again in \d+ seconds/ })
      .waitFor();
  }
  await visitor.context.setOffline(true);
  await press('Sign in');
  await page.getByRole('alert').filter({ hasText: 'The server cannot be reached' }).waitFor();
  assert.ok(await page.getByRole('button', { name: 'Sign in', exact: true }).isEnabled());
  assert.equal(visitor.complaints.filter((text) => text.includes('ERR_INTERNET_DISCONNECTED')).length, visitor.complaints.length);
  await visitor.context.close();
});

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
  const button = page.getByRole('button');
  await button.click();
  await page.locator('form[aria-busy=true]').waitFor();
  assert.ok(await button.isDisabled());
  await page.getByLabel('E-mail address').press('Enter');
  held!();
  await page.locator('#done').waitFor();
  assert.equal(requests, 1);
  await leave(visitor);
});

test('a new password by mail', { skip }, async () => {
  const user = await newPerson(harness);
  await page.goto('/login');
  await page.getByRole('link', { name: 'Forgot your password?' }).click();
  await page.waitForURL('**/forgot-password');
  await checkPage(page);
  await press('Mail me a link');
  await page.getByText('This field may not be blank.').waitFor();
  await fill('E-mail address', user.email);
  await press('Mail me a link');
  await page.getByText('is on its way there').waitFor();
  const link = await server.linkIn(user.email, 'Choose a new password');
  await page.goto(link);
  await checkPage(page);
  assert.equal(path(), '/reset-password', 'the token has left the address');
  await fill('New password', 'aaaaaaaaaaaaaaaa');
  await press('Save the password');
  await page.getByText('This password is easy to guess').waitFor();
  await page.getByLabel('Show the password').check();
  await fill('New password', other_password);
  assert.equal(await page.getByLabel('New password').getAttribute('type'), 'text');
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
  await leave(visitor);
});

test('the account: a second factor, a key, the sessions, the address', { skip }, async () => {
  const user = await newPerson(harness);
  const elsewhere = await signedIn(harness, user);
  await visitor.context.addCookies([{ name: 'sluice_session', value: (await harness.newSession(user)).split('=')[1]!, url: server.address }]);
  await page.goto('/account');
  await checkPage(page);
  const part = (id: string) => page.locator(`section:has(#${id})`);
  await part('second_factor').getByLabel('Your present password').fill('not the password');
  await press('Set up a second factor');
  await page.getByText('This is not the present password.').waitFor();
  await part('second_factor').getByLabel('Your present password').fill(password);
  await press('Set up a second factor');
  await page.locator('#totp_setup').waitFor();
  const secret = (await page.locator('#totp_setup code').textContent())!;
  assert.match(secret, /^([A-Z2-7]{4} ){7}[A-Z2-7]{4}$/);
  assert.match((await page.getByRole('link', { name: 'open the app' }).getAttribute('href'))!, /^otpauth:\/\/totp\//);
  await fill('The six digits that the app shows', codeOf(secret.replaceAll(' ', ''), clock.now()));
  await press('Switch it on');
  await page.getByText('Your second factor is set up.').waitFor();
  assert.equal(await page.locator('#codes li').count(), 10);
  await checkPage(page);
  await page.getByText('Make a key').click();
  await press('Make the key');
  await part('keys').getByText('Must have at least 1 entry.').waitFor();
  await fill('What it is for', 'A <b> & "key"');
  await page.getByLabel('organization:read').check();
  await press('Make the key');
  await page.locator('#new_key').waitFor();
  const key = (await page.locator('#new_key-value').textContent())!;
  const own = (await harness.request('GET', '/api/personal_api_keys/@current/', { key })).body;
  assert.deepEqual([own.label, own.scopes], ['A <b> & "key"', ['organization:read']]);
  assert.ok(Math.abs(Date.parse(own.expires_at) - clock.now() - 90 * 86_400_000) < 60_000);
  page.once('dialog', (dialog) => void dialog.dismiss());
  await press('Revoke the key A <b> & "key"');
  page.once('dialog', (dialog) => void dialog.accept());
  await press('Revoke the key A <b> & "key"');
  await page.getByText('You have no keys.').waitFor();
  assert.equal((await harness.request('GET', '/api/personal_api_keys/@current/', { key })).status, 401);
  await part('sessions')
    .getByRole('button', { name: /^End the session from 127\.0\.0\.1/ })
    .click();
  await page.getByText('The session was ended.').waitFor();
  assert.equal((await elsewhere.ask('GET', '/api/users/@me/')).status, 401);
  assert.equal(await page.evaluate('document.activeElement.id'), 'sessions-title');
  await press('Mail me a link to confirm it');
  await page.goto(await server.linkIn(user.email, 'Confirm your e-mail address'));
  await checkPage(page);
  assert.equal(path(), '/verify-email');
  await press('Confirm the address');
  await page.getByText(`Thank you: ${user.email} is confirmed.`).waitFor();
  await page.getByRole('link', { name: 'To your account' }).click();
  await page.getByText('confirmed', { exact: true }).waitFor();
  await press('Sign out');
  await page.waitForURL('**/login');
  await leave(visitor);
});

test('the sign-on of an organization is found by the address alone', { skip }, async () => {
  await page.goto('/login');
  await page.getByRole('button', { name: /^Continue with single sign-on/ }).click();
  assert.match(await focused(page), /^E-mail address: Fill in your address/);
  await fill('E-mail address', 'ada+1@example.org');
  await page.getByRole('button', { name: /^Continue with single sign-on/ }).click();
  await page.waitForURL('**/login/saml/?email=ada%2B1%40example.org');
  await visitor.context.close();
});

test('pages run nothing that somebody writes into them', { skip }, async () => {
  await page.goto('/login');
  const refused = await page.evaluate<string[]>(`new Promise((resolve) => {
    const seen = [];
    document.addEventListener('securitypolicyviolation', ({ effectiveDirective }) => { seen.push(effectiveDirective); if (seen.length === 3) resolve(seen.sort()); });
    document.body.append(Object.assign(document.createElement('script'), { textContent: 'window.taken = true' }));
    document.body.append(Object.assign(document.createElement('img'), { src: 'https://example.org/x.png' }));
    fetch('https://example.org/').catch(() => undefined);
  })`);
  assert.deepEqual(refused, ['connect-src', 'img-src', 'script-src-elem']);
  assert.equal(await page.evaluate('window.taken'), undefined);
  await visitor.context.close();
});
