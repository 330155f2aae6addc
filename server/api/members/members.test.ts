import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import { is_deep } from '../../../test/depth.ts';
import { shareHarness } from '../../../test/harness.ts';
import type { Member } from '../../../test/harness.ts';
import { isLater } from '../../../test/watchers/instants.ts';

const harness = shareHarness({ clickhouse: false });

type Level = 1 | 8 | 15;
const levels: Level[] = [1, 8, 15];
const base = (organization_id: string) => `/api/organizations/${organization_id}/members/`;
const path = (organization_id: string, member: Member | string) =>
  `${base(organization_id)}${typeof member === 'string' ? member : member.user.uuid}/`;

/**
 * Two owners, so that the one who asks is never the only one, and one more member of the wanted
 * level.
 */
async function peopleOf(asker: Level, target: Level) {
  const { organization, ...owner } = await harness.newOrganization();
  const own = asker === 15 ? owner : await harness.newMember(organization.id, asker);
  return { organization, owner, own, other: await harness.newMember(organization.id, target) };
}

test('the list has the active members, newest first, with the fields of the contract', async () => {
  const { organization, key, user } = await harness.newOrganization();
  const added = [
    await harness.newMember(organization.id, 1),
    await harness.newMember(organization.id, 8),
    await harness.newMember(organization.id, 1),
  ];
  await harness.giveSecondFactor(added[0]!.user);
  await harness.deps.db.run(
    sql`INSERT INTO social_identities (id, user_id, provider, subject)
      VALUES (${uuidv7()}, ${added[1]!.user.id}, 'github', ${uuidv7()})`,
  );
  await harness.deps.db.run(
    sql`UPDATE users SET is_active = false WHERE id = ${added[2]!.user.id}`,
  );
  const { status, body } = await added[0]!.ask('GET', base(organization.id));
  assert.equal(status, 200);
  assert.deepEqual([body.count, body.next, body.previous], [3, null, null]);
  assert.deepEqual(
    body.results.map((member: any) => [
      member.user.email,
      member.level,
      member.is_2fa_enabled,
      member.has_social_auth,
    ]),
    [
      [added[1]!.user.email, 8, false, true],
      [added[0]!.user.email, 1, true, false],
      [user.email, 15, false, false],
    ],
  );
  assert.deepEqual(Object.keys(body.results[0]), [
    'id',
    'user',
    'level',
    'joined_at',
    'updated_at',
    'is_2fa_enabled',
    'has_social_auth',
    'last_seen_at',
    'managed_by',
    'directory_token_count',
  ]);
  const shown = await harness.request('GET', `/api/organizations/${organization.id}/`, { key });
  assert.equal(shown.body.member_count, '3');
  const page = await harness.request('GET', `${base(organization.id)}?limit=1&offset=1`, { key });
  assert.deepEqual(
    [page.body.count, page.body.results.length, page.body.results[0].user.email],
    [3, 1, added[0]!.user.email],
  );
  const inactive = await harness.request('PATCH', path(organization.id, added[2]!), {
    key,
    body: { level: 1 },
  });
  assert.equal(inactive.status, 404);
});

test('members that joined at the same instant have one order', async () => {
  const { organization, key } = await harness.newOrganization();
  for (let index = 0; index < 5; index += 1) await harness.newMember(organization.id, 1);
  await harness.deps.db.run(
    sql`UPDATE members SET joined_at = '2026-01-01T00:00:00Z'
      WHERE organization_id = ${organization.id}`,
  );
  const all = (await harness.request('GET', base(organization.id), { key })).body.results.map(
    (member: any) => member.id,
  );
  assert.deepEqual(all, all.toSorted().toReversed());
  for (let offset = 0; offset < 6; offset += 2) {
    const page = await harness.request('GET', `${base(organization.id)}?limit=2&offset=${offset}`, {
      key,
    });
    assert.deepEqual(
      page.body.results.map((member: any) => member.id),
      all.slice(offset, offset + 2),
    );
  }
});

// The level of the person who asks, of the member, the new level, and the status for PATCH and PUT.
const changes: [Level, Level, Level, number][] = levels.flatMap((asker) =>
  levels.flatMap((target) =>
    levels.map((level): [Level, Level, Level, number] => [
      asker,
      target,
      level,
      asker === 15 || (asker === 8 && (level === target || (target < 15 && level < 15)))
        ? 200
        : 403,
    ]),
  ),
);

test('the level of a member decides the levels they may give', async () => {
  assert.deepEqual(
    changes
      .filter(([, , , status]) => status === 200)
      .map(([asker, target, level]) => `${asker}: ${target}->${level}`),
    [
      '8: 1->1',
      '8: 1->8',
      '8: 8->1',
      '8: 8->8',
      '8: 15->15',
      ...levels.flatMap((target) => levels.map((level) => `15: ${target}->${level}`)),
    ],
  );
  for (const [index, [asker, target, level, status]] of changes.entries()) {
    const { organization, own, other } = await peopleOf(asker, target);
    // One of the two methods in turn.
    for (const method of is_deep ? ['PATCH', 'PUT'] : [index % 2 === 0 ? 'PATCH' : 'PUT']) {
      const name = `${method} by ${asker} of ${target} to ${level}`;
      const answer = await own.ask(method, path(organization.id, other), { level });
      assert.equal(answer.status, status, name);
      if (status === 200)
        assert.deepEqual(
          [answer.body.level, answer.body.user.uuid],
          [level, other.user.uuid],
          name,
        );
      else
        assert.deepEqual([answer.body.code, answer.body.attr], ['permission_denied', null], name);
    }
    const { results } = (await other.ask('GET', base(organization.id))).body;
    assert.equal(
      results.find((member: any) => member.user.uuid === other.user.uuid).level,
      status === 200 ? level : target,
    );
  }
});

test('nobody changes their own level; no level, or the same one, changes nothing', async () => {
  for (const asker of levels) {
    const { organization, own } = await peopleOf(asker, 1);
    for (const name of ['@me', own.user.uuid])
      for (const level of levels)
        for (const method of ['PATCH', 'PUT'])
          assert.equal(
            (await own.ask(method, path(organization.id, name), { level })).status,
            // Members are written from 8 on.
            asker > 1 && level === asker ? 200 : 403,
            `${method} ${asker} ${name} ${level}`,
          );
    const empty = await own.ask('PATCH', path(organization.id, '@me'), {
      user: { email: 'x' },
      is_2fa_enabled: true,
    });
    // Members are written from 8 on.
    assert.equal(empty.status, asker === 1 ? 403 : 200);
    if (asker > 1)
      assert.deepEqual(
        [empty.body.level, empty.body.user.email, empty.body.is_2fa_enabled],
        [asker, own.user.email, false],
      );
  }
});

test('an empty PATCH of another is 200 and changes nothing, also of an owner', async () => {
  const { organization, owner, own, other } = await peopleOf(8, 1);
  const before = (await own.ask('GET', base(organization.id))).body.results[0];
  const answer = await own.ask('PATCH', path(organization.id, other), {});
  assert.deepEqual([answer.status, answer.body], [200, before]);
  const ofOwner = await own.ask('PATCH', path(organization.id, owner), {});
  assert.deepEqual(
    [ofOwner.status, ofOwner.body.level, ofOwner.body.user.uuid],
    [200, 15, owner.user.uuid],
  );
});

test('a changed level counts on the next request', async () => {
  const { organization, owner, other } = await peopleOf(15, 8);
  const rename = () =>
    other.ask('PATCH', `/api/organizations/${organization.id}/`, { name: 'New' });
  const level = (to: Level) => owner.ask('PATCH', path(organization.id, other), { level: to });
  for (let round = 0; round < 3; round += 1) {
    assert.equal((await rename()).status, 200);
    assert.equal((await level(1)).status, 200);
    assert.equal((await rename()).status, 403);
    assert.equal((await level(8)).status, 200);
  }
});

test('updated_at moves with the level only, and a stale If-Match is 412', async () => {
  const { organization, owner, other } = await peopleOf(15, 1);
  const patch = (body: unknown, headers = {}) =>
    owner.ask('PATCH', path(organization.id, other), body, headers);
  const first = await patch({});
  const same = await patch({ level: 1 });
  assert.deepEqual([same.body, same.headers['etag']], [first.body, first.headers['etag']]);
  const raised = await patch({ level: 8 }, { 'if-match': first.headers['etag'] });
  assert.equal(raised.status, 200);
  assert.ok(isLater(raised.body.updated_at, first.body.updated_at));
  assert.equal((await patch({ level: 15 }, { 'if-match': first.headers['etag'] })).status, 412);
  const removal = (etag: string) =>
    harness.request('DELETE', path(organization.id, other), {
      key: owner.key,
      headers: { 'if-match': etag },
    });
  assert.equal((await removal(first.headers['etag']!)).status, 412);
  assert.equal((await removal(raised.headers['etag']!)).status, 204);
});
