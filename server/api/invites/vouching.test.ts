import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { shareHarness } from '../../../test/harness.ts';
import type { Member, TestOrganization } from '../../../test/harness.ts';

const password = 'violet kettle harbour 92';
const harness = shareHarness({ clickhouse: false });

const base = (home: TestOrganization) => `/api/organizations/${home.organization.id}/`;

async function invitedBy(home: TestOrganization, member: Member, level: number) {
  const answer = await member.ask('POST', `${base(home)}invites/`, {
    target_email: `${randomUUID()}@example.com`,
    level,
  });
  assert.equal(answer.status, 201);
  return {
    id: answer.body.id as string,
    token: new URL(answer.body.link).searchParams.get('token')!,
  };
}

const accept = ({ id, token }: { id: string; token: string }) =>
  harness.request('POST', `/api/invites/${id}/accept/`, { body: { token, password } });

async function isExpired(home: TestOrganization, id: string): Promise<boolean> {
  const { body } = await home.ask('GET', `${base(home)}invites/`);
  return body.results.find((one: { id: string }) => one.id === id).is_expired;
}

const losses = [
  {
    name: 'is removed',
    lose: (home: TestOrganization, { user }: Member) =>
      home.ask('DELETE', `${base(home)}members/${user.uuid}/`),
  },
  {
    name: 'leaves',
    lose: (home: TestOrganization, { key }: Member) =>
      harness.request('DELETE', `${base(home)}members/@me/`, { key }),
  },
  {
    name: 'is demoted below its level',
    lose: (home: TestOrganization, { user }: Member) =>
      home.ask('PATCH', `${base(home)}members/${user.uuid}/`, { level: 1 }),
  },
];

for (const { name, lose } of losses) {
  test(`the link of a person who ${name} is void until others send it again`, async () => {
    const home = await harness.newOrganization();
    const inviter = await harness.newMember(home.organization.id, 8);
    const link = await invitedBy(home, inviter, 8);
    assert.equal(await isExpired(home, link.id), false);
    assert.ok((await lose(home, inviter)).status < 300);
    assert.equal(await isExpired(home, link.id), true);
    const refused = await accept(link);
    assert.deepEqual([refused.status, refused.body.code], [400, 'expired']);
    const again = await home.ask('POST', `${base(home)}invites/${link.id}/resend/`);
    const token = new URL(again.body.link).searchParams.get('token')!;
    assert.equal((await accept({ id: link.id, token })).status, 201);
  });
}

test('a demotion to the level of an invite leaves its link good', async () => {
  const home = await harness.newOrganization();
  const inviter = await harness.newMember(home.organization.id, 8);
  const link = await invitedBy(home, inviter, 1);
  await home.ask('PATCH', `${base(home)}members/${inviter.user.uuid}/`, { level: 1 });
  assert.equal((await accept(link)).status, 201);
});
