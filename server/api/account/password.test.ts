import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { eventually } from '../../../test/eventually.ts';
import { inDepth } from '../../../test/depth.ts';
import type { Answer } from '../../../test/harness.ts';
import {
  activitiesOf,
  forgetAllAttempts,
  inMail,
  mailedToken,
  newPerson,
  openBrowser,
  other_password,
  password,
  setUpSecondFactor,
  signedIn,
  trySignIn,
  newSignedIn,
} from '../../../test/factories/people/people.ts';
import {
  clock,
  harness,
  openAroundTests,
  server,
} from '../../../test/factories/people/people_around_tests.ts';

const me = '/api/users/@me/';
openAroundTests('mail');

const askForLink = (email: string, remoteAddress = '127.0.0.1') =>
  harness.app.inject({
    method: 'POST',
    url: '/api/users/reset_password/',
    payload: { email },
    remoteAddress,
  });
const choose = (token: string, chosen = other_password) =>
  harness.request('POST', '/api/users/reset_password/confirm/', {
    body: { token, password: chosen },
  });
const isSignedIn = async (browser: ReturnType<typeof openBrowser>) =>
  (await browser.ask('GET', me)).status === 200;
const isNotified = (email: string) =>
  inMail(server, email, ({ content }) =>
    content.subject === 'Your password was changed' ? true : undefined,
  );
const told = ({ status, body }: Answer) => [status, body.attr, body.code];

test('a new password ends all other sessions, and gives this one a new token', async () => {
  const user = await newPerson(harness);
  const [browser, other] = [await signedIn(harness, user), await signedIn(harness, user)];
  const thief = openBrowser(harness, browser.cookie());
  const key = await harness.newKey(user);
  assert.equal(
    (
      await browser.ask('POST', `${me}password/`, {
        current_password: password,
        new_password: other_password,
      })
    ).status,
    204,
  );
  assert.deepEqual(
    [await isSignedIn(browser), await isSignedIn(other), await isSignedIn(thief)],
    [true, false, false],
  );
  assert.ok(await isSignedIn(browser), 'the dead token ended nothing');
  assert.equal((await harness.request('GET', me, { key })).status, 200);
  assert.equal((await trySignIn(harness, user.email)).status, 401);
  assert.equal((await trySignIn(harness, user.email, { password: other_password })).status, 201);
  assert.ok(await isNotified(user.email));
  assert.equal(
    (await activitiesOf(harness, user)).filter((entry) => entry === 'user changed_password').length,
    1,
  );
});

test('it takes a session, the present password, and a new one that will do', async () => {
  const user = await newPerson(harness, { first_name: 'Hieronymus' });
  const browser = await signedIn(harness, user);
  const body = { current_password: password, new_password: other_password };
  assert.equal(
    (await harness.request('POST', `${me}password/`, { key: await harness.newKey(user), body }))
      .status,
    403,
  );
  const cases: [Record<string, unknown>, string, string][] = [
    [{ current_password: undefined }, 'current_password', 'required'],
    [{ current_password: 'another password' }, 'current_password', 'invalid_input'],
    [{ new_password: undefined }, 'new_password', 'required'],
    [{ new_password: 'too short' }, 'new_password', 'min_length'],
    [{ new_password: 'x'.repeat(201) }, 'new_password', 'max_length'],
    [{ new_password: 'password1234' }, 'new_password', 'invalid_input'],
    [{ new_password: 'Liverpool-FC-1' }, 'new_password', 'invalid_input'],
    [{ new_password: 'Hieronymus123' }, 'new_password', 'invalid_input'],
  ];
  for (const [changes, attr, code] of cases) {
    await forgetAllAttempts(harness);
    assert.deepEqual(told(await browser.ask('POST', `${me}password/`, { ...body, ...changes })), [
      400,
      attr,
      code,
    ]);
  }
  assert.equal((await browser.ask('POST', `${me}password/?validate_only=true`, body)).status, 204);
  assert.equal((await trySignIn(harness, user.email)).status, 201);
});

test('one of several concurrent changes with the same present password succeeds', async () => {
  const user = await newPerson(harness);
  const browsers = await Promise.all(
    Array.from({ length: inDepth(2, 4) }, () => signedIn(harness, user)),
  );
  const bodies = browsers.map((_one, index) => ({
    current_password: password,
    new_password: `${other_password} ${index}`,
  }));
  const statuses = await Promise.all(
    browsers.map(
      async (browser, index) => (await browser.ask('POST', `${me}password/`, bodies[index])).status,
    ),
  );
  assert.equal(statuses.filter((status) => status === 204).length, 1, statuses.join());
  const open = await Promise.all(browsers.map(isSignedIn));
  assert.deepEqual(
    open,
    statuses.map((status) => status === 204),
  );
});

test('without a password the first one is chosen within ten minutes of the sign-in', async () => {
  const user = await newPerson(harness, { password_hash: null });
  const browser = openBrowser(harness, await harness.newSession(user));
  const choice = () => browser.ask('POST', `${me}password/`, { new_password: password });
  clock.pass(10 * 60_000 + 1);
  assert.deepEqual(told(await choice()), [403, null, 'permission_denied']);
  const fresh = openBrowser(harness, await harness.newSession(user));
  clock.pass(10 * 60_000 - 1);
  assert.equal((await fresh.ask('POST', `${me}password/`, { new_password: password })).status, 204);
  assert.equal((await trySignIn(harness, user.email)).status, 201);
});

test('a link that the relay did not take is mailed in its hour, the newest alone', async () => {
  const user = await newPerson(harness);
  server.setFault('reject_message');
  // Attempted and to be tried again: nobody's answer waits for it.
  const isWaiting = (known: string[]) =>
    eventually('the link is not tried', async () => {
      const soon = new Date(clock.now() + 10_000).toISOString();
      const row = await harness.deps.db.row<{ link: string }>(
        sql`SELECT m.link FROM mails m JOIN user_links l ON m.link = 'user_link:' ||
          encode(l.token_hash, 'hex') WHERE l.user_id = ${user.id} AND m.attempts = 1
          AND m.next_attempt_at < ${soon}::timestamptz AND NOT m.link = ANY (${known}::text[])`,
      );
      return row?.link;
    });
  assert.equal((await askForLink(user.email)).statusCode, 202);
  const first = await isWaiting([]);
  assert.equal((await askForLink(user.email)).statusCode, 202);
  await isWaiting([first]);
  server.setFault(undefined);
  clock.pass(60_000);
  assert.equal(await harness.deps.outbox.sendDue(), 1, 'the link before it is void');
  const token = await mailedToken(server, user.email, 'reset-password');
  assert.equal((await choose(token)).status, 200);
  server.setFault('reject_message');
  assert.equal((await askForLink(user.email)).statusCode, 202);
  await isWaiting([]);
  server.setFault(undefined);
  clock.pass(60 * 60_000);
  await harness.deps.outbox.sendDue();
  const links = server.mails.filter(
    ({ to, content }) => to.includes(user.email) && content.subject === 'Choose a new password',
  );
  assert.equal(links.length, 1, 'the link that ended is not mailed');
});

test('the answer to a lost password is the same with and without an account', async () => {
  const user = await newPerson(harness);
  const [one, other] = [await askForLink(user.email), await askForLink('nobody@example.com')];
  assert.deepEqual([one.statusCode, one.body], [202, other.body]);
  assert.equal(other.statusCode, 202);
  await mailedToken(server, user.email, 'reset-password');
  assert.ok(!server.mails.some(({ to }) => to.includes('nobody@example.com')));
});

test('a link sets the password once, ends all sessions and does not sign in', async () => {
  const { user, browser } = await newSignedIn(harness);
  await askForLink(user.email.toUpperCase());
  const token = await mailedToken(server, user.email, 'reset-password');
  assert.deepEqual(told(await choose(token, 'password1234')), [400, 'password', 'invalid_input']);
  const chosen = await choose(token);
  assert.deepEqual(
    [chosen.status, chosen.body, chosen.headers['set-cookie']],
    [200, { email: user.email }, undefined],
  );
  assert.deepEqual(told(await choose(token)), [400, 'token', 'expired']);
  assert.equal(await isSignedIn(browser), false);
  assert.ok(await isNotified(user.email));
  assert.deepEqual((await activitiesOf(harness, user)).slice(-2), [
    'user requested_reset',
    'user reset_password',
  ]);
});

test('the first proof of an address ends keys and second factor of before it', async () => {
  const user = await newPerson(harness);
  await setUpSecondFactor(harness, await signedIn(harness, user));
  const keys = [await harness.newKey(user)];
  const statuses = () =>
    Promise.all(keys.map(async (key) => (await harness.request('GET', me, { key })).status));
  await askForLink(user.email);
  const token = await mailedToken(server, user.email, 'reset-password');
  assert.deepEqual(await statuses(), [200]);
  assert.equal((await choose(token, password)).status, 200);
  assert.deepEqual(await statuses(), [401]);
  const browser = await signedIn(harness, user);
  const { is_email_verified, recovery_codes_left } = (await browser.ask('GET', me)).body;
  assert.deepEqual([is_email_verified, recovery_codes_left], [true, 0]);
  await setUpSecondFactor(harness, browser);
  keys.push(await harness.newKey(user));
  await askForLink(user.email);
  await choose(await mailedToken(server, user.email, 'reset-password', [token]));
  assert.deepEqual(await statuses(), [401, 200]);
  const tried = await trySignIn(harness, user.email, { password: other_password });
  assert.equal(tried.body.code, 'second_factor_required');
});

test('one of many people who open a link at once chooses the password', async () => {
  const user = await newPerson(harness);
  await askForLink(user.email);
  const token = await mailedToken(server, user.email, 'reset-password');
  const chosen = Array.from(
    { length: inDepth(3, 10) },
    (_one, index) => `${other_password} ${index}`,
  );
  const statuses = (await Promise.all(chosen.map((one) => choose(token, one)))).map(
    ({ status }) => status,
  );
  assert.equal(statuses.filter((status) => status === 200).length, 1, statuses.join());
  assert.equal(
    (await trySignIn(harness, user.email, { password: chosen[statuses.indexOf(200)]! })).status,
    201,
  );
});

test('a link ends after an hour, after a newer one, and with a deactivated account', async () => {
  const user = await newPerson(harness);
  await askForLink(user.email);
  const first = await mailedToken(server, user.email, 'reset-password');
  await askForLink(user.email);
  const second = await mailedToken(server, user.email, 'reset-password', [first]);
  const active = (is_active: boolean) =>
    harness.deps.db.run(sql`UPDATE users SET is_active = ${is_active} WHERE id = ${user.id}`);
  await active(false);
  assert.deepEqual(told(await choose(second)), [400, 'token', 'expired']);
  await active(true);
  const given = { key: await harness.newKey(user), body: { token: second } };
  assert.deepEqual(told(await harness.request('POST', '/api/users/verify_email/', given)), [
    400,
    'token',
    'expired',
  ]);
  for (const token of [first, 'x', second.slice(1)])
    assert.deepEqual(told(await choose(token)), [400, 'token', 'expired']);
  clock.pass(3_600_000);
  assert.deepEqual(told(await choose(second)), [400, 'token', 'expired']);
});

test('a lost password ends the pause that somebody else brought on the account', async () => {
  const user = await newPerson(harness);
  for (let time = 0; time < 5; time += 1)
    await trySignIn(harness, user.email, { password: 'another password' });
  await askForLink(user.email);
  await choose(await mailedToken(server, user.email, 'reset-password'));
  assert.equal((await trySignIn(harness, user.email, { password: other_password })).status, 201);
});

test('links are limited for an account, with or without one, and for who asks', async () => {
  const user = await newPerson(harness);
  for (const email of [user.email, 'nobody@example.com']) {
    for (let links = 0; links < 3; links += 1)
      assert.equal((await askForLink(email, '192.0.2.7')).statusCode, 202);
    const refused = await askForLink(email, '192.0.2.8');
    assert.deepEqual([refused.statusCode, refused.headers['retry-after']], [429, '60']);
  }
  for (let links = 0; links < 14; links += 1)
    assert.equal((await askForLink(`nobody-${links}@example.com`, '192.0.2.7')).statusCode, 202);
  assert.equal((await askForLink('another@example.com', '192.0.2.7')).statusCode, 429);
});
