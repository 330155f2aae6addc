import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { shareHarness } from '../../../test/harness.ts';
import type { Member } from '../../../test/harness.ts';
import { addMember } from '../../../test/factories/people/members.ts';

const harness = shareHarness({ clickhouse: false });

type Level = 1 | 8 | 15;
const path = (organization_id: string, name: string) =>
  `/api/organizations/${organization_id}/members/${name}/`;
const remove = (organization_id: string, member: Member | '@me', key: string) =>
  harness.request('DELETE', path(organization_id, member === '@me' ? member : member.user.uuid), {
    key,
  });
const countOf = async (organization_id: string) =>
  (await harness.deps.db.row<{ count: number }>(
    sql`SELECT count(*) AS count FROM members WHERE organization_id = ${organization_id}`,
  ))!.count;

test('the level decides who may remove whom, and who may leave', async () => {
  const cases: [Level, Level | '@me', number][] = [
    [1, '@me', 204],
    [8, '@me', 204],
    [15, '@me', 204],
    [1, 1, 403],
    [1, 8, 403],
    [1, 15, 403],
    [8, 1, 204],
    [8, 8, 204],
    [8, 15, 403],
    [15, 1, 204],
    [15, 8, 204],
    [15, 15, 204],
  ];
  for (const [level, target, status] of cases) {
    const { organization } = await harness.newOrganization();
    const own = await harness.newMember(organization.id, level);
    const other = target === '@me' ? '@me' : await harness.newMember(organization.id, target);
    const count = await countOf(organization.id);
    const name = `${level} removes ${target}`;
    const answer = await remove(organization.id, other, own.key);
    assert.equal(answer.status, status, name);
    assert.equal(await countOf(organization.id), status === 204 ? count - 1 : count, name);
    if (status === 403)
      assert.deepEqual([answer.body.code, answer.body.attr], ['permission_denied', null], name);
    else assert.equal((await remove(organization.id, other, own.key)).status, 404, `${name} again`);
  }
});

test('the only owner cannot leave, however it is said, however many others there are', async () => {
  const { organization, key, user } = await harness.newOrganization();
  const administrator = await harness.newMember(organization.id, 8);
  for (const name of ['@me', user.uuid]) {
    const answer = await harness.request('DELETE', path(organization.id, name), { key });
    assert.deepEqual([answer.status, answer.body.code, answer.body.attr], [409, 'conflict', null]);
    assert.match(answer.body.detail, /make another member an owner/);
  }
  const second = await harness.newMember(organization.id, 15);
  await harness.deps.db.run(sql`UPDATE users SET is_active = false WHERE id = ${second.user.id}`);
  assert.equal(
    (await remove(organization.id, '@me', key)).status,
    409,
    'an owner who cannot sign in is none',
  );
  assert.equal(
    (
      await harness.request('PATCH', path(organization.id, administrator.user.uuid), {
        key,
        body: { level: 15 },
      })
    ).status,
    200,
  );
  assert.equal((await remove(organization.id, '@me', key)).status, 204);
  assert.equal((await remove(organization.id, '@me', administrator.key)).status, 409);
});

test('a deactivated member is removed by the same rules, but not changed', async () => {
  for (const [level, target, status] of [
    [1, 1, 403],
    [8, 15, 403],
    [8, 8, 204],
    [15, 15, 204],
  ] as const) {
    const { organization } = await harness.newOrganization();
    const own = await harness.newMember(organization.id, level);
    const other = await harness.newMember(organization.id, target);
    await harness.deps.db.run(sql`UPDATE users SET is_active = false WHERE id = ${other.user.id}`);
    const name = `${level} removes ${target}`;
    assert.equal((await remove(organization.id, other, own.key)).status, status, name);
    if (level > 1)
      assert.equal(
        (await own.ask('PATCH', path(organization.id, other.user.uuid), {})).status,
        404,
        name,
      );
    assert.equal(await countOf(organization.id), status === 204 ? 2 : 3, name);
  }
});

test('a removed member loses the organization at once, with every key and session', async () => {
  const { organization, project, key } = await harness.newOrganization();
  const elsewhere = await harness.newOrganization();
  const member = await harness.newMember(organization.id, 8);
  await addMember(harness.deps, elsewhere.organization.id, member.user, 8);
  const session = { cookie: await harness.newSession(member.user) };
  const here = [
    `/api/organizations/${organization.id}/`,
    `/api/organizations/${organization.id}/members/`,
    `/api/projects/${project.id}/`,
  ];
  const asks = (url: string) => [
    member.ask('GET', url),
    harness.request('GET', url, { headers: session }),
  ];
  for (const url of here)
    for (const answer of await Promise.all(asks(url))) assert.equal(answer.status, 200, url);
  assert.equal((await remove(organization.id, member, key)).status, 204);
  for (const url of here)
    for (const answer of await Promise.all(asks(url))) assert.equal(answer.status, 404, url);
  for (const answer of await Promise.all(asks('/api/organizations/@current/')))
    assert.equal(answer.body.id, elsewhere.organization.id);
  assert.equal(
    (await harness.request('PATCH', path(organization.id, '@me'), { headers: session, body: {} }))
      .status,
    404,
  );
});

test('a person without an organization is signed out, also after a race', async () => {
  for (let round = 0; round < 8; round += 1) {
    const homes = await Promise.all([harness.newOrganization(), harness.newOrganization()]);
    const member = await harness.newMember(homes[0].organization.id, 1);
    await addMember(harness.deps, homes[1].organization.id, member.user, 1);
    const session = { cookie: await harness.newSession(member.user) };
    const answers = await Promise.all(
      homes.map((home) => remove(home.organization.id, member, home.key)),
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      [204, 204],
    );
    assert.equal(
      (await harness.request('GET', '/api/organizations/', { headers: session })).status,
      401,
    );
    assert.equal((await member.ask('GET', '/api/organizations/')).body.count, 0);
  }
});

test('keys that are limited to the organization go, and no other key grows', async () => {
  const [here, there] = await Promise.all([harness.newOrganization(), harness.newOrganization()]);
  const member = await harness.newMember(here.organization.id, 1);
  await addMember(harness.deps, there.organization.id, member.user, 1);
  const [a, b, p, q] = [
    here.organization.id,
    there.organization.id,
    here.project.id,
    there.project.id,
  ];
  // The limits of a key, and what is left of them; undefined: the key is gone.
  const cases: [
    string[] | null,
    number[] | null,
    [string[] | null, number[] | null] | undefined,
  ][] = [
    [null, null, [null, null]],
    [[a], null, undefined],
    [[b], null, [[b], null]],
    [[a, b], null, [[b], null]],
    [null, [p], undefined],
    [null, [q], [null, [q]]],
    [null, [q, p], [null, [q]]],
    [[a, b], [p], undefined],
    [[a], [p, q], undefined],
    [
      [b, a],
      [p, q],
      [[b], [q]],
    ],
  ];
  const labels = cases.map((_case, index) => `case ${index}`);
  for (const [index, [scoped_organizations, scoped_teams]] of cases.entries())
    await harness.newKey(member.user, {
      label: labels[index]!,
      scoped_organizations,
      scoped_teams,
    });
  const stranger = await harness.newKey(here.user, { scoped_organizations: [a] });
  assert.equal((await remove(a, member, here.key)).status, 204);
  const left = await harness.deps.db.rows<{
    label: string;
    scoped_organizations: string[] | null;
    scoped_teams: number[] | null;
  }>(
    sql`SELECT label, scoped_organizations, scoped_teams FROM personal_api_keys
      WHERE user_id = ${member.user.id} AND label = ANY (${labels})`,
  );
  for (const [index, [, , wanted]] of cases.entries()) {
    const key = left.find(({ label }) => label === labels[index]);
    assert.deepEqual(key && [key.scoped_organizations, key.scoped_teams], wanted, labels[index]);
  }
  assert.equal(
    (await harness.request('GET', `/api/organizations/${a}/`, { key: stranger })).status,
    200,
  );
});

test('validate_only checks every rule and changes nothing', async () => {
  const { organization, key } = await harness.newOrganization();
  const member = await harness.newMember(organization.id, 1);
  const ask = (method: string, name: string, body?: unknown) =>
    harness.request(method, `${path(organization.id, name)}?validate_only=true`, { key, body });
  assert.equal((await ask('DELETE', member.user.uuid)).status, 204);
  assert.equal((await ask('DELETE', '@me')).status, 409);
  assert.equal((await ask('PATCH', member.user.uuid, { level: 8 })).body.level, 8);
  assert.equal((await ask('PATCH', '@me', { level: 8 })).status, 403);
  const { results } = (
    await harness.request('GET', `/api/organizations/${organization.id}/members/`, { key })
  ).body;
  assert.deepEqual(
    results.map((one: any) => one.level),
    [1, 15],
  );
});

test('the log has one entry for each change: who, whom, from which level to which', async () => {
  const { organization, key, user } = await harness.newOrganization();
  const member = await harness.newMember(organization.id, 1);
  const leaver = await harness.newMember(organization.id, 8);
  await harness.request('PATCH', path(organization.id, member.user.uuid), {
    key,
    body: { level: 8 },
  });
  await harness.request('PATCH', path(organization.id, member.user.uuid), {
    key,
    body: { level: 7 },
  });
  await remove(organization.id, member, key);
  await remove(organization.id, '@me', leaver.key);
  const entries = await harness.deps.db.rows<{
    activity: string;
    scope: string;
    item_id: string;
    user_email: string;
    levels: unknown;
  }>(sql`
    SELECT activity, scope, item_id, user_email, (SELECT json_agg(json_build_array(c ->> 'before',
      c ->> 'after')) FROM json_array_elements(changes) c WHERE c ->> 'field' = 'level') AS levels
    FROM activity WHERE organization_id = ${organization.id} ORDER BY number`);
  assert.deepEqual(
    entries.map((entry) => Object.values(entry)),
    [
      ['updated', 'member', member.user.uuid, user.email, [['1', '8']]],
      ['removed', 'member', member.user.uuid, user.email, [['8', null]]],
      ['left', 'member', leaver.user.uuid, leaver.user.email, [['8', null]]],
    ],
  );
});
