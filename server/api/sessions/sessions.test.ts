import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../test/around_tests.ts';
import { openHarness } from '../../../test/harness.ts';
import {
  activitiesOf,
  forgetAllAttempts,
  newPerson,
  openBrowser,
  openTestClock,
  password,
  setCookieOf,
  signedIn,
  newSignedIn,
} from '../../../test/factories/people/people.ts';

const clock = openTestClock();
const list = '/api/sessions/';
const [minute_ms, day_ms] = [60_000, 24 * 3_600_000];
const harness = aroundTests(() => openHarness({ clickhouse: false, deps: { clock } }));
beforeEach(() => forgetAllAttempts(harness));

const isSignedIn = async (browser: ReturnType<typeof openBrowser>) =>
  (await browser.ask('GET', '/api/users/@me/')).status === 200;
/**
 * As if the session had been used just now; the request that uses it moves the instant later than
 * its answer comes.
 */
const useNow = (user: { id: number }) =>
  harness.deps.db.run(
    sql`UPDATE sessions SET last_used_at = ${new Date(clock.now()).toISOString()}::timestamptz
      WHERE user_id = ${user.id}`,
  );

test('the list has the own sessions that go on, newest first, also for a key', async () => {
  const user = await newPerson(harness);
  const old = await signedIn(harness, user);
  clock.pass(7 * day_ms - minute_ms);
  const second = await signedIn(harness, user);
  clock.pass(minute_ms);
  const third = await signedIn(harness, user);
  await signedIn(harness, await newPerson(harness));
  const ids = async (browser: typeof old) =>
    (await browser.ask('GET', list)).body.results.map(
      (row: { is_current: boolean }) => row.is_current,
    );
  assert.deepEqual(await ids(third), [true, false, false]);
  assert.deepEqual(await ids(second), [false, true, false]);
  clock.pass(1);
  assert.deepEqual(await ids(third), [true, false], 'what was not used for 7 days has ended');
  assert.equal(await isSignedIn(old), false);
  const by_key = await harness.request('GET', `${list}?limit=1`, {
    key: await harness.newKey(user, { scopes: ['user:read'] }),
  });
  assert.deepEqual(
    [by_key.body.count, by_key.body.results.length, by_key.body.results[0].is_current],
    [2, 1, false],
  );
  assert.match(by_key.body.next, /offset=1/);
});

test('a person retrieves and ends their own sessions by id, and no others', async () => {
  const user = await newPerson(harness);
  const [one, other] = [await signedIn(harness, user), await signedIn(harness, user)];
  const stranger = await signedIn(harness, await newPerson(harness));
  const { id } = (await other.ask('GET', `${list}@current/`)).body;
  for (const method of ['GET', 'DELETE'])
    assert.equal((await stranger.ask(method, `${list}${id}/`)).status, 404);
  const found = await one.ask('GET', `${list}${id}/`);
  assert.deepEqual([found.status, found.body.is_current], [200, false]);
  assert.equal(
    (await one.ask('DELETE', `${list}${id}/`, undefined, { 'if-match': '"stale"' })).status,
    412,
  );
  const ended = await one.ask('DELETE', `${list}${id}/`, undefined, {
    'if-match': found.headers['etag']!,
  });
  assert.deepEqual([ended.status, setCookieOf(ended)], [204, undefined]);
  assert.equal(await isSignedIn(other), false);
  assert.ok(await isSignedIn(one));
  for (const method of ['GET', 'DELETE'])
    assert.equal((await one.ask(method, `${list}${id}/`)).status, 404);
  assert.deepEqual((await activitiesOf(harness, user)).at(-1), 'session deleted');
});

test('@current signs out and takes the cookie back; with a key there is none', async () => {
  const { user, browser } = await newSignedIn(harness);
  const cookie = browser.cookie();
  const ended = await browser.ask('DELETE', `${list}@current/`);
  assert.equal(ended.status, 204);
  assert.match(
    setCookieOf(ended)!,
    /^sluice_session=; Max-Age=0; Path=\/; Expires=Thu, 01 Jan 1970/,
  );
  assert.equal(await isSignedIn(openBrowser(harness, cookie)), false);
  const key = await harness.newKey(user);
  for (const id of ['@current', 'x', '01890000-0000-7000-8000-000000000000'])
    assert.equal((await harness.request('DELETE', `${list}${id}/`, { key })).status, 404);
});

test('all others are ended at once, with a key all; the log says how many', async () => {
  const user = await newPerson(harness);
  const [one, other, third] = [
    await signedIn(harness, user),
    await signedIn(harness, user),
    await signedIn(harness, user),
  ];
  const stranger = await signedIn(harness, await newPerson(harness));
  assert.equal((await one.ask('DELETE', list)).status, 204);
  assert.deepEqual(
    [
      await isSignedIn(one),
      await isSignedIn(other),
      await isSignedIn(third),
      await isSignedIn(stranger),
    ],
    [true, false, false, true],
  );
  const entry = await harness.deps.db.row<{ changes: unknown }>(
    sql`SELECT changes FROM activity WHERE chain_id = ${user.uuid}::uuid
      AND activity = 'ended_others'`,
  );
  assert.deepEqual(entry?.changes, [{ field: 'ended', action: 'created', before: null, after: 2 }]);
  assert.equal(
    (
      await harness.request('DELETE', list, {
        key: await harness.newKey(user, { scopes: ['user:write'] }),
      })
    ).status,
    204,
  );
  assert.equal(await isSignedIn(one), false);
});

test('one of several requests that end a session at once ends it', async () => {
  const user = await newPerson(harness);
  const [one, other] = [await signedIn(harness, user), await signedIn(harness, user)];
  const { id } = (await other.ask('GET', `${list}@current/`)).body;
  const statuses = (
    await Promise.all(Array.from({ length: 6 }, () => one.ask('DELETE', `${list}${id}/`)))
  ).map(({ status }) => status);
  assert.deepEqual(statuses.sort(), [204, 404, 404, 404, 404, 404]);
});

test('a token is replaced after a day; the old one works for one more minute', async () => {
  const { browser } = await newSignedIn(harness);
  const old = openBrowser(harness, browser.cookie());
  clock.pass(day_ms - 1);
  assert.equal(setCookieOf(await browser.ask('GET', list)), undefined);
  clock.pass(1);
  const replaced = await Promise.all([
    browser.ask('GET', list),
    browser.ask('GET', list),
    browser.ask('GET', list),
  ]);
  assert.equal(
    replaced.filter((answer) => setCookieOf(answer) !== undefined).length,
    1,
    'one of the requests that race replaces it',
  );
  assert.notEqual(browser.cookie(), old.cookie());
  clock.pass(minute_ms);
  const within = await old.ask('GET', list);
  assert.deepEqual([within.status, setCookieOf(within)], [200, undefined]);
  assert.ok(await isSignedIn(browser));
  clock.pass(1);
  assert.equal((await old.ask('GET', list)).status, 401);
  assert.equal(await isSignedIn(browser), false, 'two hold the session, so it ends for both');
});

test('a session ends 30 days after the sign-in, however much it is used', async () => {
  const { user, browser } = await newSignedIn(harness);
  for (let day = 1; day < 30; day += 1) {
    clock.pass(day_ms);
    assert.ok(await isSignedIn(browser), `day ${day}`);
    await useNow(user);
  }
  clock.pass(day_ms - 1);
  assert.ok(await isSignedIn(browser));
  clock.pass(1);
  assert.equal(await isSignedIn(browser), false);
});

test('a session of an inactive person opens nothing', async () => {
  const { user, browser } = await newSignedIn(harness);
  await harness.deps.db.run(sql`UPDATE users SET is_active = false WHERE id = ${user.id}`);
  assert.equal((await browser.ask('GET', '/api/users/@me/')).body.code, 'authentication_failed');
});

test('a key with a session is 400; a cookie that is no token is 401', async () => {
  const { user, browser } = await newSignedIn(harness);
  const key = await harness.newKey(user);
  for (const method of ['GET', 'DELETE'])
    assert.equal(
      (await browser.ask(method, list, undefined, { authorization: `Bearer ${key}` })).status,
      400,
    );
  assert.ok(await isSignedIn(browser));
  const count = harness.deps.db.statementCount();
  for (const cookie of ['sluice_session=x', `sluice_session=${key}`, 'sluice_session='])
    assert.equal((await openBrowser(harness, cookie).ask('GET', list)).status, 401);
  assert.equal(harness.deps.db.statementCount(), count);
});

test('a change from a page of another site is refused, a read is not', async () => {
  const { user, browser } = await newSignedIn(harness);
  const { public_url } = harness.deps.config;
  const cases: [Record<string, string>, boolean][] = [
    [{}, true],
    [{ 'sec-fetch-site': 'same-origin' }, true],
    [{ 'sec-fetch-site': 'none' }, true],
    [{ 'sec-fetch-site': 'same-site' }, false],
    [{ 'sec-fetch-site': 'cross-site' }, false],
    [{ 'sec-fetch-site': 'cross-site', origin: public_url }, false],
    [{ origin: public_url }, true],
    [{ origin: 'http://sluice.test', host: 'sluice.test' }, true],
    [{ origin: 'https://evil.example' }, false],
    [{ origin: `${public_url}.evil.example` }, false],
    [{ origin: 'null' }, false],
  ];
  for (const [headers, isAllowed] of cases) {
    const name = JSON.stringify(headers);
    const changed = await browser.ask('PATCH', '/api/users/@me/', { first_name: 'Grace' }, headers);
    assert.equal(changed.status, isAllowed ? 200 : 403, name);
    assert.equal(
      (await browser.ask('GET', '/api/users/@me/', undefined, headers)).status,
      200,
      name,
    );
    const body = { email: user.email, password };
    assert.equal(
      (await harness.request('POST', list, { body, headers })).status,
      isAllowed ? 201 : 403,
      `sign-in with ${name}`,
    );
  }
});
