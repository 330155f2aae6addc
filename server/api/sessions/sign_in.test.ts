import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { refusalOf } from '../../../test/refusal.ts';
import { openHarness } from '../../../test/harness.ts';
import type { Answer } from '../../../test/harness.ts';
import { inDepth } from '../../../test/depth.ts';
import { countProcessorTime } from '../../../test/processor_time.ts';
import {
  activitiesOf,
  forgetAllAttempts,
  newPerson,
  openBrowser,
  other_password,
  password,
  setCookieOf,
  signedIn,
  trySignIn,
} from '../../../test/factories/people/people.ts';
import { hashPassword } from '../../platform/passwords/password.ts';
import { harness, openAroundTests } from '../../../test/factories/people/people_around_tests.ts';

openAroundTests();

const told = ({ status, body, headers }: Answer) => [
  status,
  body.code,
  body.attr,
  body.detail,
  headers['www-authenticate'],
];
const countSessions = async (user: { id: number }) =>
  (await harness.deps.db.row<{ count: number }>(
    sql`SELECT count(*) AS count FROM sessions WHERE user_id = ${user.id}`,
  ))!.count;

test('a sign-in creates a session, sets its cookie and is logged', async () => {
  const user = await newPerson(harness);
  const answer = await trySignIn(harness, user.email, {}, { 'user-agent': 'Test 1.0' });
  assert.equal(answer.status, 201);
  assert.deepEqual(Object.keys(answer.body), [
    'id',
    'method',
    'ip',
    'user_agent',
    'created_at',
    'last_used_at',
    'expires_at',
    'own_factor_at',
    'awaits_factor',
    'is_current',
    'is_partial',
    'user',
  ]);
  const { method, ip, user_agent, is_current, created_at, expires_at } = answer.body;
  assert.deepEqual(
    [method, ip, user_agent, is_current],
    ['password', '127.0.0.1', 'Test 1.0', true],
  );
  assert.equal(Date.parse(expires_at) - Date.parse(created_at), 30 * 24 * 3_600_000);
  assert.deepEqual([answer.body.user.uuid, answer.body.user.email], [user.uuid, user.email]);
  assert.match(
    setCookieOf(answer)!,
    /^sluice_session=sls_[0-9A-Za-z]{43}; Path=\/; Expires=[^;]+ GMT; HttpOnly; SameSite=Lax$/,
  );
  assert.deepEqual(await activitiesOf(harness, user), ['session created']);
});

test('the address may be written in any case and with space around it', async () => {
  const user = await newPerson(harness, { email: 'Mixed.Case@Example.com' });
  for (const email of [user.email, 'mixed.case@example.COM', '  MIXED.CASE@EXAMPLE.COM '])
    assert.equal((await trySignIn(harness, email)).status, 201, email);
});

test('the first owner may have an address whose domain has one part', async () => {
  const user = await newPerson(harness, { email: 'owner@localhost' });
  assert.equal((await trySignIn(harness, user.email)).status, 201);
});

test('unknown address, wrong or no password, inactive account cannot be told apart', async () => {
  const known = await newPerson(harness);
  const without = await newPerson(harness, { password_hash: null });
  const inactive = await newPerson(harness);
  await harness.deps.db.run(sql`UPDATE users SET is_active = false WHERE id = ${inactive.id}`);
  const tryOnce = async (email: string, given: string) => {
    await forgetAllAttempts(harness);
    const count = harness.deps.db.statementCount();
    const answer = await trySignIn(harness, email, { password: given });
    return { answer, statements: harness.deps.db.statementCount() - count };
  };
  const work = async (email: string, given: string) => {
    // The least: the security log writes its rows beside the requests, once a second.
    const tries = [await tryOnce(email, given), await tryOnce(email, given)];
    const [{ answer }] = tries as [(typeof tries)[0]];
    const statements = Math.min(...tries.map((one) => one.statements));
    return [...told(answer), setCookieOf(answer), statements];
  };
  const wanted = await work('nobody@example.com', password);
  assert.deepEqual(wanted.slice(0, 2), [401, 'authentication_failed']);
  assert.equal(wanted[4], 'Bearer');
  assert.deepEqual(await work(known.email, 'another password'), wanted);
  assert.deepEqual(await work(without.email, password), wanted);
  assert.deepEqual(await work(inactive.email, password), wanted);
});

test('an unknown address costs as much work as a wrong password', async () => {
  const known = await newPerson(harness, { password_hash: await hashPassword(password) });
  /** The processor's least work, since collecting garbage or compiling may fall into any try. */
  const workOf = async (email: string) => {
    const tries: number[] = [];
    while (tries.length < 3) {
      await forgetAllAttempts(harness);
      const worked = countProcessorTime();
      await trySignIn(harness, email, { password: 'another password' });
      tries.push(worked());
    }
    return Math.min(...tries);
  };
  const [one, other] = [await workOf(known.email), await workOf('nobody@example.com')];
  // Hashing takes tens of milliseconds, everything else a few: without it one would be several
  // times the other.
  assert.ok(one < 2 * other && other < 2 * one, `${one} ms and ${other} ms`);
});

test('wrong bodies name the field', async () => {
  const cases: [unknown, string, string][] = [
    [{}, 'email', 'required'],
    [{ email: ' ', password }, 'email', 'blank'],
    [{ email: 'x'.repeat(255), password }, 'email', 'max_length'],
    [{ email: 'a@example.com' }, 'password', 'required'],
    [{ email: 'a@example.com', password: '' }, 'password', 'blank'],
    [{ email: 'a@example.com', password: 5 }, 'password', 'invalid_input'],
    [{ email: 'a@example.com', password: null }, 'password', 'null'],
    [{ email: 'a@example.com', password, code: 123456 }, 'code', 'invalid_input'],
    [{ email: 'a@example.com', password, code: '' }, 'code', 'blank'],
  ];
  for (const [body, attr, code] of cases) {
    const answer = await harness.request('POST', '/api/sessions/', { body });
    assert.deepEqual(refusalOf(answer), [400, attr, code], JSON.stringify(body));
  }
  assert.equal((await harness.request('POST', '/api/sessions/', { body: '{' })).status, 400);
  assert.equal(
    (
      await harness.request('POST', '/api/sessions/', {
        body: 'email=a',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      })
    ).status,
    415,
  );
});

test('a sign-in that shows a key as well is refused', async () => {
  const user = await newPerson(harness);
  const refused = await trySignIn(
    harness,
    user.email,
    {},
    { authorization: `Bearer ${await harness.newKey(user)}` },
  );
  assert.deepEqual(
    [refused.status, refused.body.code, refused.body.type, setCookieOf(refused)],
    [400, 'invalid_input', 'invalid_request', undefined],
  );
  assert.equal(await countSessions(user), 0);
});

test('validate_only checks the password and leaves nothing behind', async () => {
  const user = await newPerson(harness);
  const answer = await harness.request('POST', '/api/sessions/?validate_only=true', {
    body: { email: user.email, password },
  });
  assert.equal(answer.status, 200);
  assert.equal(setCookieOf(answer), undefined);
  assert.equal(await countSessions(user), 0);
  assert.deepEqual(await activitiesOf(harness, user), []);
});

test('a sign-in ends the session that the browser showed, and ignores a dead cookie', async () => {
  const [one, other] = [await newPerson(harness), await newPerson(harness)];
  const browser = await signedIn(harness, one);
  await browser.ask('POST', '/api/sessions/', { email: one.email, password });
  assert.equal(await countSessions(one), 1);
  const old = browser.cookie();
  assert.equal(
    (await browser.ask('POST', '/api/sessions/', { email: other.email, password })).status,
    201,
  );
  assert.equal(await countSessions(one), 0);
  assert.equal((await browser.ask('GET', '/api/users/@me/')).body.email, other.email);
  assert.equal(
    (
      await openBrowser(harness, old).ask('POST', '/api/sessions/', {
        email: one.email,
        password,
      })
    ).status,
    201,
  );
});

test('a session that begins during a change of password does not outlive it', async () => {
  const [known, hash] = [await hashPassword(password), await hashPassword(other_password)];
  for (let round = 0; round < 8; round += inDepth(4, 1)) {
    await forgetAllAttempts(harness);
    const user = await newPerson(harness, { password_hash: known });
    const change = harness.deps.db.transaction(async (tx) => {
      await tx.run(sql`UPDATE users SET password_hash = ${hash} WHERE id = ${user.id}`);
      await tx.run(sql`SELECT pg_sleep(${round * 0.02})`);
      await tx.run(sql`DELETE FROM sessions WHERE user_id = ${user.id}`);
    });
    const answers = await Promise.all([
      trySignIn(harness, user.email),
      trySignIn(harness, user.email),
      change,
    ]);
    for (const answer of answers.slice(0, 2) as Answer[])
      assert.ok([201, 401].includes(answer.status));
    assert.equal(await countSessions(user), 0, `round ${round}`);
  }
});

test('over https the cookie has the prefix that ties it to this host and to https', async () => {
  const secure = await openHarness({
    clickhouse: false,
    config: { public_url: 'https://sluice.example.com' },
  });
  try {
    const user = await newPerson(secure);
    const answer = await trySignIn(secure, user.email);
    assert.match(
      setCookieOf(answer)!,
      /^__Host-sluice_session=sls_[0-9A-Za-z]{43}; Path=\/; Expires=[^;]+ GMT; HttpOnly; Secure; SameSite=Lax$/,
    );
    const cookie = setCookieOf(answer)!.split(';')[0]!;
    const browser = openBrowser(secure, cookie);
    assert.equal((await browser.ask('GET', '/api/users/@me/')).body.email, user.email);
    // Another host of the domain can set this name, and would sign the browser in to its own
    // account.
    const planted = await openBrowser(secure, cookie.replace('__Host-', '')).ask(
      'GET',
      '/api/users/@me/',
    );
    assert.deepEqual([planted.status, planted.body.code], [401, 'not_authenticated']);
    const ended = await browser.ask('DELETE', '/api/sessions/@current/');
    assert.match(
      setCookieOf(ended)!,
      /^__Host-sluice_session=; Max-Age=0; Path=\/; Expires=Thu, 01 Jan 1970 00:00:00 GMT; HttpOnly; Secure; SameSite=Lax$/,
    );
  } finally {
    await secure.close();
  }
});
