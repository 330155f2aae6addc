import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../test/around_tests.ts';
import {
  activitiesOf,
  newPerson,
  openBrowser,
  password,
} from '../../../../test/factories/people/people.ts';
import {
  accountAt,
  assertRefused,
  changeDomain,
  openNavigator,
  openSingleSignOn,
  sessionOf,
  signInBySaml,
} from '../../../../test/factories/people/single_sign_on.ts';
import type { Home } from '../../../../test/factories/people/single_sign_on.ts';
import { addMember } from '../../../../test/factories/people/members.ts';

const world = aroundTests(openSingleSignOn);

const email = 'ada@acme.example';
const me = '/api/users/@me/';
const membersOf = async (home: Home) =>
  (await home.ask('GET', `/api/organizations/${home.organization.id}/members/`)).body.results.map(
    (member: { user: { email: string }; level: number }) => `${member.user.email} ${member.level}`,
  );
const invite = async (home: Home, level: number, target_email = email) =>
  assert.equal(
    (
      await home.ask('POST', `/api/organizations/${home.organization.id}/invites/`, {
        target_email,
        level,
      })
    ).status,
    201,
  );
const verify = (id: number) =>
  world.harness.deps.db.run(sql`UPDATE users SET is_email_verified = true WHERE id = ${id}`);

test('an account whose address only looks like the vouched one is another account', async () => {
  // Unicode folds both to ASCII letters; mail to the first goes to another domain, to the second to
  // another mailbox.
  for (const [domain, stored] of [
    ['trio.example', 'ada@tr\u0130o.example'],
    ['trio.example', '\u212aate@trio.example'],
  ] as const) {
    const home = await world.newHome({ jit_provisioning_enabled: true }, domain);
    const person = await newPerson(world.harness, { email: stored });
    await verify(person.id);
    const vouched = stored.replace('\u0130', 'i').replace('\u212a', 'k');
    const browser = openNavigator(world.harness);
    assert.equal((await signInBySaml(world, browser, vouched)).status, 303);
    assert.notEqual((await accountAt(world.harness, browser)).uuid, person.uuid);
    assert.deepEqual(await membersOf(home), [`${vouched} 1`, `${home.user.email} 15`]);
    await world.harness.deps.db.run(sql`DELETE FROM users WHERE id = ${person.id}`);
  }
});

test('without JIT a stranger needs an open invite, which is used up', async () => {
  const home = await world.newHome();
  const browser = openNavigator(world.harness);
  await assertRefused(world, browser, await signInBySaml(world, browser), 'no_account');
  assert.equal(
    (await world.harness.deps.db.row<{ count: number }>(
      sql`SELECT count(*) AS count FROM users WHERE email = ${email}`,
    ))!.count,
    0,
  );

  await invite(home, 8);
  assert.equal((await signInBySaml(world, browser)).status, 303);
  assert.deepEqual(await membersOf(home), [`${email} 8`, `${home.user.email} 15`]);
  const list = await home.ask('GET', `/api/organizations/${home.organization.id}/invites/`);
  assert.equal(list.body.count, 0);
});

test('an expired invite is void, and with JIT it gives no level', async () => {
  const home = await world.newHome();
  await invite(home, 15);
  await world.harness.deps.db.run(
    sql`UPDATE invites SET sent_at =
      ${new Date(world.clock.now() - 4 * 86_400_000).toISOString()}::timestamptz`,
  );
  const browser = openNavigator(world.harness);
  await assertRefused(world, browser, await signInBySaml(world, browser), 'no_account');
  await changeDomain(home, { jit_provisioning_enabled: true });
  assert.equal((await signInBySaml(world, browser)).status, 303);
  assert.deepEqual(await membersOf(home), [`${email} 1`, `${home.user.email} 15`]);
});

test("another organization's invite gives an account, which accepts it with its own", async () => {
  const home = await world.newHome();
  const other = { ...(await world.harness.newOrganization()), domain: home.domain };
  await invite(other, 8);
  const browser = openNavigator(world.harness);
  assert.equal((await signInBySaml(world, browser)).status, 303);
  assert.deepEqual((await accountAt(world.harness, browser)).organizations, []);
  const list = await other.ask('GET', `/api/organizations/${other.organization.id}/invites/`);
  const own = openBrowser(world.harness, sessionOf(browser).cookie);
  const accept = () => own.ask('POST', `/api/invites/${list.body.results[0].id}/accept/`, {});
  const refused = await accept();
  assert.deepEqual([refused.status, refused.body.code], [403, 'own_factor_required']);
  const confirm = '/api/sessions/@current/confirm/';
  assert.equal((await own.ask('POST', confirm, { password })).status, 409);

  // The link of `/api/users/@me/reset_password/`, which mailed tests walk, leaves a password.
  await world.harness.deps.db.run(sql`UPDATE users SET password_hash =
    (SELECT password_hash FROM users WHERE id = ${(await newPerson(world.harness)).id})
    WHERE email = ${email}`);
  const confirmed = await own.ask('POST', confirm, { password });
  assert.equal(confirmed.status, 200, confirmed.text);
  assert.equal((await accept()).status, 201);
});

const accounts: {
  name: string;
  verified: boolean;
  member?: boolean;
  elsewhere?: boolean;
  jit?: boolean;
  enforced?: boolean;
  second_factor?: boolean;
  invited?: boolean;
  refused?: string;
  level?: number;
  handed_over?: boolean;
}[] = [
  { name: 'a member', verified: true, member: true, level: 15 },
  { name: 'a member whose address was never verified', verified: false, member: true, level: 15 },
  {
    name: 'a verified account of another organization joins with JIT',
    verified: true,
    elsewhere: true,
    jit: true,
    level: 1,
  },
  {
    name: 'a verified account of another organization joins with an invite',
    verified: true,
    elsewhere: true,
    invited: true,
    level: 8,
  },
  {
    name: 'a verified account of another organization signs in without joining',
    verified: true,
    elsewhere: true,
  },
  {
    name: 'one of no organization joins with JIT, without what let in before',
    verified: true,
    jit: true,
    level: 1,
    handed_over: true,
  },
  {
    name: 'one of no organization whose address was never verified joins in the same way',
    verified: false,
    invited: true,
    level: 8,
    handed_over: true,
  },
  { name: 'a verified account of no organization', verified: true, refused: 'not_a_member' },
  {
    name: 'one of no organization whose address was never verified',
    verified: false,
    refused: 'account_unverified',
  },
  {
    name: 'an unverified account of another organization does not join with JIT',
    verified: false,
    elsewhere: true,
    jit: true,
    refused: 'account_unverified',
  },
  {
    name: 'an unverified account of another organization does not join with an invite',
    verified: false,
    elsewhere: true,
    invited: true,
    refused: 'account_unverified',
  },
  {
    name: 'an unverified account of another organization',
    verified: false,
    elsewhere: true,
    refused: 'account_unverified',
  },
  {
    name: 'an unverified account of another organization where there is no other way in',
    verified: false,
    elsewhere: true,
    enforced: true,
    handed_over: true,
  },
  {
    name: 'an unverified account of another organization keeps its second factor',
    verified: false,
    elsewhere: true,
    enforced: true,
    second_factor: true,
    refused: 'account_unverified',
  },
];
for (const {
  name,
  verified,
  member,
  elsewhere,
  jit = false,
  enforced = false,
  second_factor = false,
  invited,
  refused,
  level,
  handed_over = false,
} of accounts) {
  test(`an account that exists: ${name}`, async () => {
    const home = await world.newHome({
      jit_provisioning_enabled: jit,
      sso_enforcement: enforced ? 'saml' : '',
    });
    const person = await newPerson(world.harness, { email: 'Ada@acme.example' });
    if (verified) await verify(person.id);
    if (second_factor) await world.harness.giveSecondFactor(person);
    const join = (organization_id: string) =>
      addMember(world.harness.deps, organization_id, person, 15);
    if (member === true) await join(home.organization.id);
    if (elsewhere === true) await join((await world.harness.newOrganization()).organization.id);
    if (invited === true) await invite(home, 8);
    const before = [
      { key: await world.harness.newKey(person) },
      { headers: { cookie: await world.harness.newSession(person) } },
    ];
    const reached = async () =>
      (await Promise.all(before.map((one) => world.harness.request('GET', me, one)))).map(
        ({ status }) => status,
      );
    const browser = openNavigator(world.harness);
    const answer = await signInBySaml(world, browser);
    assert.deepEqual(await reached(), handed_over ? [401, 401] : [200, 200]);
    if (refused !== undefined) return assertRefused(world, browser, answer, refused);
    assert.equal(answer.status, 303, answer.text);
    const account = await accountAt(world.harness, browser);
    assert.deepEqual(
      [account.id, account.is_email_verified, account.has_password],
      [person.id, verified || handed_over, !handed_over],
    );
    const log = await activitiesOf(world.harness, person);
    assert.equal(log.includes('user handed_over'), handed_over);
    assert.deepEqual(
      await membersOf(home),
      level === undefined
        ? [`${home.user.email} 15`]
        : [`Ada@acme.example ${level}`, `${home.user.email} 15`],
    );
  });
}

test('an account that is deactivated is refused', async () => {
  await world.newHome({ jit_provisioning_enabled: true });
  const browser = openNavigator(world.harness);
  assert.equal((await signInBySaml(world, browser)).status, 303);
  await world.harness.deps.db.run(sql`UPDATE users SET is_active = false WHERE email = ${email}`);
  const later = openNavigator(world.harness);
  await assertRefused(world, later, await signInBySaml(world, later), 'inactive');
});
