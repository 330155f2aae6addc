import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setCookieOf } from '../../../test/factories/people/people.ts';
import { shareHarness } from '../../../test/harness.ts';
import type { Answer, Harness } from '../../../test/harness.ts';
import {
  acceptInvite,
  invitedAccount,
  lookAtInvite,
  membersOf,
  newInvite,
} from '../../../test/factories/people/invites.ts';
import { addMember } from '../../../test/factories/people/members.ts';

const password = 'violet kettle harbour 92';
const harness = shareHarness({ clickhouse: false });

const cookieOf = (answer: Answer) => ({ cookie: setCookieOf(answer)!.split(';')[0]! });

test('a person with an account signs in first, then joins by session or key', async () => {
  const { home, own, link } = await invitedAccount(harness);
  assert.equal((await lookAtInvite(harness, link)).body.has_account, true);
  const refused = await acceptInvite(harness, link, { password });
  assert.deepEqual([refused.status, refused.body.code], [401, 'not_authenticated']);
  assert.match(refused.body.detail, /sign in/);
  const joined = await acceptInvite(harness, link, {}, { key: own.key });
  assert.deepEqual(
    [joined.status, joined.body.member.user.uuid, joined.body.member.level],
    [201, own.user.uuid, 8],
  );
  assert.equal(joined.headers['set-cookie'], undefined);
  assert.deepEqual(await membersOf(home), [
    [own.user.email, 8],
    [home.user.email, 15],
  ]);
  // The same person, signed in at a browser.
  const first = await newInvite(home);
  const headers = cookieOf(await acceptInvite(harness, first, { password }));
  const second = await harness.newOrganization();
  const next = await newInvite(second, { target_email: first.target_email });
  assert.equal((await acceptInvite(harness, next, {}, { headers })).status, 201);
  assert.deepEqual(
    (await harness.request('GET', '/api/organizations/', { headers })).body.results.map(
      (one: any) => one.id,
    ),
    [home.organization.id, second.organization.id],
  );
});

test('another account is refused, also with the right token', async () => {
  const { home, link } = await invitedAccount(harness, { is_email_verified: true });
  const stranger = await harness.newOrganization();
  for (const one of [link, await newInvite(home)]) {
    const answer = await acceptInvite(harness, one, { password }, { key: stranger.key });
    assert.deepEqual([answer.status, answer.body.code], [403, 'permission_denied']);
    assert.match(answer.body.detail, /another address/);
  }
});

test('without the token only the verified address of the invite opens it', async () => {
  for (const is_email_verified of [false, true]) {
    const { own, link } = await invitedAccount(harness, { is_email_verified });
    const without = { id: link.id };
    assert.equal(
      (await lookAtInvite(harness, without, { key: own.key })).status,
      is_email_verified ? 200 : 404,
    );
    assert.equal(
      (await acceptInvite(harness, without, {}, { key: own.key })).status,
      is_email_verified ? 201 : 404,
    );
  }
});

test('a key needs the scope and no limits', async () => {
  const { home, own, link } = await invitedAccount(harness);
  const cases: [Parameters<Harness['newKey']>[1], number][] = [
    [{ scopes: ['event:write'] }, 403],
    [{ scopes: ['organization_member:read'] }, 403],
    [{ scoped_organizations: [own.organization.id] }, 403],
    [{ scoped_teams: [own.project.id] }, 403],
    [{ scopes: ['organization_member:write'] }, 201],
  ];
  for (const [fields, status] of cases)
    assert.equal(
      (await acceptInvite(harness, link, {}, { key: await harness.newKey(own.user, fields) }))
        .status,
      status,
      JSON.stringify(fields),
    );
  assert.equal((await membersOf(home)).length, 2);
});

test('a member is told that they are one, and the invite stays', async () => {
  const { home, own, link } = await invitedAccount(harness);
  await addMember(harness.deps, home.organization.id, own.user, 1);
  const answer = await acceptInvite(harness, link, {}, { key: own.key });
  assert.deepEqual([answer.status, answer.body.code], [400, 'invalid_input']);
  assert.match(answer.body.detail, /already a member/);
  assert.deepEqual((await membersOf(home))[0], [own.user.email, 1]);
});
