import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { inDepth } from '../../../../test/depth.ts';
import { newDirectory, patchOf } from '../../../../test/factories/people/directories.ts';
import type { Resource, TestDirectory } from '../../../../test/factories/people/directories.ts';
import { shareHarness } from '../../../../test/harness.ts';
import { verifyActivity } from '../../../platform/activity/verify.ts';
import { refuseTooMany } from './group_change.ts';
import { countGroups } from './group_store.ts';

const harness = shareHarness({ clickhouse: false });
const group_schema = 'urn:ietf:params:scim:schemas:core:2.0:Group';

/** Creates a group with these people, and gives its id. */
async function group(own: TestDirectory, displayName: string, people: Resource[]) {
  const members = people.map(({ id }) => ({ value: id }));
  const answer = await own.scim('POST', '/Groups', {
    schemas: [group_schema],
    displayName,
    members,
  });
  assert.equal(answer.status, 201, answer.text);
  return answer.body.id as string;
}

/** The names in the addresses of a group's members. */
async function membersOf(own: TestDirectory, id: string): Promise<string[]> {
  const { body } = await own.scim('GET', `/Groups/${id}`);
  return body.members.map(({ display }: { display: string }) => display.split('@')[0]);
}

async function people(own: TestDirectory, ...names: string[]): Promise<Resource[]> {
  const created: Resource[] = [];
  for (const name of names) created.push(await own.provision(name));
  return created;
}

const map = (own: TestDirectory, id: string, level: unknown, key = own.key) =>
  harness.request('PATCH', `${own.url}groups/${id}/`, { key, body: { level } });

test('members come and go in every form that Okta and Entra send', async () => {
  const own = await newDirectory(harness);
  const [a, b, c] = (await people(own, 'a', 'b', 'c')) as [Resource, Resource, Resource];
  const id = await group(own, 'Staff', [a]);
  const list = (...some: Resource[]) => some.map((one) => ({ value: one.id, display: 'x' }));
  const only = (one: Resource) => `members[value eq "${one.id}"]`;
  const cases: [object[], string[]][] = [
    [[{ op: 'add', path: 'members', value: list(b) }], ['a', 'b']],
    [[{ op: 'Add', path: 'members', value: [{ $ref: null, value: c.id }] }], ['a', 'b', 'c']],
    [[{ op: 'remove', path: 'members', value: [{ $ref: `../Users/${c.id}` }] }], ['a', 'b']],
    [
      [{ op: 'add', path: 'members', value: { $ref: `${own.url}/Users/${c.id}` } }],
      ['a', 'b', 'c'],
    ],
    [[{ op: 'remove', path: only(b) }], ['a', 'c']],
    [[{ op: 'Remove', path: 'members', value: list(c) }], ['a']],
    [[{ op: 'REPLACE', value: { members: list(b, c) } }], ['b', 'c']],
    [[{ op: 'replace', value: { id, displayName: 'Crew' } }], ['b', 'c']],
    [[{ op: 'replace', path: `${group_schema}:members`, value: list(a) }], ['a']],
    [
      [
        { op: 'remove', path: only(a) },
        { op: 'add', path: 'members', value: { value: b.id.toUpperCase() } },
        { op: 'add', value: { members: list(c) } },
        { op: 'remove', path: only(c) },
      ],
      ['b'],
    ],
    [[{ op: 'replace', path: 'members', value: [] }], []],
    [[{ op: 'add', path: 'members', value: list(a, b) }], ['a', 'b']],
    [[{ op: 'remove', path: 'members' }], []],
    [[{ op: 'add', path: 'externalId', value: 'g-1' }], []],
  ];
  for (const [operations, members] of cases) {
    const answer = await own.scim('PATCH', `/Groups/${id}`, patchOf(...operations));
    assert.equal(answer.status, 204, `${JSON.stringify(operations)} ${answer.text}`);
    assert.deepEqual(await membersOf(own, id), members, JSON.stringify(operations));
  }
  const put = { id, displayName: 'Staff', members: list(a, c), meta: {} };
  const whole = await own.scim('PUT', `/Groups/${id}`, put);
  assert.deepEqual([whole.status, whole.body.members.length], [200, 2]);
  const find = async (filter: string) => {
    const path = `/Groups?excludedAttributes=members&filter=${encodeURIComponent(filter)}`;
    const { body } = await own.scim('GET', path);
    return body.Resources.map((one: Resource) => [one['displayName'], 'members' in one]);
  };
  for (const filter of [
    'displayName eq "staff"',
    'externalId eq "g-1"',
    `id eq "${id}" and members eq "${a.id}"`,
  ])
    assert.deepEqual(await find(filter), [['Staff', false]], filter);
  assert.deepEqual(await find(`id eq "${id}" and members.value eq "${b.id}"`), []);
  const { body } = await own.scim('GET', `/Users/${a.id}`);
  const base = `${harness.deps.config.public_url}/scim/v2/${own.domain.id}`;
  const $ref = `${base}/Groups/${id}`;
  assert.deepEqual(body.groups, [{ value: id, display: 'Staff', type: 'direct', $ref }]);
  assert.deepEqual(whole.body.members[0].$ref, `${base}/Users/${a.id}`);
  const twice = await own.scim('POST', '/Groups', { displayName: 'STAFF' });
  assert.deepEqual([twice.status, twice.body.scimType], [409, 'uniqueness']);
  await group(own, 'Empty', []);
  await group(own, 'zoo', [b]);
  const listed = await own.scim('GET', '/Groups?startIndex=1&count=100');
  assert.deepEqual(
    listed.body.Resources.map(({ displayName, members }: Resource) => [
      displayName,
      members.map(({ value }: Resource) => value),
    ]),
    [
      ['Empty', []],
      ['Staff', [a.id, c.id]],
      ['zoo', [b.id]],
    ],
  );
  for (const status of [204, 404])
    assert.equal((await own.scim('DELETE', `/Groups/${id}`)).status, status);
});

test('groups give levels, the highest counts, and owners are left alone', async () => {
  const own = await newDirectory(harness);
  const at = own.domain.domain;
  const [a, b, c] = (await people(own, 'a', 'b', 'c')) as [Resource, Resource, Resource];
  const owner = await own.provision('owner');
  await harness.deps.db.run(sql`UPDATE members SET level = 15 WHERE user_id = (
    SELECT id FROM users WHERE uuid = ${owner.id}::uuid)`);
  const levels = () =>
    Promise.all(['a', 'b', 'c', 'owner'].map((one) => own.levelOf(`${one}@${at}`)));
  const admins = await group(own, 'Admins', [a, owner]);
  const staff = await group(own, 'Staff', [a, b]);
  assert.deepEqual(await levels(), [1, 1, 1, 15]);
  const mapped = await map(own, admins, 8);
  assert.deepEqual([mapped.status, mapped.body.level, mapped.body.member_count], [200, 8, 2]);
  await map(own, staff, 1);
  assert.deepEqual(await levels(), [8, 1, 1, 15]);
  assert.deepEqual(await own.entries(3), [
    'updated scim_group Staff',
    'updated scim_group Admins',
    `updated member a@${at}`,
  ]);
  const add = patchOf({ op: 'add', path: 'members', value: [{ value: c.id }] });
  assert.equal((await own.scim('PATCH', `/Groups/${admins}`, add)).status, 204);
  assert.deepEqual(await levels(), [8, 1, 8, 15]);
  // Deactivated and back: by the groups, and not by what was remembered.
  for (const active of [false, true])
    await own.scim('PATCH', `/Users/${c.id}`, patchOf({ op: 'replace', value: { active } }));
  assert.deepEqual(await levels(), [8, 1, 8, 15]);
  const none = patchOf({ op: 'remove', path: `members[value eq "${c.id}"]` });
  await own.scim('PATCH', `/Groups/${admins}`, none);
  assert.deepEqual(await levels(), [8, 1, 1, 15]);
  // A member of whom the directory has said nothing keeps what people gave them.
  const { user } = await harness.newMember(own.organization.id, 8);
  await harness.deps.db.run(sql`UPDATE users SET email = ${`x@${at}`} WHERE id = ${user.id}`);
  await own.scim('PATCH', `/Groups/${admins}`, add);
  assert.equal(await own.levelOf(`x@${at}`), 8);
  // By hand the last level goes without a word on people; with its group it goes from all.
  await map(own, staff, null);
  await map(own, admins, null);
  assert.deepEqual(await levels(), [8, 1, 8, 15]);
  await map(own, admins, 8);
  await own.scim('DELETE', `/Groups/${admins}`);
  assert.deepEqual(await levels(), [1, 1, 1, 15]);
  const { db, secrets } = harness.deps;
  const { entries, faults } = await verifyActivity(db, secrets, own.organization.id);
  assert.ok(entries > 15);
  assert.deepEqual(faults, []);
});

test('only administrators map levels, and none above administrators', async () => {
  const own = await newDirectory(harness);
  const id = await group(own, 'Admins', []);
  const member = await harness.newMember(own.organization.id, 1);
  assert.equal((await map(own, id, 8, member.key)).status, 403);
  for (const level of [15, 0, '8', 7]) assert.equal((await map(own, id, level)).status, 400);
  const stranger = await newDirectory(harness);
  const theirs = await stranger.ask('PATCH', `${stranger.url}groups/${id}/`, { level: 8 });
  assert.equal(theirs.status, 404);
});

test('a group takes people of its directory alone, and says what is wrong', async () => {
  const [own, other] = [await newDirectory(harness), await newDirectory(harness)];
  const stranger = await other.provision('stranger');
  const id = await group(own, 'Staff', []);
  for (const [body, type, detail] of [
    [{ displayName: 'X', members: [{ value: stranger.id }] }, 'invalidValue', /provision/],
    [{ displayName: 'X', members: [{ value: randomUUID() }] }, 'invalidValue', /provision/],
    [{ displayName: 'X', members: ['me'] }, 'invalidValue', /id of a User/],
    [{ displayName: 'X', members: [{ $ref: '/Groups/x' }] }, 'invalidValue', /id of a User/],
    [{ displayName: '' }, 'invalidValue', /displayName/],
    [{ displayName: 'x'.repeat(256) }, 'invalidValue', /displayName/],
    [{ members: [] }, 'invalidValue', /displayName is missing/],
  ] as const) {
    const answer = await own.scim('POST', '/Groups', body);
    assert.deepEqual([answer.status, answer.body.scimType], [400, type], JSON.stringify(body));
    assert.match(answer.body.detail, detail);
  }
  // The directory has no group, and cannot reach a group of another directory.
  assert.equal((await own.scim('GET', '/Groups')).body.totalResults, 1);
  for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
    const body = method === 'PATCH' ? patchOf({ op: 'add', value: {} }) : { displayName: 'Y' };
    const sent = method === 'GET' || method === 'DELETE' ? undefined : body;
    assert.equal((await other.scim(method, `/Groups/${id}`, sent)).status, 404, method);
  }
});

test('thousands of members come and go in one request', async () => {
  const own = await newDirectory(harness);
  const at = `@${own.domain.domain}`;
  const size = inDepth(300, 10_000);
  const rows = await harness.deps.db.rows<{ uuid: string }>(sql`
    WITH made AS (
      INSERT INTO users (uuid, distinct_id, email)
      SELECT gen_random_uuid(), gen_random_uuid(), 'p' || n || ${at}
      FROM generate_series(1, ${size}) AS n RETURNING id, uuid),
    joined AS (
      INSERT INTO members (id, organization_id, user_id, level)
      SELECT gen_random_uuid(), ${own.organization.id}::uuid, id, 1 FROM made)
    SELECT uuid FROM made`);
  const id = await group(own, 'Everybody', []);
  await map(own, id, 8);
  const members = rows.map(({ uuid }) => ({ value: uuid, display: 'somebody' }));
  const body = patchOf({ op: 'replace', value: { members } });
  assert.equal((await own.scim('PATCH', `/Groups/${id}`, body)).status, 204);
  assert.equal(await own.levelOf(`p77${at}`), 8);
  const few = patchOf({ op: 'replace', path: 'members', value: members.slice(0, 2) });
  assert.equal((await own.scim('PATCH', `/Groups/${id}`, few)).status, 204);
  assert.equal((await membersOf(own, id)).length, 2);
  const row = await harness.deps.db.row<{
    count: number;
  }>(sql`SELECT count(*) AS count FROM activity
    WHERE chain_id = ${own.organization.id}::uuid AND scope = 'member'`);
  assert.equal(row!.count, 2 * size - 2);
});

test('a directory has so many groups at most, and so many people in them', async () => {
  const own = await newDirectory(harness);
  const { db } = harness.deps;
  const place = { domain_id: own.domain.id, domain: '', organization: { id: '', name: '' } };
  await group(own, 'Staff', await people(own, 'ada', 'bob'));
  await db.run(sql`INSERT INTO scim_groups (id, domain_id, display_name)
    SELECT gen_random_uuid(), ${own.domain.id}::uuid, 'g' || n FROM generate_series(1, 999) AS n`);
  const more = await own.scim('POST', '/Groups', { displayName: 'More' });
  assert.match(`${more.status} ${more.body.detail}`, /^400 A directory has at most 1,000 groups/);
  const counts = await countGroups(db, place);
  assert.deepEqual(counts, { groups: 1_000, places: 2 });
  refuseTooMany({ ...counts, places: 200_000 });
  assert.throws(
    () => refuseTooMany({ ...counts, places: 200_001 }),
    /has at most 200,000 members in all/,
  );
});
