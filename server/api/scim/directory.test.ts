import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../test/around_tests.ts';
import { newDirectory, patchOf } from '../../../test/factories/people/directories.ts';
import type { TestDirectory } from '../../../test/factories/people/directories.ts';
import { openDomainWorld } from '../../../test/factories/people/domains.ts';
import {
  accountAt,
  beginSaml,
  genuine,
  openNavigator,
  respond,
} from '../../../test/factories/people/single_sign_on.ts';
import type { Harness } from '../../../test/harness.ts';
import { testIdentityProvider } from '../../../test/saml/identity_provider.ts';

let harness: Harness;
const world = aroundTests(openDomainWorld, async (opened) => {
  harness = opened.harness;
});

const provider = testIdentityProvider('acme');
const saml = {
  saml_entity_id: provider.entity_id,
  saml_acs_url: provider.sso_url,
  saml_x509_cert: provider.certificate,
  jit_provisioning_enabled: true,
};

/** A whole sign-in through the provider; gives the organizations that the person is in then. */
async function signIn(email: string): Promise<string[] | undefined> {
  const browser = openNavigator(harness);
  const request = await beginSaml(browser, email);
  const clock = { now: () => world.now(), pass: () => undefined };
  await respond(browser, genuine({ clock }, request, { email }));
  const account = await accountAt(harness, browser);
  return account?.organizations.map(({ id }: { id: string }) => id);
}

const setActive = async (own: TestDirectory, id: string, active: boolean) => {
  const answer = await own.scim(
    'PATCH',
    `/Users/${id}`,
    patchOf({ op: 'replace', value: { active } }),
  );
  assert.equal(answer.status, 200, answer.text);
};
const setState = (own: TestDirectory, state: string) =>
  harness.deps.db.run(sql`UPDATE domains SET state = ${state} WHERE id = ${own.domain.id}`);

test('an owner switches a directory on, and off', async () => {
  const home = await harness.newOrganization();
  const member = await harness.newMember(home.organization.id, 1);
  const claimed = await world.claim(home);
  const url = `/api/organizations/${home.organization.id}/domains/${claimed.id}/scim/`;
  const send = (method: string, path: string, key = home.key, body: object = { name: 'One' }) =>
    harness.request(method, path, { key, ...(method === 'GET' ? {} : { body }) });
  const early = await send('POST', `${url}tokens/`);
  assert.deepEqual([early.status, early.body.code], [400, 'verification_required']);
  const off = await send('GET', url, member.key);
  assert.deepEqual(
    [off.body.is_on, off.body.token_count, off.body.may_manage_owners, off.body.base_url],
    [false, 0, false, `${harness.deps.config.public_url}/scim/v2/${claimed.id}`],
  );
  for (const method of ['DELETE', 'PATCH']) assert.equal((await send(method, url)).status, 404);
  const own = await newDirectory(harness, home);
  const ada = await own.provision('ada');
  await setActive(own, (await own.provision('bob')).id, false);
  const { body } = await send('GET', own.url);
  assert.deepEqual(
    [body.is_on, body.active_people, body.deactivated_people, body.groups, body.group_count],
    [true, 1, 1, [], 0],
  );
  assert.equal(body.token_count, 1);
  assert.equal(Date.parse(body.last_used_at), world.now());
  assert.equal((await send('DELETE', own.url)).status, 204);
  assert.equal((await own.scim('GET', '/Users')).status, 401);
  assert.equal(await own.levelOf(ada['userName']), 1);
  assert.deepEqual(await own.entries(1), [`deleted scim ${own.domain.domain}`]);
});

test('a provisioned person signs in by SAML; a deactivated one does not', async () => {
  const own = await newDirectory(harness);
  await world.change(own, own.domain, saml);
  const { id, userName: email } = await own.provision('ada', { name: { givenName: 'Ada' } });
  const home = own.organization.id;
  assert.deepEqual(await signIn(email), [home]);
  await setActive(own, id, false);
  assert.equal(await signIn(email), undefined);
  // Nor where they belong to another organization: they are who they were there, by other ways.
  const other = await harness.newOrganization();
  const join = sql`INSERT INTO members (id, organization_id, user_id, level) SELECT
    gen_random_uuid(), ${other.organization.id}::uuid, id, 1 FROM users WHERE uuid = ${id}::uuid`;
  await harness.deps.db.run(join);
  assert.equal(await signIn(email), undefined);
  await setActive(own, id, true);
  assert.deepEqual(await signIn(email), [home]);
  await own.scim('DELETE', `/Users/${id}`);
  assert.deepEqual(await signIn(email), [home]);
});

test('the former address of an account brings no person back', async () => {
  const own = await newDirectory(harness);
  await world.change(own, own.domain, saml);
  const at = own.domain.domain;
  const home = own.organization.id;
  const [ada, bob] = [await own.provision('ada'), await own.provision('bob')];
  const set = (id: string, email: string) =>
    harness.deps.db.run(sql`UPDATE users SET email = ${email} WHERE uuid = ${id}::uuid`);
  // One moves their account elsewhere before they are taken out, one deletes it afterwards.
  await set(ada.id, `ada.${at}@private.example`);
  for (const { id } of [ada, bob]) await setActive(own, id, false);
  await harness.deps.db.run(sql`DELETE FROM users WHERE uuid = ${bob.id}::uuid`);
  for (const name of ['ada', 'bob']) assert.equal(await signIn(`${name}@${at}`), undefined, name);
  // Others are let in by their sign-in, and these by the directory.
  assert.deepEqual(await signIn(`eve@${at}`), [home]);
  const again = await own.provision('ada');
  assert.notEqual(again.id, ada.id);
  assert.deepEqual(await signIn(`ada@${at}`), [home]);
  await own.scim('DELETE', `/Users/${again.id}`);
  assert.deepEqual(await signIn(`ada@${at}`), [home]);
});

test('an invite does not bring back a person whom the directory has deactivated', async () => {
  const own = await newDirectory(harness);
  const { id, userName: email } = await own.provision('ada');
  const url = `/api/organizations/${own.organization.id}/invites/`;
  const user = await harness.deps.db.row<{ id: number }>(
    sql`SELECT id FROM users WHERE uuid = ${id}::uuid`,
  );
  await harness.deps.db.run(sql`DELETE FROM members WHERE user_id = ${user!.id}`);
  const invited = await own.ask('POST', url, { target_email: email });
  assert.equal(invited.status, 201, invited.text);
  // Removed by hand, they are nobody whom the directory sees; it creates them again.
  assert.equal((await own.scim('GET', `/Users/${id}`)).status, 404);
  await own.provision('ada');
  const key = await harness.newKey(user!);
  await setActive(own, id, false);
  const body = { target_email: email };
  const refused = await own.ask('POST', url, body);
  assert.deepEqual([refused.status, refused.body.attr], [400, 'target_email']);
  assert.match(refused.body.detail, /directory of the organization has deactivated/);

  await setState(own, 'lapsed');
  const { body: invite } = await own.ask('POST', url, body);
  await setState(own, 'verified');
  const accept = () =>
    harness.request('POST', `/api/invites/${invite.id}/accept/`, { key, body: {} });
  await harness.deps.db.run(sql`UPDATE users SET is_email_verified = true WHERE id = ${user!.id}`);
  const forbidden = await accept();
  assert.deepEqual([forbidden.status, forbidden.body.code], [403, 'permission_denied']);
  const resent = await own.ask('POST', `${url}${invite.id}/resend/`);
  assert.match(`${resent.status} ${resent.body.detail}`, /^400 .*has deactivated/);
  await setState(own, 'lapsed');
  assert.equal((await accept()).status, 201);
  await setState(own, 'verified');
  const { body: seen } = await own.scim('GET', `/Users/${id}`);
  assert.equal(seen.active, true);
});

test('joining by directory sends no mail, a change of address does', async () => {
  const own = await newDirectory(harness);
  const at = own.domain.domain;
  const { id } = await own.provision('ada');
  await own.scim(
    'PATCH',
    `/Users/${id}`,
    patchOf({ op: 'replace', value: { userName: `eve@${at}` } }),
  );
  const [moved] = await world.mailed(`ada@${at}`, 'address was changed', 1);
  assert.match(moved!.content.text!, new RegExp(`the address eve@${at}`));
  // Mails go out in the order of their changes, so one of the join would be there.
  assert.deepEqual(await world.mailed(own.user.email, 'joined', 0), []);
  const account = await harness.deps.db.row<{ said: string }>(sql`SELECT activity || ' ' || scope
    AS said FROM activity WHERE chain_id = ${id}::uuid`);
  assert.equal(account!.said, 'updated member');
});

test('a directory goes with its domain, and leaves nothing of a deleted person', async () => {
  const own = await newDirectory(harness);
  const [ada, bob] = [await own.provision('ada'), await own.provision('bob')];
  await own.scim('POST', '/Groups', {
    displayName: 'A',
    members: [{ value: ada.id }, { value: bob.id }],
  });
  const left = async () =>
    (await harness.deps.db.row(sql`
      SELECT (SELECT count(*) FROM scim_users WHERE domain_id = ${own.domain.id}) AS people,
        (SELECT count(*) FROM scim_group_members m JOIN scim_groups g ON g.id = m.group_id
          WHERE g.domain_id = ${own.domain.id}) AS members,
        (SELECT count(*) FROM scim_groups WHERE domain_id = ${own.domain.id}) AS groups,
        (SELECT count(*) FROM scim_left_addresses
          WHERE domain_id = ${own.domain.id}) AS addresses`))!;
  await harness.deps.db.run(sql`DELETE FROM users WHERE uuid = ${ada.id}::uuid`);
  assert.deepEqual(await left(), { people: 1, members: 1, groups: 1, addresses: 1 });
  await own.ask('DELETE', own.url.replace('scim/', ''));
  assert.deepEqual(await left(), { people: 0, members: 0, groups: 0, addresses: 0 });
  assert.equal(await own.levelOf(bob['userName']), 1);
});
