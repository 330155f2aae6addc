import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import {
  activitiesOf,
  forgetAllAttempts,
  inMail,
  mailedToken,
  newPerson,
  password,
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

const url = '/api/users/@me/';
const hour_ms = 3_600_000;
openAroundTests('mail');

const newAddress = () => `${randomUUID()}@example.org`;
const verify_url = '/api/users/verify_email/';
const verify = (key: string, token: string) =>
  harness.request('POST', verify_url, { key, body: { token } });
const change = (
  browser: Awaited<ReturnType<typeof signedIn>>,
  email: string,
  current_password = password,
) => browser.ask('POST', `${url}email/`, { email, current_password });

test('an address is proved by the link that is mailed to it, once', async () => {
  const user = await newPerson(harness);
  const key = await harness.newKey(user, { scopes: ['user:write'] });
  const tried = await harness.request('POST', `${url}verify_email/?validate_only=true`, { key });
  assert.deepEqual([tried.status, tried.body], [200, { email: user.email }]);
  assert.ok(!server.mails.some(({ to }) => to.includes(user.email)));
  const sent = await harness.request('POST', `${url}verify_email/`, { key });
  assert.deepEqual([sent.status, sent.body], [202, { email: user.email }]);
  const token = await mailedToken(server, user.email, 'verify-email');
  assert.deepEqual((await verify(key, token)).body, { email: user.email });
  assert.equal((await harness.request('GET', url, { key })).body.is_email_verified, true);
  assert.deepEqual(
    [(await verify(key, token)).body.code, (await verify(key, token)).body.attr],
    ['expired', 'token'],
  );
  assert.equal(
    (await harness.request('POST', `${url}verify_email/`, { key })).body.code,
    'already_verified',
  );
  assert.deepEqual(await activitiesOf(harness, user), [
    'user requested_verification',
    'user verified_email',
  ]);
});

test('a link proves nothing for who has not the account, and is not used up by them', async () => {
  const [user, stranger] = [await newPerson(harness), await newPerson(harness)];
  const key = await harness.newKey(user);
  await harness.request('POST', `${url}verify_email/`, { key });
  const token = await mailedToken(server, user.email, 'verify-email');
  const nobody = await harness.request('POST', verify_url, { body: { token } });
  const other = await verify(await harness.newKey(stranger), token);
  assert.deepEqual([nobody.status, other.status], [401, 403]);
  assert.equal((await harness.request('GET', url, { key })).body.is_email_verified, false);
  assert.deepEqual((await verify(key, token)).body, { email: user.email });
});

test('a link is good for three days, and a newer one takes its place', async () => {
  const user = await newPerson(harness);
  const key = await harness.newKey(user);
  await harness.request('POST', `${url}verify_email/`, { key });
  const first = await mailedToken(server, user.email, 'verify-email');
  await harness.request('POST', `${url}verify_email/`, { key });
  const second = await mailedToken(server, user.email, 'verify-email', [first]);
  assert.equal((await verify(key, first)).body.code, 'expired');
  clock.pass(72 * hour_ms);
  assert.equal((await verify(key, second)).body.code, 'expired');
});

test('a new address takes effect when its link is opened; the old one is notified', async () => {
  const { user, browser } = await newSignedIn(harness);
  const email = newAddress();
  await harness.request('POST', '/api/users/reset_password/', { body: { email: user.email } });
  const reset = await mailedToken(server, user.email, 'reset-password');
  const waiting = await change(browser, email);
  assert.deepEqual(
    [waiting.status, waiting.body.email, waiting.body.pending_email],
    [200, user.email, email],
  );
  const token = await mailedToken(server, email, 'verify-email');
  const notice = await inMail(server, user.email, ({ content }) =>
    content.subject === 'Your e-mail address is being changed' ? content.text : undefined,
  );
  const words = notice.replaceAll(/\s+/g, ' ');
  assert.ok(
    words.includes(`wants ${email} to be the address`) &&
      words.includes(`your address stays ${user.email}`),
    words,
  );
  assert.equal((await trySignIn(harness, email)).status, 401);
  assert.deepEqual((await browser.ask('POST', verify_url, { token })).body, { email });
  const { body } = await browser.ask('GET', url);
  assert.deepEqual([body.email, body.pending_email, body.is_email_verified], [email, null, true]);
  assert.equal((await trySignIn(harness, email)).status, 201);
  assert.equal((await trySignIn(harness, user.email)).status, 401);
  const late = await harness.request('POST', '/api/users/reset_password/confirm/', {
    body: { token: reset, password: 'violet anchor mosaic dune' },
  });
  assert.equal(late.body.code, 'expired');
});

test('the present address, a new password or another change withdraws a change', async () => {
  const { user, browser } = await newSignedIn(harness);
  const key = await harness.newKey(user);
  const pending = async () => (await browser.ask('GET', url)).body.pending_email;
  const [one, other] = [newAddress(), newAddress()];
  await change(browser, one);
  const first = await mailedToken(server, one, 'verify-email');
  await change(browser, other);
  assert.deepEqual(
    (await browser.ask('POST', `${url}verify_email/`)).body,
    { email: other },
    'what is sent again is the link to the new address',
  );
  assert.deepEqual([(await verify(key, first)).status, await pending()], [400, other]);
  assert.equal((await change(browser, user.email)).body.pending_email, null);
  const second = await mailedToken(server, other, 'verify-email');
  assert.equal((await verify(key, second)).status, 400);
  await forgetAllAttempts(harness);
  await change(browser, one);
  await browser.ask('POST', `${url}password/`, {
    current_password: password,
    new_password: 'violet anchor mosaic dune',
  });
  assert.equal(await pending(), null);
});

test('a change of address takes a session and the password, and a free address', async () => {
  const [user, other] = [await newPerson(harness), await newPerson(harness)];
  const [browser, second] = [await signedIn(harness, user), await signedIn(harness, other)];
  const email = newAddress();
  const by_key = await harness.request('POST', `${url}email/`, {
    key: await harness.newKey(user),
    body: { email, current_password: password },
  });
  assert.equal(by_key.status, 403);
  assert.deepEqual(
    (await change(browser, email, 'another password')).body.attr,
    'current_password',
  );
  assert.deepEqual((await browser.ask('POST', `${url}email/`, { email })).body.code, 'required');
  assert.deepEqual((await change(browser, 'nobody')).body.attr, 'email');
  const taken = await change(browser, other.email.toUpperCase());
  assert.deepEqual([taken.body.attr, taken.body.code], ['email', 'unique']);
  await change(browser, email);
  await harness.deps.db.run(sql`DELETE FROM attempts`);
  const first = await mailedToken(server, email, 'verify-email');
  const spelled = email.replace(/^[^@]+/, (local) => local.toUpperCase());
  await change(second, spelled);
  const token = await mailedToken(server, spelled, 'verify-email');
  const answers = await Promise.all([
    browser.ask('POST', verify_url, { token: first }),
    second.ask('POST', verify_url, { token }),
  ]);
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400]);
  assert.equal(answers.find(({ status }) => status === 400)?.body.code, 'unique');
});

test('one of ten people who open a link at once succeeds', async () => {
  const user = await newPerson(harness);
  const key = await harness.newKey(user);
  await harness.request('POST', `${url}verify_email/`, { key });
  const token = await mailedToken(server, user.email, 'verify-email');
  const statuses = (await Promise.all(Array.from({ length: 10 }, () => verify(key, token)))).map(
    ({ status }) => status,
  );
  assert.deepEqual(statuses.sort(), [200, ...Array.from({ length: 9 }, () => 400)]);
});

test('the domain of an address is kept in lower case, and compared so', async () => {
  const user = await newPerson(harness, { email: `${randomUUID()}@EXAMPLE.com` });
  assert.match(user.email, /@example\.com$/);
  const browser = await signedIn(harness, user);
  const name = `Grace.${randomUUID()}`;
  const waiting = await change(browser, ` ${name}@Example.ORG `);
  assert.equal(waiting.body.pending_email, `${name}@example.org`);
  assert.equal(
    (await change(browser, user.email.replace('example', 'Example'))).body.pending_email,
    null,
  );
});

test('a broken body and one of another type are refused, and no mail is sent', async () => {
  const user = await newPerson(harness);
  const key = await harness.newKey(user);
  const send = async (body: string, type: string) =>
    (
      await harness.request('POST', `${url}verify_email/`, {
        key,
        body,
        headers: { 'content-type': type },
      })
    ).status;
  assert.deepEqual(
    [
      await send('{', 'application/json'),
      await send('[]', 'application/json'),
      await send('a=b', 'application/x-www-form-urlencoded'),
    ],
    [400, 400, 415],
  );
  assert.deepEqual(await activitiesOf(harness, user), []);
  assert.equal(await send('{}', 'application/json'), 202);
});

test('mails are limited for an account', async () => {
  const user = await newPerson(harness);
  const key = await harness.newKey(user);
  for (let mails = 0; mails < 3; mails += 1)
    assert.equal((await harness.request('POST', `${url}verify_email/`, { key })).status, 202);
  const refused = await harness.request('POST', `${url}verify_email/`, { key });
  assert.deepEqual([refused.status, refused.headers['retry-after']], [429, '60']);
  // Else it would show that there is an account: nobody has these mails sent to an address without
  // one.
  for (let links = 0; links < 3; links += 1)
    assert.equal(
      (await harness.request('POST', '/api/users/reset_password/', { body: { email: user.email } }))
        .status,
      202,
    );
  assert.equal(
    (await harness.request('POST', '/api/users/reset_password/', { body: { email: user.email } }))
      .status,
    429,
  );
});
