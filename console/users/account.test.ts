import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import sql from 'sql-template-tag';
import { checkPage, focused, giveSession } from '../../test/console/visitor.ts';
import type { Visitor } from '../../test/console/visitor.ts';
import { codeOf, newPerson, password, signedIn } from '../../test/factories/people/people.ts';
import type { UserRow } from '../../server/api/users/store.ts';
import { openOneBrowser } from '../../test/console/open_console.ts';

/** The browser of everybody here: each signs in anew, and their account is a load. */
let visitor: Visitor;
let page: Page;
const world = openOneBrowser((opened) => {
  visitor = opened;
  page = opened.page;
});
const { skip, clock } = world;

/** Opens the account of the person in the browser, in which they are signed in. */
async function openAccount(user: UserRow): Promise<void> {
  await giveSession(visitor, world.server, user);
  await page.goto('/account');
  await page.getByText(`You are signed in as ${user.email}`).waitFor();
}

const section = (name: string) => page.getByRole('region', { name });
const press = (name: string) => page.getByRole('button', { name, exact: true }).click();

test('a second factor is set up, its codes are replaced, and it is removed', { skip }, async () => {
  await openAccount(await newPerson(world.harness));
  const part = section('Second factor');
  await part.getByLabel('Your current password').fill('not the password');
  await press('Set up a second factor');
  await page.getByText('This is not the current password.').waitFor();
  await part.getByLabel('Your current password').fill(password);
  await press('Set up a second factor');
  await page.getByText('Add Sluice to your authenticator app').waitFor();
  const secret = (await part.locator('code').textContent())!;
  assert.match(secret, /^([A-Z2-7]{4} ){7}[A-Z2-7]{4}$/);
  assert.match(
    (await page.getByRole('link', { name: 'open the app' }).getAttribute('href'))!,
    /^otpauth:\/\/totp\//,
  );
  await page.getByLabel('The six digits that the app shows').fill('12345');
  await press('Turn on second factor');
  await page.getByText('Must be six digits.').waitFor();
  await page
    .getByLabel('The six digits that the app shows')
    .fill(codeOf(secret.replaceAll(' ', ''), clock.now()));
  await press('Turn on second factor');
  await part.getByText('Your second factor is set up.').waitFor();
  await checkPage(page);
  const codes = await part.getByRole('listitem').allTextContents();
  assert.equal(new Set(codes).size, 10);
  await part.getByText('Create new recovery codes').click();
  await part.locator('details').nth(0).getByLabel('Your current password').fill(password);
  await part.locator('details').nth(0).getByLabel('Code').fill(codes[0]!);
  await press('Create new codes');
  await part.getByText('You have new recovery codes').waitFor();
  const newer = await part.getByRole('listitem').allTextContents();
  assert.equal(new Set([...codes, ...newer]).size, 20);
  await part.locator('summary').nth(1).click();
  await part.locator('details').nth(1).getByLabel('Your current password').fill(password);
  await part.locator('details').nth(1).getByLabel('Code').fill(codes[1]!);
  await press('Remove the second factor');
  await part.getByText('The code is wrong or was used before').waitFor();
  await part.locator('details').nth(1).getByLabel('Code').fill(newer[1]!);
  await press('Remove the second factor');
  await part.getByText('Your second factor was removed.').waitFor();
  await part.getByRole('button', { name: 'Set up a second factor' }).waitFor();
});

test('a key is shown once, works, and no longer does when it is revoked', { skip }, async () => {
  const { user, organization, project } = await world.harness.newOrganization();
  await openAccount(user);
  await page.getByText('Create a key').click();
  await press('Create the key');
  await section('Personal API keys').getByText('Choose at least one scope.').waitFor();
  await page.getByLabel('Name of the key').fill('A <b> & "key"');
  await page.getByLabel('organization:read').check();
  await page.locator('input[name=scoped_organizations]').check();
  await page.locator('input[name=scoped_teams]').check();
  await page.locator('[name=allowed_ip_ranges]').fill('127.0.0.0/8, nowhere');
  await press('Create the key');
  await page.getByText('Must be an IP address or a network, such as').waitFor();
  await page.locator('[name=allowed_ip_ranges]').fill('127.0.0.0/8, ::1');
  await press('Create the key');
  await page.getByText('It is shown once').waitFor();
  const key = (await section('Personal API keys').locator('.panel code').textContent())!;
  const own = (await world.harness.request('GET', '/api/personal_api_keys/@current/', { key }))
    .body;
  assert.deepEqual([own.label, own.scopes], ['A <b> & "key"', ['organization:read']]);
  assert.deepEqual(own.scoped_organizations, [organization.id]);
  assert.deepEqual(own.scoped_teams, [project.id]);
  assert.deepEqual(own.allowed_ip_ranges, ['127.0.0.0/8', '::1']);
  await page
    .getByText(/organization:read, in project .*, and only in organization .*, and only from 127/)
    .waitFor();
  assert.ok(Math.abs(Date.parse(own.expires_at) - clock.now() - 90 * 86_400_000) < 60_000);
  const dialog = page.getByRole('dialog', { name: 'Revoke the key “A <b> & "key"”?' });
  await press('Revoke the key A <b> & "key"');
  await checkPage(page);
  await dialog.getByRole('button', { name: 'Keep the key' }).click();
  assert.match(await focused(page), /^Revoke/);
  assert.equal(
    (await world.harness.request('GET', '/api/personal_api_keys/@current/', { key })).status,
    200,
  );
  await press('Revoke the key A <b> & "key"');
  await dialog.getByRole('button', { name: 'Revoke the key' }).click();
  await page.getByText('The key was revoked.').waitFor();
  assert.equal(
    (await world.harness.request('GET', '/api/personal_api_keys/@current/', { key })).status,
    401,
  );
  await page.reload();
  assert.ok(!(await page.content()).includes(key));
});

test('sessions are ended, and the address is confirmed', { skip }, async () => {
  const user = await newPerson(world.harness);
  const [first, second] = [
    await signedIn(world.harness, user),
    await signedIn(world.harness, user),
  ];
  await openAccount(user);
  await page
    .getByRole('button', { name: /^End the session from 127\.0\.0\.1/ })
    .first()
    .click();
  await press('End the session');
  await page.getByText('The session was ended.').waitFor();
  assert.match(await focused(page), /^Sessions: /);
  await press('End all others');
  await press('End the other session');
  await page.getByText('All your other sessions were ended.').waitFor();
  for (const ended of [first, second])
    assert.equal((await ended.ask('GET', '/api/users/@me/')).status, 401);
  const third = await signedIn(world.harness, user);
  await press('Mail me a link to confirm it');
  const link = await world.server.linkIn(user.email, 'Confirm your e-mail address');
  await press(user.email);
  await page.getByRole('menuitem', { name: 'Dark' }).click();
  await page.evaluate(() => localStorage.setItem('planted', 'of this browser'));
  await press(user.email);
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.waitForURL('**/login');
  // The browser forgets what was stored, and the theme goes on.
  assert.equal(await page.evaluate(() => localStorage.getItem('planted')), null);
  await page.reload();
  assert.equal(await page.locator('html').getAttribute('data-mantine-color-scheme'), 'dark');
  // It takes the account as well as the mail.
  await page.goto(link);
  await page.getByLabel('E-mail address').fill(user.email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await press('Sign in');
  await page.waitForURL(`${world.server.address}/verify-email`); // The token has left the address.
  // Opening the link does nothing, because programs that look for viruses open links too.
  assert.equal((await third.ask('GET', '/api/users/@me/')).body.is_email_verified, false);
  await press('Confirm the address');
  await page.getByText(`Thank you: ${user.email} is confirmed.`).waitFor();
  await page.getByRole('link', { name: 'To your account' }).click();
  await page.getByText('confirmed', { exact: true }).waitFor();
});

test('a person signed out elsewhere is led to the sign-in', { skip }, async () => {
  const user = await newPerson(world.harness);
  await openAccount(user);
  await (await signedIn(world.harness, user)).ask('DELETE', '/api/sessions/');
  await press('Save the name');
  await page.waitForURL('**/login?next=*');
  await page.getByText('Your session has ended.').waitFor();
});

test('pages run nothing that somebody writes into them', { skip }, async () => {
  await page.goto('/login');
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  const refused = await page.evaluate<string[]>(`new Promise((resolve) => {
    const seen = [];
    document.addEventListener('securitypolicyviolation', ({ effectiveDirective }) => {
      seen.push(effectiveDirective);
      if (seen.length === 3) resolve(seen.sort());
    });
    const add = (name, fields) =>
      document.body.append(Object.assign(document.createElement(name), fields));
    add('script', { textContent: 'window.taken = true' });
    add('img', { src: 'https://example.org/x.png' });
    fetch('https://example.org/').catch(() => undefined);
  })`);
  assert.deepEqual(refused, ['connect-src', 'img-src', 'script-src-elem']);
  assert.equal(await page.evaluate('window.taken'), undefined);
  // The browser complains about each refused request.
  assert.notEqual(visitor.complaints.splice(0).length, 0);
});

test('the account shows what is there, whatever it is called', { skip }, async () => {
  const hostile = `<img src=x onerror="document.title='taken'">"&amp;`;
  const home = await world.harness.newOrganization({ name: `Home ${hostile}` });
  const { db } = world.harness.deps;
  await db.run(sql`UPDATE organizations SET enforce_2fa = true
    WHERE id = ${home.organization.id}::uuid`);
  await db.run(sql`UPDATE users SET first_name = ${`First ${hostile}`} WHERE id = ${home.user.id}`);
  await world.harness.newKey(home.user, { label: `Key ${hostile}`, scopes: ['user:read'] });
  await world.harness.newSession(home.user);
  await db.run(sql`UPDATE sessions SET user_agent = ${`Agent ${hostile}`}
    WHERE user_id = ${home.user.id}`);
  await openAccount(home.user);
  for (const name of ['Home', 'Key', 'Agent'])
    await page.getByText(`${name} ${hostile}`).first().waitFor();
  assert.equal(await page.getByLabel('First name').inputValue(), `First ${hostile}`);
  await page.getByText('Closed to you until you set up a second factor').waitFor();
  assert.equal(await page.getByText('this browser').count(), 1);
  // An account without a password is asked for none.
  await page.getByText('Choose a password').waitFor();
  assert.equal(await page.locator('input[name=current_password]').count(), 0);
  assert.equal(await page.title(), 'Your account - Sluice');
});
