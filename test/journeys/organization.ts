import assert from 'node:assert/strict';
import { testIdentityProvider } from '../saml/identity_provider.ts';
import { eventually } from '../eventually.ts';
import type { Journey } from './journey.ts';

const guest = 'ada@example.com';
const password_of_guest = 'four words nobody else knows';

/** Invites two people, one with a typing error; the other joins, is promoted and removed. */
export const members: Journey = {
  name: 'Invitations and members',
  walk: async (world, { page, press, type, choose, see, shot }) => {
    const { organization } = await world.ask('GET', '/api/projects/1/');
    await world.signIn(page);
    await page.goto(`/organizations/${String(organization)}/members`);
    await press('Invite people');
    await type('Addresses', `${guest}, bob@example`);
    await press('Invite 2 people');
    await see(page.getByText('Must be an e-mail address.'));
    await shot('members_refused');
    await press('Leave it out');
    await press('Invite');
    await see('1 invite created.');
    await shot('members_invited');
    const { content } = await eventually('No mail came.', () =>
      world.mail.mails.find(({ to }) => to.includes(guest)),
    );
    const link = /^http\S+$/m.exec(content.text ?? '')![0];
    const other = await world.browser.newContext({ baseURL: world.server.address });
    const joining = await other.newPage();
    await joining.goto(link);
    await joining.getByLabel('First name').fill('Ada');
    await joining.getByLabel('Password', { exact: true }).fill(password_of_guest);
    await joining.getByRole('button', { name: 'Sign up and join' }).click();
    await joining.waitForURL(/\/projects\//);
    await page.goto(`/organizations/${String(organization)}/members`);
    await press('Manage Ada');
    await choose('Level', '8');
    await press('Change the level');
    await see(`The level of ${guest} was changed.`);
    await press('Manage Ada');
    await press('Remove them');
    const dialog = page.getByRole('dialog');
    await see(dialog);
    await shot('members_remove');
    await type(dialog.getByRole('textbox'), guest);
    await press(dialog.getByRole('button', { name: 'Remove them' }));
    await see(`${guest} was removed.`);
    await joining.reload();
    await joining.waitForLoadState('networkidle');
    await see(joining.locator('main'));
    await other.close();
  },
};

/**
 * A domain: the record, the look-up, the metadata of the provider, and the offer of a test sign-in.
 */
export const domain: Journey = {
  name: 'Domain and single sign-on',
  walk: async (world, { page, press, type, see, shot }) => {
    const { organization } = await world.ask('GET', '/api/projects/1/');
    await world.signIn(page);
    await page.goto(`/organizations/${String(organization)}/domains`);
    await type('Domain', 'acme.example');
    await press('Claim the domain');
    await page.getByRole('heading', { name: 'acme.example', level: 1 }).waitFor();
    const textOf = async (name: string) =>
      (await page.getByRole('region', { name, exact: true }).textContent())!;
    const [name, value] = [
      await textOf('the name of the record'),
      await textOf('the value of the record'),
    ];
    await press('Copy the value of the record');
    await press('Check now');
    await see(page.getByRole('region', { name: '2. Check the record' }));
    await shot('domain_not_proved');
    world.dns.set(name, { records: [{ type: 'TXT', strings: [value] }] });
    await press('Check now');
    await see(
      page.getByRole('region', { name: '1. Add the record to your DNS' }).getByText('Done'),
    );
    const acme = testIdentityProvider('acme');
    await type('or its text', metadataOf(acme));
    await press('Fill in the fields');
    await see(/filled in/i);
    await press('Save the provider');
    await see(page.getByRole('region', { name: /^3\./ }).getByText('Done'));
    await shot('domain_provider');
    await page.getByRole('button', { name: 'Start test' }).waitFor();
  },
};

/** The metadata of a provider, as it offers it for import. */
function metadataOf({ entity_id, sso_url, certificate }: ReturnType<typeof testIdentityProvider>) {
  const text = certificate.replaceAll(/-----[^-]+-----|\s/g, '');
  return `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${entity_id}">
<IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">
<KeyDescriptor use="signing"><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data>
<X509Certificate>${text}</X509Certificate></X509Data></KeyInfo></KeyDescriptor>
<SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"
 Location="${sso_url}"/></IDPSSODescriptor></EntityDescriptor>`;
}

/** A key that is created, rotated and revoked, and its entries in the person's own activity. */
export const keys: Journey = {
  name: 'Keys and activity',
  walk: async (world, { page, press, type, choose, see, shot }) => {
    await world.signIn(page);
    await page.goto('/account');
    await press(page.getByText('Create a key', { exact: true }));
    await type('Name of the key', 'Nightly job');
    await press('Create the key');
    await see('Choose at least one scope.');
    await press(page.getByLabel(/^batch_export:read/));
    await press('Create the key');
    await see('It is shown once. Keep it in your password manager.');
    await shot('keys_created');
    const key = page.getByRole('listitem').filter({ hasText: 'Nightly job' });
    await press(key.getByText('Rotate this key'));
    await choose(key.getByLabel('The old key works'), '0');
    await press(/^Rotate key/);
    await see('The key was rotated.');
    await press(/^Revoke.*Nightly job/);
    await press(page.getByRole('dialog').getByRole('button', { name: 'Revoke the key' }));
    await see('The key was revoked.');
    await press('Your activity');
    await see(page.getByText(/Nightly job/));
    await shot('keys_activity');
    assert.ok((await page.getByText(/Nightly job/).count()) >= 3);
  },
};
