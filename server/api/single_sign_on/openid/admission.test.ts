import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../test/around_tests.ts';
import { newPerson } from '../../../../test/factories/people/people.ts';
import { accountAt, assertRefused } from '../../../../test/factories/people/single_sign_on.ts';
import type { OpenidProvider } from '../../../platform/openid_providers.ts';
import {
  email,
  openOpenidSignOn,
  persons,
} from '../../../../test/factories/people/openid_sign_on.ts';
import type { OpenidSignOn } from '../../../../test/factories/people/openid_sign_on.ts';
import { addMember } from '../../../../test/factories/people/members.ts';

let world: OpenidSignOn['world'];
let provider: OpenidSignOn['provider'];
const signing = aroundTests(openOpenidSignOn, async (opened) => {
  ({ world, provider } = opened);
});
beforeEach(() => {
  provider.fault = undefined;
  provider.person = persons['google-oauth2'];
});

test('without a verified domain only a verified account is signed in', async () => {
  const address = 'grace@home.example';
  provider.person = {
    sub: '7',
    claims: { hd: 'home.example' },
    info: { email: address, email_verified: true },
  };
  const browser = signing.newBrowser();
  await assertRefused(world, browser, await signing.signIn(browser, 'google-oauth2'), 'no_account');
  const person = await newPerson(world.harness, { email: address });
  await assertRefused(
    world,
    browser,
    await signing.signIn(browser, 'google-oauth2'),
    'account_unverified',
  );
  await world.harness.deps.db.run(
    sql`UPDATE users SET is_email_verified = true WHERE id = ${person.id}`,
  );
  await assertRefused(
    world,
    browser,
    await signing.signIn(browser, 'google-oauth2'),
    'not_a_member',
  );
  const { organization } = await world.harness.newOrganization();
  await addMember(world.harness.deps, organization.id, person, 1);
  assert.equal((await signing.signIn(browser, 'google-oauth2')).status, 303);
  assert.equal((await accountAt(world.harness, browser)).id, person.id);
});

test('GitHub’s address with an account counts first, then one in a verified domain', async () => {
  await world.newHome({ saml_entity_id: null, jit_provisioning_enabled: true });
  const emails = [
    { email: 'private@home.example', primary: true, verified: true },
    { email: 'unverified@acme.example', primary: false, verified: false },
    { email: 'Ada@acme.example', primary: false, verified: true },
  ];
  provider.person = { sub: '300', info: { name: null }, emails };
  const browser = signing.newBrowser();
  assert.equal((await signing.signIn(browser, 'github')).status, 303);
  const account = await accountAt(world.harness, browser);
  assert.deepEqual([account.email, account.first_name], [email, '']);
});

const joining: {
  name: string;
  fields: Record<string, unknown>;
  through: OpenidProvider;
  refused?: string;
}[] = [
  {
    name: 'a domain with a provider of its own leaves JIT to it',
    fields: {},
    through: 'google-oauth2',
    refused: 'no_account',
  },
  {
    name: 'a domain that names this provider',
    fields: { sso_enforcement: 'google-oauth2' },
    through: 'google-oauth2',
  },
  {
    name: 'a domain that names the other provider of the operator',
    fields: { sso_enforcement: 'openid' },
    through: 'openid',
  },
  {
    name: 'a domain that names another provider',
    fields: { sso_enforcement: 'gitlab', saml_entity_id: null },
    through: 'google-oauth2',
    refused: 'sso_enforced',
  },
  {
    name: 'a domain that asks for SAML',
    fields: { sso_enforcement: 'saml' },
    through: 'google-oauth2',
    refused: 'sso_enforced',
  },
  {
    name: 'a domain without JIT',
    fields: { jit_provisioning_enabled: false, saml_entity_id: null },
    through: 'google-oauth2',
    refused: 'no_account',
  },
];
for (const { name, fields, through, refused } of joining) {
  test(`joining: ${name}`, async () => {
    await world.newHome({ jit_provisioning_enabled: true, ...fields });
    const browser = signing.newBrowser();
    const answer = await signing.signIn(browser, through);
    if (refused !== undefined) return assertRefused(world, browser, answer, refused);
    assert.equal(answer.status, 303, answer.text);
    // And its people cannot go by SAML instead.
    assert.equal((await browser.go(`/login/saml/?email=${email}`)).status, 404);
  });
}
