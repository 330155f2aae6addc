import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import sql from 'sql-template-tag';
import { openConsole } from '../../test/console/open_console.ts';
import { checkEverywhere } from '../../test/console/visitor.ts';
import { addMember } from '../../test/factories/people/members.ts';
import { newPerson, password } from '../../test/factories/people/people.ts';

// Browsers have passkeys under a host name only.
const world = openConsole({ host: 'localhost' });
const { skip } = world;

/**
 * Plugs an authenticator into the browser. It shows passkeys while it `knows` the person, also the
 * one that a field asks for.
 */
async function plugIn(page: Page) {
  const session = await page.context().newCDPSession(page);
  await session.send('WebAuthn.enable');
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  const knows = (isUserVerified: boolean) =>
    session.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified });
  const kept = async () =>
    (await session.send('WebAuthn.getCredentials', { authenticatorId })).credentials;
  // The next visitor has the same page.
  const unplug = async () => {
    await session.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId });
    await session.send('WebAuthn.disable');
    await session.detach();
  };
  return { knows, kept, unplug };
}

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
const section = (page: Page) => page.getByRole('region', { name: 'Passkeys' });

async function signIn(page: Page, { email }: { email: string }): Promise<void> {
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await page.getByLabel('E-mail address').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await press(page, 'Sign in');
}

async function signOut(page: Page, { email }: { email: string }): Promise<void> {
  await press(page, email);
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.waitForURL('**/login');
}

/** Has the browser offer passkeys in fields, or not: the authenticator shows them unasked there. */
const fillIn = (page: Page, is_on: boolean) =>
  page.evaluate(`{
    const own = PublicKeyCredential;
    own.was ??= own.isConditionalMediationAvailable;
    own.isConditionalMediationAvailable = ${is_on} ? own.was : async () => false;
  }`);

async function addPasskey(page: Page, name: string): Promise<void> {
  const part = section(page);
  await part.getByText('Add a passkey').click();
  await part.getByLabel('Name').fill(name);
  await part.getByLabel('Your current password').fill(password);
  await part.getByRole('button', { name: 'Add passkey' }).click();
  await part.getByText('The passkey was added.').waitFor();
}

test(
  'a passkey is created, signs in, stays while it is asked for, and goes',
  { skip },
  async () => {
    const { page, leave } = await world.visit();
    const { knows, kept, unplug } = await plugIn(page);
    const user = await newPerson(world.harness);
    const home = await world.harness.newOrganization({ name: 'Strict <b>' });
    await addMember(world.harness.deps, home.organization.id, user, 1);
    const enforce = (enforced: boolean) =>
      world.harness.deps.db.run(sql`UPDATE organizations SET enforce_2fa = ${enforced}
      WHERE id = ${home.organization.id}::uuid`);
    await page.goto('/login?next=/account');
    await signIn(page, user);
    const part = section(page);
    await part.getByText('You have no passkey.').waitFor();
    await addPasskey(page, 'Laptop <b>');
    assert.equal((await part.locator('.codes li').allTextContents()).length, 10);
    assert.deepEqual(
      (await kept()).map(({ rpId, isResidentCredential }) => [rpId, isResidentCredential]),
      [['localhost', true]],
    );
    await fillIn(page, false);
    // The device does not know who is there.
    await knows(false);
    await signOut(page, user);
    await press(page, 'Sign in with a passkey');
    await page.getByRole('alert').filter({ hasText: 'The browser showed no passkey' }).waitFor();
    await knows(true);
    await press(page, 'Sign in with a passkey');
    await page.waitForURL(`${world.server.address}/projects/**`);
    await enforce(true);
    await page.goto('/account');
    await page.getByText('by passkey', { exact: false }).waitFor();
    await part.getByText('Rename', { exact: true }).click();
    await part.getByLabel('Name').first().fill('Old laptop');
    await part.getByRole('button', { name: 'Rename passkey' }).click();
    await part.getByText('The passkey was renamed.').waitFor();
    await part.getByText('Remove', { exact: true }).click();
    const remove = async () => {
      await part.getByLabel('Your current password').first().fill(password);
      await part.getByRole('button', { name: 'Use a passkey instead' }).first().click();
    };
    await remove();
    await part
      .getByRole('alert')
      .filter({ hasText: 'This is your last second factor, and Strict <b> asks for one' })
      .waitFor();
    await enforce(false);
    await remove();
    await part.getByText('The passkey was removed.').waitFor();
    await part.getByText('You have no passkey.').waitFor();
    await unplug();
    await checkEverywhere(page, 'no_passkey');
    await leave();
  },
);

test(
  'a passkey takes the place of a code, and the field for the address offers it',
  {
    skip,
  },
  async () => {
    const { page, leave } = await world.visit();
    const { unplug } = await plugIn(page);
    const user = await newPerson(world.harness);
    await page.goto('/login?next=/account');
    await signIn(page, user);
    await addPasskey(page, 'Phone');
    await fillIn(page, false);
    await signOut(page, user);
    await signIn(page, user);
    await page.getByLabel('Code of your second factor').waitFor();
    await press(page, 'Use a passkey instead');
    await page.waitForURL('**/account');
    await page
      .getByText('On: your passkeys count as one. You have 10 recovery codes left.')
      .waitFor();
    await fillIn(page, true);
    await press(page, user.email);
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByText('by passkey', { exact: false }).waitFor();
    await unplug();
    await checkEverywhere(page, 'with_passkey');
    await leave();
  },
);

test('a passkey alone confirms that it is you', { skip }, async () => {
  const { page, leave } = await world.visit();
  const { unplug } = await plugIn(page);
  const user = await newPerson(world.harness);
  const home = await world.harness.newOrganization();
  await addMember(world.harness.deps, home.organization.id, user, 15);
  await page.goto('/login?next=/account');
  await signIn(page, user);
  await addPasskey(page, 'Laptop');
  world.clock.pass(11 * 60_000);
  await page.goto(`/organizations/${home.organization.id}/security`);
  await page.getByLabel('Longest session, in hours').fill('12');
  await press(page, 'Save session limits');
  const dialog = page.getByRole('dialog', { name: 'Confirm that it is you' });
  await dialog.getByLabel('Your password').waitFor();
  await press(page, 'Use a passkey instead');
  await page.getByRole('region', { name: 'Sessions' }).getByText('Saved.').waitFor();
  assert.equal(await dialog.count(), 0);
  await unplug();
  world.clock.pass(11 * 60_000);
  await press(page, 'Save session limits');
  await dialog.getByRole('button', { name: 'Use a passkey instead' }).waitFor();
  await checkEverywhere(page, 'confirm_by_passkey');
  await leave();
});

test(
  'an IP address offers no passkey, and the account says where they work',
  {
    skip,
  },
  async () => {
    const { page, complaints, leave } = await world.visit();
    const user = await newPerson(world.harness);
    await page.goto(
      `${world.server.address.replace('localhost', '127.0.0.1')}/login?next=/account`,
    );
    await page.getByRole('button', { name: /^Continue with single sign-on/ }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Sign in with a passkey' }).count(), 0);
    await signIn(page, user);
    const part = section(page);
    await part.getByText('Add a passkey').click();
    await part.getByLabel('Your current password').fill(password);
    await part.getByRole('button', { name: 'Add passkey' }).click();
    const words = `Passkeys of this server only work at ${world.server.address}: open that`;
    await part.getByRole('alert').filter({ hasText: words }).waitFor();
    complaints.splice(0, Infinity, ...complaints.filter((text) => !text.startsWith('asks for')));
    await leave();
  },
);
