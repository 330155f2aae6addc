import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { pino } from 'pino';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../test/around_tests.ts';
import type { Bent } from '../../../test/factories/people/authenticator.ts';
import {
  addPasskey,
  openPasskeyBrowser,
  passkey_origin,
  signInByPasskey,
  signedInAt,
} from '../../../test/factories/people/passkeys.ts';
import {
  activitiesOf,
  codeOf,
  forgetAllAttempts,
  newPerson,
  openBrowser,
  password,
  setUpSecondFactor,
  userNow,
} from '../../../test/factories/people/people.ts';
import { newDirectory, patchOf } from '../../../test/factories/people/directories.ts';
import { openSingleSignOn } from '../../../test/factories/people/single_sign_on.ts';
import type { Answer } from '../../../test/harness.ts';

/** The reasons of the security log about passkeys. */
const told: string[] = [];
const write = (chunk: Buffer, _encoding: string, done: () => void) => {
  const line = JSON.parse(String(chunk)) as { reason?: string; passkey?: string };
  if (line.passkey !== undefined) told.push(`${line.reason}: ${line.passkey}`);
  done();
};
const log = pino({ level: 'warn' }, new Writable({ write }));
const world = aroundTests(() => openSingleSignOn({ deps: { log } }));
const reasons = () => told.splice(0);

/** Somebody with a passkey, which an authenticator of theirs holds, and another browser. */
async function newHolder(fields: { email?: string } = {}) {
  await forgetAllAttempts(world.harness);
  const user = await newPerson(world.harness, fields);
  const at_home = await signedInAt(world.harness, user);
  const { authenticator, created } = await addPasskey(at_home);
  return { user, at_home, authenticator, created, browser: openPasskeyBrowser(world.harness) };
}

const refusalOf = ({ status, body }: Answer) => `${status} ${body?.code}`;

test('a passkey alone signs in, as both factors, and the log says so', async () => {
  const { user, authenticator, created, browser } = await newHolder();
  const options = await browser.options();
  assert.deepEqual(
    [options.rpId, options.userVerification, options.allowCredentials],
    ['localhost', 'required', undefined],
  );
  const answer = await signInByPasskey(browser, authenticator);
  assert.equal(answer.status, 201, answer.text);
  assert.deepEqual([answer.body.method, answer.body.user.email], ['passkey', user.email]);
  assert.notEqual(answer.body.own_factor_at, null);
  const { body } = await browser.ask('GET', '/api/users/@me/passkeys/');
  assert.deepEqual([body.results[0].id, body.results[0].name], [created['id'], 'Laptop']);
  assert.notEqual(body.results[0].last_used_at, null);
  assert.ok((await activitiesOf(world.harness, user)).includes('session created'));
});

test('an organization that enforces a second factor is open after a passkey', async () => {
  const { user, authenticator, browser } = await newHolder();
  const home = await world.harness.newOrganization();
  await world.harness.deps.db.run(sql`INSERT INTO members (id, organization_id, user_id, level)
    VALUES (gen_random_uuid(), ${home.organization.id}::uuid, ${user.id}, 1)`);
  await world.harness.deps.db.run(sql`UPDATE organizations SET enforce_2fa = true
    WHERE id = ${home.organization.id}::uuid`);
  assert.equal((await signInByPasskey(browser, authenticator)).status, 201);
  const path = `/api/organizations/${home.organization.id}/`;
  assert.equal((await browser.ask('GET', path)).status, 200);
  const members = await browser.ask('GET', `${path}members/`);
  const own = members.body.results.find((one: any) => one.user.email === user.email);
  assert.equal(own.is_2fa_enabled, true);
});

test('beside the password a passkey takes the place of a code', async () => {
  const { user, authenticator } = await newHolder();
  const browser = openPasskeyBrowser(world.harness);
  const body = { email: user.email, password };
  const asked = await browser.ask('POST', '/api/sessions/', body);
  assert.equal(refusalOf(asked), '401 second_factor_required');
  const passkey = authenticator.show(await browser.options());
  // The password has to be right all the same, and what was refused uses nothing up.
  const wrong = await browser.ask('POST', '/api/sessions/', {
    ...body,
    password: 'wrong',
    passkey,
  });
  assert.equal(refusalOf(wrong), '401 authentication_failed');
  const answer = await browser.ask('POST', '/api/sessions/', { ...body, passkey });
  assert.equal(answer.status, 201, answer.text);
  assert.equal(answer.body.method, 'password');
});

test('a passkey answer that differs from the request opens nothing', async () => {
  const { authenticator, browser, user, at_home } = await newHolder();
  const cases: [Bent, RegExp][] = [
    [{ origin: 'http://localhost:8001' }, /response origin/],
    [{ origin: 'https://evil.example' }, /response origin/],
    [{ rp_id: 'evil.example' }, /RP ID/],
    [{ type: 'webauthn.create' }, /response type/],
    [{ cross_origin: true }, /frame/],
    [{ verifies: false }, /could not be verified/],
    [{ challenge: Buffer.alloc(56).toString('base64url') }, /challenge expired, or/],
    [{ challenge: '' }, /challenge expired, or/],
    [{ user_handle: 'AAAAAAAAAAAAAAAAAAAAAA' }, /another account/],
  ];
  for (const [bent, reason] of cases) {
    await forgetAllAttempts(world.harness);
    reasons();
    const answer = await signInByPasskey(browser, authenticator, bent);
    assert.equal(refusalOf(answer), '401 authentication_failed', JSON.stringify(bent));
    assert.match(reasons().join(), reason);
  }
  await forgetAllAttempts(world.harness);
  // A signature of other bytes.
  const shown = authenticator.show(await browser.options());
  shown.response.signature = authenticator.show(await browser.options()).response.signature;
  const forged = await browser.ask('POST', '/api/sessions/passkey/', { passkey: shown });
  assert.equal(refusalOf(forged), '401 authentication_failed');
  assert.deepEqual(reasons(), ['wrong_passkey: wrong signature']);
  // It was never the authenticator.
  assert.equal((await signInByPasskey(browser, authenticator)).status, 201);
  const activities = await activitiesOf(world.harness, user);
  assert.equal(activities.filter((one) => one === 'session created').length, 2);
  assert.equal((await at_home.ask('GET', '/api/users/@me/')).status, 200);
});

test('a challenge is answered once, within five minutes, in the browser that got it', async () => {
  const { authenticator, browser } = await newHolder();
  const [one, late] = [
    authenticator.show(await browser.options()),
    authenticator.show(await browser.options()),
  ];
  const other = openPasskeyBrowser(world.harness);
  const signIn = (at: typeof browser, passkey: unknown) =>
    at.ask('POST', '/api/sessions/passkey/', { passkey });
  reasons();
  assert.equal(refusalOf(await signIn(other, one)), '401 authentication_failed');
  assert.deepEqual(reasons(), ['wrong_passkey: this browser has no challenge']);
  await other.options();
  assert.equal(refusalOf(await signIn(other, one)), '401 authentication_failed');
  assert.deepEqual(reasons(), [
    'wrong_passkey: its challenge expired, or belongs to another browser',
  ]);
  // A request with `validate_only` does not use the passkey up.
  const validated = await browser.ask('POST', '/api/sessions/passkey/?validate_only=true', {
    passkey: one,
  });
  assert.equal(validated.status, 200, validated.text);
  const all = await Promise.all([signIn(browser, one), signIn(browser, one)]);
  assert.deepEqual(all.map(({ status }) => status).toSorted(), [201, 401]);
  assert.deepEqual(reasons(), ['wrong_passkey: its challenge was used before']);
  world.clock.pass(5 * 60_000);
  await forgetAllAttempts(world.harness);
  assert.equal(refusalOf(await signIn(browser, late)), '401 authentication_failed');
  assert.deepEqual(reasons(), [
    'wrong_passkey: its challenge expired, or belongs to another browser',
  ]);
});

test("another person's passkey is no second factor, and an unknown one opens nothing", async () => {
  const [one, other] = [await newHolder(), await newHolder()];
  const { browser } = one;
  reasons();
  const passkey = other.authenticator.show(await browser.options());
  const beside = await browser.ask('POST', '/api/sessions/', {
    email: one.user.email,
    password,
    passkey,
  });
  assert.equal(refusalOf(beside), '401 authentication_failed');
  assert.deepEqual(reasons(), ['wrong_passkey: does not belong to this account']);
  await world.harness.deps.db.run(sql`DELETE FROM passkeys WHERE user_id = ${other.user.id}`);
  const unknown = await signInByPasskey(browser, other.authenticator);
  assert.deepEqual(
    [refusalOf(unknown), unknown.body.detail],
    [refusalOf(beside), beside.body.detail],
  );
  assert.deepEqual(reasons(), ['wrong_passkey: does not belong to any account']);
});

test('a sign count that did not grow is refused: there is a copy', async () => {
  const { authenticator, browser } = await newHolder();
  assert.equal((await signInByPasskey(browser, authenticator, { sign_count: 10 })).status, 201);
  for (const sign_count of [10, 9, 0]) {
    reasons();
    const answer = await signInByPasskey(browser, authenticator, { sign_count });
    assert.equal(refusalOf(answer), '401 authentication_failed');
    assert.deepEqual(reasons(), [
      `copied_passkey: its sign count did not grow: ${sign_count} after 10`,
    ]);
  }
  assert.equal((await signInByPasskey(browser, authenticator, { sign_count: 11 })).status, 201);
  const rows = sql`UPDATE passkeys SET sign_count = 0 WHERE sign_count = 11`;
  await world.harness.deps.db.run(rows);
  // Authenticators that do not count.
  for (const sign_count of [0, 0])
    assert.equal((await signInByPasskey(browser, authenticator, { sign_count })).status, 201);
});

test('failures are slowed as those of passwords are, and end by a sign-in', async () => {
  const { authenticator, browser } = await newHolder();
  for (let failure = 0; failure < 5; failure += 1)
    assert.equal((await signInByPasskey(browser, authenticator, { verifies: false })).status, 401);
  assert.equal((await signInByPasskey(browser, authenticator)).status, 429);
  world.clock.pass(3_000);
  assert.equal((await signInByPasskey(browser, authenticator)).status, 201);
  assert.equal((await signInByPasskey(browser, authenticator, { verifies: false })).status, 401);
});

test('a passkey opens nothing if the domain enforces single sign-on', async () => {
  const home = await world.newHome();
  const holder = await newHolder({ email: 'vera@acme.example' });
  await world.harness.deps.db.run(
    sql`UPDATE domains SET sso_enforcement = 'saml' WHERE id = ${home.domain.id}::uuid`,
  );
  const forged = await signInByPasskey(holder.browser, holder.authenticator, { verifies: false });
  assert.equal(refusalOf(forged), '401 authentication_failed', 'says nothing of the account');
  const answer = await signInByPasskey(holder.browser, holder.authenticator);
  assert.equal(refusalOf(answer), '400 sso_enforced');
});

test('a person deactivated by their directory cannot sign in by passkey', async () => {
  await forgetAllAttempts(world.harness);
  const directory = await newDirectory(world.harness);
  const { id } = await directory.provision('eve');
  const eve = await userNow(world.harness, `eve@${directory.domain.domain}`);
  const { password_hash } = await newPerson(world.harness);
  await world.harness.deps.db.run(sql`UPDATE users SET password_hash = ${password_hash}
    WHERE id = ${eve.id}`);
  const browser = await signedInAt(world.harness, eve);
  const { authenticator } = await addPasskey(browser);
  const change = patchOf({ op: 'replace', value: { active: false } });
  assert.equal((await directory.scim('PATCH', `/Users/${id}`, change)).status, 200);
  assert.equal((await signInByPasskey(browser, authenticator)).status, 403);
});

test('a deactivated account looks like a missing one', async () => {
  const { user, authenticator, browser } = await newHolder();
  await world.harness.deps.db.run(sql`UPDATE users SET is_active = false WHERE id = ${user.id}`);
  assert.equal(
    refusalOf(await signInByPasskey(browser, authenticator)),
    '401 authentication_failed',
  );
});

test('a passkey alone confirms that it is the person, another one does not', async () => {
  const [{ at_home, authenticator }, other] = [await newHolder(), await newHolder()];
  const confirm = async (holder: typeof authenticator) =>
    at_home.ask('POST', '/api/sessions/@current/confirm/', {
      passkey: holder.show(await at_home.options()),
    });
  const refused = await confirm(other.authenticator);
  assert.deepEqual([refused.status, refused.body.attr], [400, 'passkey']);
  world.clock.pass(60_000);
  const confirmed = await confirm(authenticator);
  assert.equal(confirmed.status, 200, confirmed.text);
  assert.equal(Date.parse(confirmed.body.own_factor_at), world.clock.now());
});

test('with an app as well, a code still signs in', async () => {
  await forgetAllAttempts(world.harness);
  const user = await newPerson(world.harness);
  const browser = openBrowser(world.harness);
  await browser.ask('POST', '/api/sessions/', { email: user.email, password });
  const { secret } = await setUpSecondFactor(world.harness, browser);
  world.clock.pass(60_000);
  const code = () => codeOf(secret, world.clock.now());
  const at_home = await signedInAt(world.harness, user, { code: code() });
  world.clock.pass(60_000);
  const { created } = await addPasskey(at_home, { code: code() });
  assert.deepEqual(created['recovery_codes'], []);
  world.clock.pass(60_000);
  await signedInAt(world.harness, user, { code: code() });
});

test('a page of another address says where passkeys work', async () => {
  const begin = (origin: string) =>
    world.harness.request('POST', '/api/sessions/passkey/begin/', {
      headers: { origin, 'sec-fetch-site': 'same-origin' },
      body: {},
    });
  assert.equal((await begin(passkey_origin)).status, 200);
  const elsewhere = await begin('http://127.0.0.1:8000');
  assert.equal(refusalOf(elsewhere), '400 feature_not_available');
  assert.match(elsewhere.body.detail, /work under http:\/\/localhost:8000 only/);
});
