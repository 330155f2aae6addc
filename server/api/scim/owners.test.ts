import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { newDirectory, patchOf } from '../../../test/factories/people/directories.ts';
import type { TestDirectory } from '../../../test/factories/people/directories.ts';
import { shareHarness } from '../../../test/harness.ts';

const harness = shareHarness({ clickhouse: false });

const set = (value: object) => patchOf({ op: 'replace', value });
const setActive = (own: TestDirectory, id: string, active: boolean) =>
  own.scim('PATCH', `/Users/${id}`, set({ active }));
const allow = async (own: TestDirectory, may_manage_owners = true) => {
  const answer = await own.ask('PATCH', own.url, { may_manage_owners });
  assert.deepEqual([answer.status, answer.body.may_manage_owners], [200, may_manage_owners]);
};

/** A directory, and an owner beside the one who made its token. */
async function withOwner() {
  const own = await newDirectory(harness);
  const { user, key } = await harness.newMember(own.organization.id, 15);
  const email = `boss@${own.domain.domain}`;
  await harness.deps.db.run(sql`UPDATE users SET email = ${email} WHERE id = ${user.id}`);
  return { own, key, email, id: user.uuid, user_id: user.id };
}

test('a directory cannot deactivate or lower an owner (P-02 a)', async () => {
  const { own, email, id } = await withOwner();
  const groups = await own.scim('POST', '/Groups', { displayName: 'Staff' });
  await own.ask('PATCH', `${own.url}groups/${groups.body.id}/`, { level: 1 });
  const members = [{ value: id }];
  for (const [method, path, body, status] of [
    ['PATCH', `/Users/${id}`, set({ active: false }), 403],
    ['PATCH', `/Users/${id}`, patchOf({ op: 'Replace', path: 'active', value: 'False' }), 403],
    ['PUT', `/Users/${id}`, { userName: email, active: false }, 403],
    ['DELETE', `/Users/${id}`, undefined, 403],
    ['POST', '/Users', { userName: 'boss', emails: [{ value: email }], active: false }, 403],
    ['PATCH', `/Users/${id}`, set({ userName: `x@${own.domain.domain}` }), 400],
    [
      'PATCH',
      `/Groups/${groups.body.id}`,
      patchOf({ op: 'add', path: 'members', value: members }),
      204,
    ],
    ['PUT', `/Groups/${groups.body.id}`, { displayName: 'Staff', members: [] }, 200],
    ['DELETE', `/Groups/${groups.body.id}`, undefined, 204],
  ] as const) {
    const answer = await own.scim(method, path, body);
    assert.equal(answer.status, status, `${method} ${answer.text}`);
    if (status === 403) {
      assert.equal(answer.body.status, '403');
      assert.match(answer.body.detail, /is an owner of the organization.*page of the domain/);
    }
    assert.equal(await own.levelOf(email), 15, `${method} ${path}`);
  }
  // A change that takes no right away is applied.
  const named = await own.scim('PATCH', `/Users/${id}`, set({ externalId: 'b-1', active: true }));
  assert.deepEqual([named.status, named.body.externalId], [200, 'b-1']);
});

test('an owner is taken out, and back, while an owner allows it', async () => {
  const { own, email, id } = await withOwner();
  await allow(own);
  assert.deepEqual(await own.entries(1), [`updated scim ${own.domain.domain}`]);
  assert.equal((await setActive(own, id, false)).status, 200);
  assert.equal(await own.levelOf(email), undefined);
  assert.equal((await setActive(own, id, true)).status, 200);
  assert.equal(await own.levelOf(email), 15);
  assert.equal((await setActive(own, id, false)).status, 200);
  // The permission ends: nobody comes back as an owner by it.
  await allow(own, false);
  assert.equal((await setActive(own, id, true)).status, 200);
  assert.equal(await own.levelOf(email), 8);
  // Nor is it remembered for later.
  await allow(own);
  for (const active of [false, true]) await setActive(own, id, active);
  assert.equal(await own.levelOf(email), 8);
});

test('the only owner stays, whatever is allowed', async () => {
  const { own, email, id, user_id } = await withOwner();
  await allow(own);
  const { db } = harness.deps;
  const maker = `maker@${own.domain.domain}`;
  await db.run(sql`UPDATE users SET email = ${maker} WHERE id = ${own.user.id}`);
  await db.run(sql`UPDATE members SET level = 8 WHERE user_id = ${user_id}`);
  for (const [method, body] of [
    ['PATCH', set({ active: false })],
    ['PUT', { userName: maker, active: false }],
    ['DELETE', undefined],
  ] as const) {
    const answer = await own.scim(method, `/Users/${own.user.uuid}`, body);
    assert.equal(answer.status, 409, answer.text);
    assert.match(answer.body.detail, /only owner .* Make another person an owner first/);
  }
  // If two owners are deactivated at once, one stays.
  await db.run(sql`UPDATE members SET level = 15 WHERE user_id = ${user_id}`);
  const both = await Promise.all([own.user.uuid, id].map((one) => setActive(own, one, false)));
  const statuses = both.map(({ status }) => status).toSorted();
  // The token ends with its maker, if the maker is deactivated first.
  assert.ok(['200,401', '200,409'].includes(statuses.join()), statuses.join());
  assert.equal([await own.levelOf(maker), await own.levelOf(email)].filter((one) => one).length, 1);
});

test('deactivation by the directory of the domain signs a person out everywhere', async () => {
  const own = await newDirectory(harness);
  const other = await newDirectory(harness);
  const { id } = await own.provision('ada');
  const user = (await harness.deps.db.row<{ id: number }>(
    sql`SELECT id FROM users WHERE uuid = ${id}::uuid`,
  ))!;
  await harness.deps.db.run(sql`INSERT INTO members (id, organization_id, user_id, level)
    VALUES (gen_random_uuid(), ${other.organization.id}::uuid, ${user.id}, 1)`);
  const open = async () => {
    const cookie = await harness.newSession(user);
    const asked = () => harness.request('GET', '/api/users/@me/', { headers: { cookie } });
    assert.equal((await asked()).status, 200);
    return async () => (await asked()).status;
  };
  const session = await open();
  assert.equal((await setActive(own, id, false)).status, 200);
  assert.equal(await session(), 401);
  assert.equal(await other.levelOf(`ada@${own.domain.domain}`), 1);
  // A person whose address belongs to another organization keeps their session there.
  await setActive(own, id, true);
  await harness.deps.db.run(
    sql`UPDATE users SET email = ${`ada@${other.domain.domain}`} WHERE id = ${user.id}`,
  );
  const foreign = await open();
  assert.equal((await setActive(own, id, false)).status, 200);
  assert.equal(await foreign(), 200);
});
