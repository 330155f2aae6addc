import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../test/around_tests.ts';
import { addMember } from '../../../test/factories/people/members.ts';
import { inMail, newPerson, signedIn } from '../../../test/factories/people/people.ts';
import { openSecurityWorld } from '../../../test/factories/people/security.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import type { UserRow } from '../users/store.ts';

const world = aroundTests(openSecurityWorld);
const url = ({ organization }: TestOrganization, { uuid }: { uuid: string }, id = '') =>
  `/api/organizations/${organization.id}/members/${uuid}/sessions/${id === '' ? '' : `${id}/`}`;
async function newHome() {
  const home = await world.harness.newOrganization({ name: 'Acme' });
  const person = await newPerson(world.harness);
  await addMember(world.harness.deps, home.organization.id, person, 1);
  return { home, person };
}
const works = async (cookie: string) =>
  (await world.harness.request('GET', '/api/users/@me/', { headers: { cookie } })).status === 200;
/** A session that the provider of a domain opened, in the table alone; gives its id. */
async function openByProvider(user: UserRow, organization_id: string, awaits_factor = false) {
  const { db } = world.harness.deps;
  const [domain_id, session_id] = [randomUUID(), randomUUID()];
  await db.run(sql`
    INSERT INTO domains (id, organization_id, domain, verification_challenge, state, since_at,
      reason, created_at)
    VALUES (${domain_id}, ${organization_id}::uuid, ${`${domain_id}.example`}, '', 'verified',
      now(), '', now())`);
  await world.harness.newSession(user);
  await db.run(sql`UPDATE sessions SET id = ${session_id}, method = 'saml',
      domain_id = ${domain_id}::uuid, awaits_factor = ${awaits_factor}
    WHERE id = (SELECT id FROM sessions WHERE user_id = ${user.id} AND method = 'password'
      ORDER BY created_at DESC, id DESC LIMIT 1)`);
  return { session_id, domain_id };
}
const idsOf = async (home: TestOrganization, person: UserRow): Promise<string[]> =>
  (await home.ask('GET', url(home, person))).body.results.map(({ id }: { id: string }) => id);

test('an owner sees how a member is signed in, and ends one session or all', async () => {
  const { home, person } = await newHome();
  const browsers = [];
  for (let time = 0; time < 3; time += 1) browsers.push(await signedIn(world.harness, person));
  const list = await home.ask('GET', url(home, person));
  assert.deepEqual([list.status, list.body.count], [200, 3]);
  const [newest] = list.body.results;
  assert.deepEqual(
    [newest.method, newest.ip, newest.is_current, newest.is_partial],
    ['password', '127.0.0.1', false, false],
  );
  for (const field of ['user_agent', 'created_at', 'last_used_at', 'expires_at'])
    assert.equal(typeof newest[field], 'string', field);

  assert.equal((await home.ask('DELETE', url(home, person, newest.id))).status, 204);
  assert.deepEqual(await Promise.all(browsers.map((one) => works(one.cookie()!))), [
    true,
    true,
    false,
  ]);
  const text = await inMail(world.mail, person.email, ({ content }) =>
    content.subject === 'An owner signed you out' ? content.text : undefined,
  );
  assert.ok(
    text.includes(`${home.user.email}, an owner of Acme, ended a session of your account.`),
  );

  assert.equal((await home.ask('DELETE', url(home, person))).status, 204);
  assert.deepEqual(await Promise.all(browsers.map((one) => works(one.cookie()!))), [
    false,
    false,
    false,
  ]);
  await inMail(world.mail, person.email, ({ content }) =>
    content.text?.includes('ended 2 sessions') === true ? true : undefined,
  );
  // There is none left: nothing happens.
  assert.equal((await home.ask('DELETE', url(home, person))).status, 204);
  for (const chain_id of [home.organization.id, person.uuid]) {
    const entries = await world.harness.deps.db.rows<{ user_uuid: string; changes: any[] }>(sql`
      SELECT user_uuid, changes FROM activity WHERE chain_id = ${chain_id}::uuid
        AND activity = 'ended_sessions' AND scope = 'member' AND item_id = ${person.uuid}
      ORDER BY number`);
    assert.deepEqual(
      entries.map(({ user_uuid, changes }) => [user_uuid, changes[0].field, changes[0].after]),
      [
        [home.user.uuid, 'ended', 1],
        [home.user.uuid, 'ended', 2],
      ],
    );
  }
});

test("keys stay, and so does the owner's own session that is not meant", async () => {
  const { home, person } = await newHome();
  const key = await world.harness.newKey(person);
  const own = await world.harness.newSession(home.user);
  await world.harness.newSession(person);
  assert.equal((await home.ask('DELETE', url(home, person))).status, 204);
  assert.equal((await world.harness.request('GET', '/api/users/@me/', { key })).status, 200);
  const mine = await world.harness.request('GET', url(home, { uuid: '@me' }), {
    headers: { cookie: own },
  });
  assert.deepEqual(
    mine.body.results.map(({ is_current }: any) => is_current),
    [true],
  );
});

test('below level 15, without the scope, and elsewhere there is nothing', async () => {
  const { home, person } = await newHome();
  const cookie = await world.harness.newSession(person);
  const [id] = await idsOf(home, person);
  const stranger = await world.harness.newOrganization();
  const administrator = await world.harness.newMember(home.organization.id, 8);
  const reader = await world.harness.newKey(home.user, { scopes: ['organization_member:read'] });
  for (const [method, path] of [
    ['GET', url(home, person)],
    ['DELETE', url(home, person)],
    ['DELETE', url(home, person, id)],
  ] as const) {
    assert.equal((await administrator.ask(method, path)).status, 403, path);
    assert.equal((await stranger.ask(method, path)).status, 404, path);
    const read = await world.harness.request(method, path, { key: reader });
    assert.equal(read.status, method === 'GET' ? 200 : 403, path);
    // A person has no sessions in an organization without a membership.
    const elsewhere = path.replace(home.organization.id, stranger.organization.id);
    assert.equal((await stranger.ask(method, elsewhere)).status, 404, path);
  }
  const another = await world.harness.newMember(home.organization.id, 1);
  for (const wrong of [
    url(home, another.user, id),
    url(home, person, randomUUID()),
    url(home, person, 'x'),
  ])
    assert.equal((await home.ask('DELETE', wrong)).status, 404, wrong);
  assert.ok(await works(cookie));
});

test('a session of a provider is seen and ended only where the provider reaches', async () => {
  const { home, person } = await newHome();
  const second = await world.harness.newOrganization();
  await addMember(world.harness.deps, second.organization.id, person, 1);
  const { session_id, domain_id } = await openByProvider(person, home.organization.id);
  assert.deepEqual(await idsOf(home, person), [session_id]);
  assert.deepEqual(await idsOf(second, person), []);
  assert.equal((await second.ask('DELETE', url(second, person))).status, 204);
  assert.equal((await second.ask('DELETE', url(second, person, session_id))).status, 404);
  assert.deepEqual(await idsOf(home, person), [session_id]);

  const { db } = world.harness.deps;
  await db.run(sql`INSERT INTO accepted_providers (organization_id, domain_id, created_at)
    VALUES (${second.organization.id}::uuid, ${domain_id}::uuid, now())`);
  assert.deepEqual(await idsOf(second, person), [session_id]);
  await db.run(sql`DELETE FROM accepted_providers`);
  // Once the person has shown what is their own, it reaches all that they have.
  await db.run(sql`UPDATE sessions SET own_factor_at = now() WHERE id = ${session_id}::uuid`);
  assert.deepEqual(await idsOf(second, person), [session_id]);
  const waiting = await openByProvider(person, home.organization.id, true);
  assert.ok(!(await idsOf(home, person)).includes(waiting.session_id));
});
