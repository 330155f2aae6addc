import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusalOf } from '../../../test/refusal.ts';
import { shareHarness } from '../../../test/harness.ts';
import type { Member } from '../../../test/harness.ts';

const harness = shareHarness({ clickhouse: false });

type Level = 1 | 8 | 15;
const unknown_uuid = '01890000-0000-7000-8000-000000000000';
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

test('wrong levels name the field, before any rule', async () => {
  const { organization, own, owner, other } = await peopleOf(8, 1);
  const wrong: [unknown, string][] = [
    [{ level: 2 }, 'invalid_choice'],
    [{ level: 0 }, 'invalid_choice'],
    [{ level: '8' }, 'invalid_choice'],
    [{ level: null }, 'null'],
    [{ level: 8.5 }, 'invalid_choice'],
  ];
  for (const [body, code] of wrong)
    for (const target of [other, owner, own]) {
      const answer = await own.ask('PATCH', path(organization.id, target), body);
      assert.deepEqual(refusalOf(answer), [400, 'level', code], JSON.stringify(body));
    }
  const missing = await own.ask('PUT', path(organization.id, other), {});
  assert.deepEqual(refusalOf(missing), [400, 'level', 'required']);
});

test('a person who is no member is 404; a single member cannot be read or created', async () => {
  const { organization, key } = await harness.newOrganization();
  const stranger = await harness.newOrganization();
  for (const name of [unknown_uuid, stranger.user.uuid, 'x', '@current', '1'])
    for (const [method, body] of [
      ['PATCH', 'broken'],
      ['PUT', {}],
      ['DELETE', undefined],
    ] as const)
      assert.equal(
        (await harness.request(method, path(organization.id, name), { key, body })).status,
        404,
        `${method} ${name}`,
      );
  assert.equal((await harness.request('GET', path(organization.id, '@me'), { key })).status, 405);
  assert.equal(
    (await harness.request('POST', base(organization.id), { key, body: {} })).status,
    405,
  );
  assert.equal(
    (await harness.request('PATCH', path('@current', '@me'), { key, body: {} })).status,
    200,
  );
});
