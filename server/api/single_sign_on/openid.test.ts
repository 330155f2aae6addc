import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import sql from 'sql-template-tag';
import { openOpenidProvider, openid_client } from '../../../test/servers/openid_provider.ts';
import type { OpenidFault, OpenidTestProvider } from '../../../test/servers/openid_provider.ts';
import { newPerson } from '../../../test/factories/people.ts';
import {
  accountAt,
  assertRefused,
  openNavigator,
  openSingleSignOn,
} from '../../../test/factories/single_sign_on.ts';
import type { Navigator, SingleSignOnWorld } from '../../../test/factories/single_sign_on.ts';
import type { OpenidProvider } from '../../platform/openid_providers.ts';
import { openOutbound } from '../../platform/outbound/outbound.ts';

let world: SingleSignOnWorld;
let provider: OpenidTestProvider;
const outbound = openOutbound({ allow: ['127.0.0.0/8'] });
before(async () => {
  provider = await openOpenidProvider();
  const { id, secret } = openid_client;
  world = await openSingleSignOn({
    wall_clock: true,
    deps: { outbound: provider.route(outbound) },
    config: {
      google_client_id: id,
      google_client_secret: secret,
      github_client_id: id,
      github_client_secret: secret,
      gitlab_client_id: id,
      gitlab_client_secret: secret,
      gitlab_url: provider.gitlab_url,
    },
  });
});
after(async () => {
  await world.close();
  await outbound.close();
  await provider.close();
});

const email = 'ada@acme.example';
const names = { given_name: 'Ada', family_name: 'Lovelace' };
const persons: Record<OpenidProvider, OpenidTestProvider['person']> = {
  'google-oauth2': {
    sub: '100',
    claims: { hd: 'acme.example' },
    info: { email, email_verified: true, ...names },
  },
  gitlab: { sub: '200', info: { email, email_verified: true, ...names } },
  github: {
    sub: '300',
    info: { name: 'Ada Lovelace' },
    emails: [{ email, primary: true, verified: true }],
  },
};
const all = Object.keys(persons) as OpenidProvider[];
beforeEach(() => {
  provider.fault = undefined;
  provider.person = persons['google-oauth2'];
});

const newBrowser = () => openNavigator(world.harness);
/**
 * Where the browser is led to after it was at the provider: the path of this server with code and
 * state.
 */
async function begin(browser: Navigator, name: OpenidProvider, more = ''): Promise<string> {
  const begun = await browser.go(`/login/${name}/${more}`);
  assert.equal(begun.status, 303, begun.text);
  const back = await provider.visit(begun.headers['location']!);
  const own = world.harness.deps.config.public_url;
  assert.ok(back.startsWith(`${own}/complete/${name}/?`), back);
  return back.slice(own.length);
}
const signIn = async (browser: Navigator, name: OpenidProvider, more = '') =>
  browser.go(await begin(browser, name, more));

for (const name of all) {
  test(
    `the whole way through ${name}: PKCE, an account, a membership, a session; and again with ` +
      'the same account',
    async () => {
      provider.person = persons[name];
      const home = await world.newHome({ saml_entity_id: null, jit_provisioning_enabled: true });
      const browser = newBrowser();
      const ended = await signIn(browser, name, '?next=/done/');
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
      const again = newBrowser();
      assert.equal((await signIn(again, name)).status, 303);
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
  test(`a provider that does it wrong signs nobody in: ${fault}`, async () => {
    await world.newHome({ saml_entity_id: null, jit_provisioning_enabled: true });
    const browser = newBrowser();
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
    assert.equal((await signIn(browser, 'google-oauth2')).status, 303);
  });
}

test('what a browser brings back is taken once, unchanged, and from the browser that began it', async () => {
  await world.newHome({ saml_entity_id: null, jit_provisioning_enabled: true });
  const [owner, thief] = [newBrowser(), newBrowser()];
  const back = await begin(owner, 'google-oauth2');
  await begin(thief, 'google-oauth2');
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
  const [victim, thief] = [newBrowser(), newBrowser()];
  const stolen = new URLSearchParams((await begin(victim, 'google-oauth2')).split('?')[1]).get(
    'code',
  )!;
  const own = await begin(thief, 'google-oauth2');
  await assertRefused(
    world,
    thief,
    await thief.go(own.replace(/code=[^&]+/, `code=${stolen}`)),
    'provider_answer',
  );
});

test('a sign-in that took longer than ten minutes is over', async () => {
  const browser = newBrowser();
  const back = await begin(browser, 'google-oauth2');
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
  ['GitHub knows none', 'github', { sub: '1', emails: [] }],
];
for (const [name, through, person] of unvouched) {
  test(`an address that the provider does not vouch for: ${name}`, async () => {
    await world.newHome({ saml_entity_id: null, jit_provisioning_enabled: true });
    provider.person = person;
    const browser = newBrowser();
    await assertRefused(world, browser, await signIn(browser, through), 'email_missing');
  });
}

test('a userinfo of another form than documented is refused', async () => {
  provider.person = {
    sub: '1',
    claims: { hd: 'x' },
    info: { email: [email], email_verified: true },
  };
  const browser = newBrowser();
  await assertRefused(world, browser, await signIn(browser, 'google-oauth2'), 'provider_answer');
});

test(
  'without a verified domain only an account with this address, verified, in an organization, ' +
    'is signed in',
  async () => {
    const address = 'grace@home.example';
    provider.person = {
      sub: '7',
      claims: { hd: 'home.example' },
      info: { email: address, email_verified: true },
    };
    const browser = newBrowser();
    await assertRefused(world, browser, await signIn(browser, 'google-oauth2'), 'no_account');
    const person = await newPerson(world.harness, { email: address });
    await assertRefused(
      world,
      browser,
      await signIn(browser, 'google-oauth2'),
      'account_unverified',
    );
    await world.harness.deps.db.run(
      sql`UPDATE users SET is_email_verified = true WHERE id = ${person.id}`,
    );
    await assertRefused(world, browser, await signIn(browser, 'google-oauth2'), 'not_a_member');
    const { organization } = await world.harness.newOrganization();
    await world.harness.deps.db.run(
      sql`INSERT INTO members (id, organization_id, user_id, level)
      VALUES (${crypto.randomUUID()}, ${organization.id}, ${person.id}, 1)`,
    );
    assert.equal((await signIn(browser, 'google-oauth2')).status, 303);
    assert.equal((await accountAt(world.harness, browser)).id, person.id);
  },
);

test(
  'of several addresses at GitHub the one with an account counts, then the one in a verified ' +
    'domain',
  async () => {
    await world.newHome({ saml_entity_id: null, jit_provisioning_enabled: true });
    const emails = [
      { email: 'private@home.example', primary: true, verified: true },
      { email: 'unverified@acme.example', primary: false, verified: false },
      { email: 'Ada@acme.example', primary: false, verified: true },
    ];
    provider.person = { sub: '300', info: { name: null }, emails };
    const browser = newBrowser();
    assert.equal((await signIn(browser, 'github')).status, 303);
    const account = await accountAt(world.harness, browser);
    assert.deepEqual([account.email, account.first_name], [email, '']);
  },
);

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
  test(`who joins: ${name}`, async () => {
    await world.newHome({ jit_provisioning_enabled: true, ...fields });
    const browser = newBrowser();
    const answer = await signIn(browser, through);
    if (refused !== undefined) return assertRefused(world, browser, answer, refused);
    assert.equal(answer.status, 303, answer.text);
    // And its people cannot go by SAML instead.
    assert.equal((await browser.go(`/login/saml/?email=${email}`)).status, 404);
  });
}

test(
  'a provider that is not configured is no sign-in, one that is down is told, and one address ' +
    'asks so often a minute',
  async () => {
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
      for (const name of ['google-oauth2', 'github'])
        for (const path of [`/login/${name}/`, `/complete/${name}/?state=x&code=y`])
          assert.equal((await openNavigator(bare.harness).go(path)).status, 404);
      assert.equal((await openNavigator(bare.harness).go('/login/other/')).status, 404);
      const answers = await Promise.all(
        Array.from({ length: 30 }, () => browser.go('/login/github/')),
      );
      const slowed = answers.filter(({ status }) => status === 429);
      assert.equal(answers.length - slowed.length, 15);
      assert.match(slowed[0]!.headers['retry-after']!, /^\d+$/);
    } finally {
      await bare.close();
    }
  },
);
