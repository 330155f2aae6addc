import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../test/around_tests.ts';
import { addMember } from '../../../test/factories/people/members.ts';
import {
  codeOf,
  forgetAllAttempts,
  newPerson,
  password,
  setUpSecondFactor,
  signedIn,
  trySignIn,
} from '../../../test/factories/people/people.ts';
import { openSecurityWorld } from '../../../test/factories/people/security.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { createApiKey, maskApiKey } from '../../platform/http/caller/api_key.ts';

const world = aroundTests(openSecurityWorld);
beforeEach(async () => {
  await forgetAllAttempts(world.harness);
  world.lines();
});

const tried = 'a password that was only tried';
/** An organization with a person of its own, who has a password. */
async function newHome() {
  const home = await world.harness.newOrganization();
  const person = await newPerson(world.harness);
  await addMember(world.harness.deps, home.organization.id, person, 1);
  return { home, person };
}
/** Shortens a log line or a row to the parts that both have. */
const brief = (told: Record<string, any>) =>
  `${told['security_event'] ?? told['event']} ${told['reason']}`;
const told = (home: TestOrganization, query = '') =>
  world.eventsOf(home.organization.id, home.key, query);
const assertNoSecrets = (...more: string[]) => {
  for (const secret of [tried, password, ...more])
    assert.ok(!world.logged().includes(secret), `the log holds ${secret}`);
};

test('a wrong password says who, from where, what and why, in the log and to owners', async () => {
  const { home, person } = await newHome();
  const answer = await trySignIn(
    world.harness,
    person.email,
    { password: tried },
    {
      'user-agent': 'a browser',
      'x-request-id': 'request-of-the-test',
    },
  );
  assert.equal(answer.status, 401);
  const [line, ...others] = world.lines();
  assert.equal(others.length, 0);
  const { level, time: _time, pid: _pid, hostname: _host, ...said } = line!;
  assert.deepEqual(
    [level, said],
    [
      40,
      {
        security_event: 'sign_in_failed',
        reason: 'wrong_password',
        user_id: person.id,
        user_uuid: person.uuid,
        user_email: person.email,
        key_mask: null,
        session_id: null,
        organization_id: null,
        ip: '127.0.0.1',
        user_agent: 'a browser',
        method: 'POST',
        route: '/api/sessions/',
        item_id: null,
        request_id: 'request-of-the-test',
        count: 1,
        msg: 'a sign-in was refused',
      },
    ],
  );
  const [event, ...more] = await told(home);
  assert.equal(more.length, 0);
  const { id, number, created_at, ...row } = event!;
  assert.deepEqual(row, {
    event: 'sign_in_failed',
    reason: 'wrong_password',
    user: { uuid: person.uuid, email: person.email },
    key_mask: null,
    session_id: null,
    ip: '127.0.0.1',
    user_agent: 'a browser',
    method: 'POST',
    route: '/api/sessions/',
    item_id: null,
    request_id: 'request-of-the-test',
    count: 1,
  });
  assert.match(id, /^[0-9a-f-]{36}$/);
  assert.ok(number > 0);
  assert.equal(Date.parse(created_at), world.clock.now());
  assertNoSecrets();
});

test('an address without an account is not repeated: people type passwords there', async () => {
  await trySignIn(world.harness, `${tried}@example.com`, { password: tried });
  const lines = world.lines();
  assert.deepEqual(lines.map(brief), ['sign_in_failed no_account']);
  assert.equal(lines[0]!['user_email'], null);
  assertNoSecrets();
});

test('a right password leaves a line, and nothing in the lists', async () => {
  const { home, person } = await newHome();
  await signedIn(world.harness, person);
  const lines = world.lines();
  assert.deepEqual(
    lines.map((line) => [brief(line), line['level'], line['user_uuid']]),
    [['signed_in password', 30, person.uuid]],
  );
  assert.deepEqual(await told(home), []);
  assertNoSecrets();
});

test('wrong codes, at the sign-in and where a change is confirmed', async () => {
  const { home, person } = await newHome();
  const browser = await signedIn(world.harness, person);
  const wrong_password = { current_password: tried };
  assert.equal((await browser.ask('POST', '/api/users/@me/totp/', wrong_password)).status, 400);
  const { secret, recovery_codes } = await setUpSecondFactor(world.harness, browser);
  world.lines();
  const code = codeOf(secret, world.clock.now(), 40);
  assert.equal((await trySignIn(world.harness, person.email, { code })).status, 401);
  assert.equal((await trySignIn(world.harness, person.email)).body.code, 'second_factor_required');
  const removal = { current_password: password, code };
  assert.equal((await browser.ask('DELETE', '/api/users/@me/totp/', removal)).status, 400);
  const confirmation = { password: tried, code };
  assert.equal(
    (await browser.ask('POST', '/api/sessions/@current/confirm/', confirmation)).status,
    400,
  );
  assert.deepEqual(world.lines().map(brief), [
    'sign_in_failed wrong_code',
    'confirmation_failed wrong_code',
    'confirmation_failed wrong_password',
  ]);
  assert.deepEqual((await told(home, '?ordering=number')).map(brief), [
    'confirmation_failed wrong_password',
    'sign_in_failed wrong_code',
    'confirmation_failed wrong_code',
    'confirmation_failed wrong_password',
  ]);
  assertNoSecrets(secret, ...recovery_codes, code);
});

test('a lockout is logged with its account', async () => {
  const { home, person } = await newHome();
  for (let time = 0; time < 5; time += 1)
    await trySignIn(world.harness, person.email, { password: tried });
  const locked = await trySignIn(world.harness, person.email, { password: tried });
  assert.equal(locked.status, 429);
  assert.equal(brief(world.lines().at(-1)!), 'locked_out tries_of_account');
  const [event] = await told(home);
  assert.deepEqual(
    [brief(event!), event!['user'].uuid],
    ['locked_out tries_of_account', person.uuid],
  );
});

test('refused keys: wrong, unknown, expired, of somebody inactive, and a write key', async () => {
  const { home, person } = await newHome();
  const ask = (key: string) =>
    world.harness.request('GET', '/api/projects/', { key }).then(({ status }) => status);
  const unknown = createApiKey();
  const expired = await world.harness.newKey(person, { expires_at: '2020-01-01T00:00:00Z' });
  const limited = await world.harness.newKey(person, {
    expires_at: '2020-01-01T00:00:00Z',
    scoped_organizations: [(await world.harness.newOrganization()).organization.id],
  });
  const write_key = home.project.api_token;
  for (const key of [`${unknown.slice(0, -1)}!`, unknown, expired, limited, write_key])
    assert.equal(await ask(key), 401);
  const lines = world.lines();
  assert.deepEqual(
    lines.map((line) => [brief(line), line['key_mask'], line['user_uuid']]),
    [
      ['key_refused malformed', null, null],
      ['key_refused unknown', maskApiKey(unknown), null],
      ['key_refused expired', maskApiKey(expired), person.uuid],
      ['key_refused expired', maskApiKey(limited), person.uuid],
      ['key_refused write_key', null, null],
    ],
  );
  // The limited key reaches another organization alone.
  assert.deepEqual(
    (await told(home)).map((event) => [brief(event), event['key_mask']]),
    [['key_refused expired', maskApiKey(expired)]],
  );
  const working = await world.harness.newKey(person);
  await world.harness.deps.db.run(sql`UPDATE users SET is_active = false WHERE id = ${person.id}`);
  assert.equal(await ask(working), 401);
  assert.deepEqual(world.lines().map(brief), ['key_refused person_inactive']);
  assert.equal(brief((await told(home))[0]!), 'key_refused person_inactive');
  assertNoSecrets(unknown, expired, limited, working, write_key);
});

test('a change from a page of another site is in the log alone', async () => {
  const headers = { 'sec-fetch-site': 'cross-site' };
  const answer = await trySignIn(world.harness, 'ada@example.com', {}, headers);
  assert.equal(answer.status, 403);
  assert.deepEqual(world.lines().map(brief), ['cross_site_refused cross_site']);
});

test('a flood is counted, and a store that is away costs no entry and no request', async () => {
  const { home, person } = await newHome();
  const key = await world.harness.newKey(person, { expires_at: '2020-01-01T00:00:00Z' });
  await world.harness.deps.security_log.flush();
  const { db } = world.harness.deps;
  const { transaction } = db;
  db.transaction = () => Promise.reject(new Error('The store is away.'));
  try {
    for (let time = 0; time < 50; time += 1)
      assert.equal((await world.harness.request('GET', '/api/projects/', { key })).status, 401);
    await assert.rejects(world.harness.deps.security_log.flush(), /The store is away/);
  } finally {
    db.transaction = transaction;
  }
  assert.equal(world.lines().length, 20);
  const counted = await world.harness.deps.metrics.security_events.get();
  const of_keys = counted.values.find(({ labels }) => labels.event === 'key_refused');
  assert.ok(of_keys!.value >= 50, 'all are counted');
  assert.equal((await told(home)).length, 20);
  world.clock.pass(10 * 60_000);
  const [summary, ...before] = await told(home);
  assert.deepEqual([summary!['count'], before.length], [30, 20]);
  assert.deepEqual(
    world.lines().map(({ count }) => count),
    [30],
  );
});
