import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { letIn } from '../../cli/people/user.ts';
import { UserError } from '../../cli/user_error.ts';
import { aroundTests } from '../../../test/around_tests.ts';
import { newPerson, password, trySignIn } from '../../../test/factories/people/people.ts';
import {
  accountAt,
  beginSaml,
  changeDomain,
  openNavigator,
  openSingleSignOn,
  signInBySaml,
} from '../../../test/factories/people/single_sign_on.ts';
import type { Home } from '../../../test/factories/people/single_sign_on.ts';
import { addMember } from '../../../test/factories/people/members.ts';

const { id, secret } = { id: 'client', secret: 'secret-of-nobody' };
const world = aroundTests(() =>
  openSingleSignOn({ config: { google_client_id: id, google_client_secret: secret } }),
);

const address = 'grace@acme.example';
async function member(home: Home, level: number, email = address) {
  const person = await newPerson(world.harness, { email });
  await addMember(world.harness.deps, home.organization.id, person, level);
  return person;
}
const unverify = (home: Home) =>
  world.harness.deps.db.run(sql`UPDATE domains SET state = 'lapsed' WHERE id = ${home.domain.id}`);

test('enforced SAML refuses every password of the domain, with or without an account', async () => {
  const home = await world.newHome();
  await member(home, 1);
  assert.equal((await trySignIn(world.harness, address)).status, 201);
  await changeDomain(home, { sso_enforcement: 'saml' });
  const url = `${world.harness.deps.config.public_url}/login/saml/?email=`;
  for (const [email, given] of [
    [address, password],
    ['Grace@ACME.example', password],
    [address, 'a wrong password'],
    ['nobody@acme.example', password],
  ] as const) {
    const { status, body } = await trySignIn(world.harness, email, { password: given });
    assert.deepEqual([status, body.code, body.attr], [400, 'sso_enforced', null]);
    assert.ok(body.detail.includes(`${url}${encodeURIComponent(email)}`), body.detail);
  }
  // Six of these would have slowed the account down if they had been tries.
  for (let number = 0; number < 6; number += 1)
    assert.equal(
      (await trySignIn(world.harness, address, { password: 'a wrong password' })).status,
      400,
    );
  await changeDomain(home, { sso_enforcement: '' });
  assert.equal((await trySignIn(world.harness, address)).status, 201);
});

test('an address that PostgreSQL takes for the same is of the same domain', async () => {
  const home = await world.newHome({ sso_enforcement: 'saml' }, 'kite.example');
  const person = await member(home, 1, 'grace@kite.example');
  for (const email of [
    'grace@k\u0130te.example',
    'grace@\u212aite.example',
    'grace@kite.example',
    'GRACE@KITE.EXAMPLE',
  ]) {
    const { status, body } = await trySignIn(world.harness, email);
    assert.deepEqual([status, body.code], [400, 'sso_enforced'], email);
  }
  await world.harness.deps.db.run(sql`DELETE FROM users WHERE id = ${person.id}`);
});

test('a domain that lapsed enforces nothing', async () => {
  const home = await world.newHome({ sso_enforcement: 'saml' });
  await member(home, 1);
  assert.equal((await trySignIn(world.harness, address)).status, 400);
  await unverify(home);
  assert.equal((await trySignIn(world.harness, address)).status, 201);
});

test('enforced single sign-on: no password is reset, no account is created with one', async () => {
  const home = await world.newHome({ sso_enforcement: 'saml' });
  await member(home, 1);
  for (const email of [address, 'nobody@acme.example']) {
    const { status, body } = await world.harness.request('POST', '/api/users/reset_password/', {
      body: { email },
    });
    assert.deepEqual([status, body.code], [400, 'sso_enforced']);
  }
  assert.equal(
    (
      await world.harness.request('POST', '/api/users/reset_password/', {
        body: { email: 'x@other.example' },
      })
    ).status,
    202,
  );

  const invited = await home.ask('POST', `/api/organizations/${home.organization.id}/invites/`, {
    target_email: 'new@acme.example',
  });
  const { id, link } = invited.body;
  const body = { token: new URL(link).searchParams.get('token'), password };
  const accepted = await world.harness.request('POST', `/api/invites/${id}/accept/`, { body });
  assert.deepEqual([accepted.status, accepted.body.code], [400, 'sso_enforced']);
  const browser = openNavigator(world.harness);
  assert.equal((await signInBySaml(world, browser, 'new@acme.example')).status, 303);
  assert.equal((await accountAt(world.harness, browser)).organizations.length, 1);
});

test('keys and sessions of before go on', async () => {
  const home = await world.newHome();
  const person = await member(home, 1);
  const key = await world.harness.newKey(person);
  const cookie = await world.harness.newSession(person);
  await changeDomain(home, { sso_enforcement: 'saml' });
  for (const sent of [{ key }, { headers: { cookie } }])
    assert.equal((await world.harness.request('GET', '/api/users/@me/', sent)).status, 200);
});

test('another provider enforced: the password is refused with its address, SAML too', async () => {
  const home = await world.newHome();
  const browser = openNavigator(world.harness);
  await beginSaml(browser, address);
  await member(home, 1);
  await changeDomain(home, { sso_enforcement: 'google-oauth2' });
  const { body } = await trySignIn(world.harness, address);
  assert.match(body.detail, /\/login\/google-oauth2\/ /);
  assert.equal((await browser.go(`/login/saml/?email=${address}`)).status, 404);
});

const tokenOf = (link: string) => new URL(link).searchParams.get('token')!;
const useLink = (token: string, headers: Record<string, string> = {}) =>
  world.harness.request('POST', '/api/single_sign_on/link/', { body: { token }, headers });

async function assertLinkRefused(token: string): Promise<void> {
  const answer = await useLink(token);
  assert.deepEqual([answer.status, world.reasons()], [403, ['link_unknown']]);
  assert.match(answer.body.detail, /used, has expired, or was replaced/);
  assert.equal(answer.headers['set-cookie'], undefined);
}

test('the operator lets an owner in by a link that works once, and the logs say so', async () => {
  const home = await world.newHome({ sso_enforcement: 'saml' });
  const person = await member(home, 15);
  const void_link = await letIn(world.harness.deps, address.toUpperCase());
  const link = await letIn(world.harness.deps, address);
  const token = tokenOf(link);
  const from_elsewhere = await useLink(token, { 'sec-fetch-site': 'cross-site' });
  assert.deepEqual([from_elsewhere.status, from_elsewhere.headers['set-cookie']], [403, undefined]);
  for (const wrong of [tokenOf(void_link), 'x']) await assertLinkRefused(wrong);

  const answers = await Promise.all(Array.from({ length: 5 }, () => useLink(token)));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 403, 403, 403, 403]);
  world.reasons();
  const cookie = [answers.find(({ status }) => status === 200)!.headers['set-cookie']]
    .flat()[0]!
    .split(';')[0]!;
  const domain = `/api/organizations/${home.organization.id}/domains/${home.domain.id}/`;
  const changed = await world.harness.request('PATCH', domain, {
    headers: { cookie },
    body: { sso_enforcement: '' },
  });
  assert.deepEqual([changed.status, changed.body.sso_enforcement], [200, '']);
  assert.equal(
    (await world.harness.request('GET', '/api/sessions/@current/', { headers: { cookie } })).body
      .method,
    'link',
  );

  const logOf = async (chain_id: string) =>
    (
      await world.harness.deps.db.rows<{ what: string }>(
        sql`SELECT scope || ' ' || activity || coalesce(' by ' || user_email, '') AS what
          FROM activity WHERE chain_id = ${chain_id}::uuid ORDER BY number`,
      )
    ).map(({ what }) => what);
  assert.deepEqual(await logOf(person.uuid), [
    'user let_in',
    'user let_in',
    `session created by ${address}`,
  ]);
  assert.deepEqual((await logOf(home.organization.id)).slice(-3), [
    'user let_in',
    'user let_in',
    `domain updated by ${address}`,
  ]);
});

test('a link has 15 minutes; members, strangers and inactive people get none', async () => {
  const home = await world.newHome({ sso_enforcement: 'saml' });
  const person = await member(home, 8);
  const token = tokenOf(await letIn(world.harness.deps, address));
  world.clock.pass(15 * 60_000);
  await assertLinkRefused(token);
  const late = tokenOf(await letIn(world.harness.deps, address));
  await world.harness.deps.db.run(sql`UPDATE users SET is_active = false WHERE id = ${person.id}`);
  await assertLinkRefused(late);
  await assert.rejects(letIn(world.harness.deps, address), UserError);
  await member(home, 1, 'low@acme.example');
  await assert.rejects(letIn(world.harness.deps, 'low@acme.example'), /administrator/);
  await assert.rejects(letIn(world.harness.deps, 'nobody@acme.example'), UserError);
});
