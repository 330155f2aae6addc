import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import sql from 'sql-template-tag';
import type { OpenidFault, OpenidTestProvider } from '../../../../test/servers/openid_provider.ts';
import { aroundTests } from '../../../../test/around_tests.ts';
import {
  accountAt,
  assertRefused,
  openNavigator,
  openSingleSignOn,
} from '../../../../test/factories/people/single_sign_on.ts';
import type { OpenidProvider } from '../../../platform/openid_providers.ts';
import {
  email,
  openOpenidSignOn,
  persons,
} from '../../../../test/factories/people/openid_sign_on.ts';
import type { OpenidSignOn } from '../../../../test/factories/people/openid_sign_on.ts';

let world: OpenidSignOn['world'];
let provider: OpenidSignOn['provider'];
const signing = aroundTests(openOpenidSignOn, async (opened) => {
  ({ world, provider } = opened);
});
beforeEach(() => {
  provider.fault = undefined;
  provider.person = persons['google-oauth2'];
});

const all = Object.keys(persons) as OpenidProvider[];

for (const name of all) {
  test(
    `the whole way through ${name}: PKCE, an account, a membership, a session; and again with ` +
      'the same account',
    async () => {
      provider.person = persons[name];
      const home = await world.newHome({ saml_entity_id: null, jit_provisioning_enabled: true });
      const browser = signing.newBrowser();
      const ended = await signing.signIn(browser, name, '?next=/done/');
      assert.deepEqual([ended.status, ended.headers['location']], [303, '/done/'], ended.text);
      const account = await accountAt(world.harness, browser);
      assert.deepEqual(
        [
          account.email,
          account.first_name,
          account.last_name,
          account.is_email_verified,
          account.has_social_auth,
          account.organizations.length,
        ],
        [email, 'Ada', 'Lovelace', true, true, 1],
      );
      assert.equal(account.organizations[0].id, home.organization.id);
      const again = signing.newBrowser();
      assert.equal((await signing.signIn(again, name)).status, 303);
      assert.equal((await accountAt(world.harness, again)).id, account.id);
      const rows = await world.harness.deps.db.rows(
        sql`SELECT provider, subject FROM social_identities WHERE user_id = ${account.id}`,
      );
      assert.deepEqual(rows, [{ provider: name, subject: persons[name].sub }]);
    },
  );
}

const faults: Record<OpenidFault, [reason: string, status: number]> = {
  algorithm_none: ['provider_answer', 403],
  another_audience: ['provider_answer', 403],
  another_issuer: ['provider_answer', 403],
  another_key: ['provider_answer', 403],
  another_nonce: ['provider_answer', 403],
  another_subject: ['provider_answer', 403],
  broken_json: ['provider_answer', 403],
  expired: ['provider_answer', 403],
  html: ['provider_answer', 403],
  no_id_token: ['provider_answer', 403],
  no_nonce: ['provider_answer', 403],
  refused: ['provider_refused', 403],
  server_fault: ['provider_unavailable', 503],
  signed_with_secret: ['provider_answer', 403],
  token_error: ['provider_answer', 403],
};
for (const [fault, [reason, status]] of Object.entries(faults) as [
  OpenidFault,
  [string, number],
][]) {
  test(`a faulty provider signs no one in: ${fault}`, async () => {
    await world.newHome({ saml_entity_id: null, jit_provisioning_enabled: true });
    const browser = signing.newBrowser();
    const begun = await browser.go('/login/google-oauth2/');
    const at_provider = fault === 'refused';
    if (at_provider) provider.fault = fault;
    const back = await provider.visit(begun.headers['location']!);
    provider.fault = fault;
    await assertRefused(
      world,
      browser,
      await browser.go(back.slice(world.harness.deps.config.public_url.length)),
      reason,
      status,
    );
    provider.fault = undefined;
    assert.equal((await signing.signIn(browser, 'google-oauth2')).status, 303);
  });
}

test('the server accepts the browser’s return once, unchanged, from where it began', async () => {
  await world.newHome({ saml_entity_id: null, jit_provisioning_enabled: true });
  const [owner, thief] = [signing.newBrowser(), signing.newBrowser()];
  const back = await signing.begin(owner, 'google-oauth2');
  await signing.begin(thief, 'google-oauth2');
  await assertRefused(world, thief, await thief.go(back), 'other_browser');
  const state = new URLSearchParams(back.split('?')[1]).get('state')!;
  for (const path of [
    back.replace(state, 'A'.repeat(43)),
    back.replace(`state=${state}`, ''),
    back.replace('google-oauth2', 'gitlab'),
  ])
    await assertRefused(world, owner, await owner.go(path), 'other_browser');
  const ends = await Promise.all(Array.from({ length: 5 }, () => owner.go(back)));
  assert.deepEqual(ends.map(({ status }) => status).sort(), [303, 403, 403, 403, 403]);
  assert.equal(world.reasons().length, 4);
});

test("a code of somebody else's sign-in is worth nothing in one's own", async () => {
  await world.newHome({ saml_entity_id: null, jit_provisioning_enabled: true });
  const [victim, thief] = [signing.newBrowser(), signing.newBrowser()];
  const stolen = new URLSearchParams(
    (await signing.begin(victim, 'google-oauth2')).split('?')[1],
  ).get('code')!;
  const own = await signing.begin(thief, 'google-oauth2');
  await assertRefused(
    world,
    thief,
    await thief.go(own.replace(/code=[^&]+/, `code=${stolen}`)),
    'provider_answer',
  );
});

test('a sign-in that took longer than ten minutes is over', async () => {
  const browser = signing.newBrowser();
  const back = await signing.begin(browser, 'google-oauth2');
  await world.harness.deps.db.run(
    sql`UPDATE sso_requests SET expires_at = ${new Date().toISOString()}::timestamptz`,
  );
  await assertRefused(world, browser, await browser.go(back), 'other_browser');
});

const unvouched: [string, OpenidProvider, OpenidTestProvider['person']][] = [
  [
    'Google has not verified it',
    'google-oauth2',
    { sub: '1', claims: { hd: 'acme.example' }, info: { email, email_verified: false } },
  ],
  [
    'Google does not say',
    'google-oauth2',
    { sub: '1', claims: { hd: 'acme.example' }, info: { email } },
  ],
  ['Google does not host it', 'google-oauth2', { sub: '1', info: { email, email_verified: true } }],
  [
    'there is none',
    'google-oauth2',
    { sub: '1', claims: { hd: 'acme.example' }, info: { email_verified: true } },
  ],
  [
    'a Kelvin sign',
    'gitlab',
    { sub: '1', info: { email: '\u212aay@acme.example', email_verified: true } },
  ],
  [
    'two addresses',
    'gitlab',
    { sub: '1', info: { email: 'a@b.example,ada@acme.example', email_verified: true } },
  ],
  [
    'GitHub has not verified it',
    'github',
    { sub: '1', emails: [{ email, primary: true, verified: false }] },
  ],
  ['the provider has not verified it', 'openid', { sub: '1', info: { email } }],
  ['GitHub knows none', 'github', { sub: '1', emails: [] }],
];
for (const [name, through, person] of unvouched) {
  test(`an address that the provider does not vouch for: ${name}`, async () => {
    await world.newHome({ saml_entity_id: null, jit_provisioning_enabled: true });
    provider.person = person;
    const browser = signing.newBrowser();
    await assertRefused(world, browser, await signing.signIn(browser, through), 'email_missing');
  });
}

test('a userinfo of another form than documented is refused', async () => {
  provider.person = {
    sub: '1',
    claims: { hd: 'x' },
    info: { email: [email], email_verified: true },
  };
  const browser = signing.newBrowser();
  await assertRefused(
    world,
    browser,
    await signing.signIn(browser, 'google-oauth2'),
    'provider_answer',
  );
});

test('an unknown provider is refused, one that is down says so', async () => {
  // A GitLab is configured at a place where nothing answers.
  const config = {
    gitlab_client_id: 'x',
    gitlab_client_secret: 'y',
    gitlab_url: 'http://127.0.0.1:9',
    rate_limit_per_minute: 20,
  };
  const bare = await openSingleSignOn({ config });
  try {
    const browser = openNavigator(bare.harness);
    await assertRefused(
      bare,
      browser,
      await browser.go('/login/gitlab/'),
      'provider_unavailable',
      503,
    );
    for (const name of ['google-oauth2', 'github', 'openid'])
      for (const path of [`/login/${name}/`, `/complete/${name}/?state=x&code=y`])
        assert.equal((await openNavigator(bare.harness).go(path)).status, 404);
    assert.equal((await openNavigator(bare.harness).go('/login/other/')).status, 404);
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => browser.go('/login/github/')),
    );
    const slowed = answers.filter(({ status }) => status === 429);
    assert.equal(answers.length - slowed.length, 13);
    assert.match(slowed[0]!.headers['retry-after']!, /^\d+$/);
  } finally {
    await bare.close();
  }
});
