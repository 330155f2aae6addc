import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { inDepth, is_deep } from '../../../test/depth.ts';
import {
  codeOf,
  forgetAllAttempts,
  newPerson,
  password,
  setUpSecondFactor,
  signedIn,
  trySignIn,
  newSignedIn,
} from '../../../test/factories/people/people.ts';
import { hashPassword } from '../../platform/passwords/password.ts';
import {
  clock,
  failTimes,
  harness,
  openAroundTests,
  outcome,
  wrong,
} from '../../../test/factories/people/people_around_tests.ts';

openAroundTests();

/** Accounts in turn: each is tried seldom enough that none of them has to wait. */
const emails: string[] = [];
async function nextEmail(): Promise<string> {
  const email = emails.length < 15 ? (await newPerson(harness)).email : emails.shift()!;
  emails.push(email);
  return email;
}

/** A wrong sign-in that comes from the address; gives its status. */
async function failFrom(remoteAddress: string, given?: string): Promise<number> {
  const payload = { email: given ?? (await nextEmail()), ...wrong };
  return (
    await harness.app.inject({ method: 'POST', url: '/api/sessions/', payload, remoteAddress })
  ).statusCode;
}

test('after 5 failures every further try waits twice as long, up to 15 minutes', async () => {
  const user = await newPerson(harness);
  const pauses = [2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900];
  // An address that has no account costs as much work as a hash of production each time.
  for (const [email, waited] of [
    [user.email, pauses],
    ['nobody@example.com', pauses.slice(0, inDepth(2, 11))],
  ] as const) {
    await forgetAllAttempts(harness);
    await failTimes(5, email);
    for (const seconds of waited) {
      const refused = await trySignIn(harness, email.toUpperCase(), wrong);
      assert.deepEqual(
        [refused.body.code, refused.body.type, outcome(refused)],
        ['throttled', 'throttled_error', `wait ${seconds}`],
      );
      clock.pass(seconds * 1000 - 1);
      assert.equal(
        outcome(await trySignIn(harness, email)),
        'wait 1',
        'the right password waits as well',
      );
      clock.pass(1);
      assert.equal((await trySignIn(harness, email, wrong)).status, 401);
    }
  }
});

test('the right password ends the series', async () => {
  const user = await newPerson(harness);
  await failTimes(4, user.email);
  assert.equal((await trySignIn(harness, user.email)).status, 201);
  await failTimes(5, user.email);
  assert.equal(outcome(await trySignIn(harness, user.email)), 'wait 2');
  clock.pass(2000);
  assert.equal((await trySignIn(harness, user.email)).status, 201);
  await failTimes(5, user.email);
});

test('a series is forgotten a day after its last failure', async () => {
  const user = await newPerson(harness);
  await failTimes(5, user.email);
  clock.pass(24 * 3_600_000 + 1);
  await failTimes(5, user.email);
  assert.equal(outcome(await trySignIn(harness, user.email)), 'wait 2');
});

test('at most 5 of many concurrent tries check the password, even if one is right', async () => {
  const count = inDepth(20, 50);
  for (const last of is_deep ? [wrong, {}] : [{}]) {
    await forgetAllAttempts(harness);
    const user = await newPerson(harness, { password_hash: await hashPassword(password) });
    const tries = Array.from({ length: count }, (_one, index) =>
      trySignIn(harness, user.email, index === count - 1 ? last : wrong),
    );
    const outcomes = (await Promise.all(tries)).map(({ status }) => status);
    assert.ok(outcomes.filter((status) => status === 401).length <= 5, String(outcomes));
    assert.equal(
      outcomes.filter((status) => status === 429).length >= count - 6,
      true,
      String(outcomes),
    );
  }
});

test('wrong codes count; the right password without one does not, and ends no series', async () => {
  const user = await newPerson(harness);
  const { secret } = await setUpSecondFactor(harness, await signedIn(harness, user));
  clock.pass(90_000);
  const code = codeOf(secret, clock.now());
  const no_code = code === '000000' ? '000001' : '000000';
  for (const given of [
    no_code,
    undefined,
    no_code,
    'ABCDE-ABCDE',
    undefined,
    undefined,
    no_code,
    undefined,
    undefined,
    'ABCDE-ABCDE',
  ])
    assert.equal(
      (await trySignIn(harness, user.email, given === undefined ? {} : { code: given })).status,
      401,
    );
  assert.equal(outcome(await trySignIn(harness, user.email, { code })), 'wait 2');
  clock.pass(2000);
  assert.equal(
    (await trySignIn(harness, user.email, { code: codeOf(secret, clock.now()) })).status,
    201,
  );
});

test('a wrong password of somebody who is signed in counts as well', async () => {
  const { user, browser } = await newSignedIn(harness);
  const begin = (current_password: string) =>
    browser.ask('POST', '/api/users/@me/totp/', { current_password });
  for (let time = 0; time < 5; time += 1)
    assert.equal((await begin('another password')).body.attr, 'current_password');
  assert.equal(outcome(await begin(password)), 'wait 2');
  assert.equal(outcome(await trySignIn(harness, user.email)), 'wait 2');
  clock.pass(2000);
  assert.equal((await begin(password)).status, 200);
});

test('no pause is kept under an Idempotency-Key: the request works when it is over', async () => {
  const { user, browser } = await newSignedIn(harness);
  await failTimes(5, user.email);
  const begin = () =>
    browser.ask(
      'POST',
      '/api/users/@me/totp/',
      { current_password: password },
      { 'idempotency-key': 'once' },
    );
  const refused = await begin();
  assert.equal(refused.status, 429);
  clock.pass(Number(refused.headers['retry-after']) * 1000);
  const begun = await begin();
  assert.equal(begun.status, 200);
  assert.equal((await begin()).body.secret, begun.body.secret);
});

test('after 20 failures an address waits, over all accounts; accounts do not', async () => {
  const user = await newPerson(harness);
  for (let time = 0; time < 20; time += 1) assert.equal(await failFrom('192.0.2.1'), 401);
  for (let time = 0; time < 10; time += 1)
    assert.equal(await failFrom('192.0.2.1', user.email), 429);
  assert.equal(await failFrom('::ffff:192.0.2.1'), 429);
  assert.equal(await failFrom('192.0.2.2'), 401);
  assert.equal((await trySignIn(harness, user.email)).status, 201);
});

test('an IPv6 network of 64 bits is one address', async () => {
  for (let time = 0; time < 20; time += 1)
    assert.equal(await failFrom(`2001:db8:1:2:${time}::1`), 401);
  assert.equal(await failFrom('2001:db8:1:2:ffff::1'), 429);
  assert.equal(await failFrom('2001:db8:1:3::1'), 401);
});

test('right sign-ins cost an address nothing, and wash nothing off', async () => {
  const user = await newPerson(harness);
  for (let time = 0; time < 21; time += 1)
    assert.equal((await trySignIn(harness, user.email)).status, 201);
  for (let time = 0; time < 20; time += 1) {
    assert.equal(await failFrom('127.0.0.1'), 401);
    if (time === 18) assert.equal((await trySignIn(harness, user.email)).status, 201);
  }
  assert.equal(await failFrom('127.0.0.1'), 429);
});

test('addresses of strangers are not collected', async () => {
  await trySignIn(harness, 'somebody@elsewhere.example', wrong);
  const rows = await harness.deps.db.rows<{ subject: string }>(
    sql`SELECT subject FROM attempts ORDER BY subject`,
  );
  assert.deepEqual(
    rows.map(({ subject }) => subject.split(' ').slice(0, 2).join(' ')),
    ['try from', 'try on'],
  );
  assert.ok(!JSON.stringify(rows).includes('somebody'));
});
