import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { shareHarness } from '../../../test/harness.ts';
import { insertApiKey } from './store.ts';
import type { ApiKeyFields } from './store.ts';

const harness = shareHarness({ clickhouse: false });
const pathOf = ({ organization }: { organization: { id: string } }) =>
  `/api/organizations/${organization.id}/personal_api_keys/`;

test('administrators see the keys that open their organization, without their values', async () => {
  const home = await harness.newOrganization();
  const elsewhere = await harness.newOrganization();
  const member = await harness.newMember(home.organization.id, 1);
  const user_id = await idOf(member.user.uuid);
  await harness.deps.db.run(
    sql`INSERT INTO members (id, organization_id, user_id, level)
      VALUES (gen_random_uuid(), ${elsewhere.organization.id}, ${user_id}, 1)`,
  );
  const create = (label: string, fields: Partial<ApiKeyFields> = {}) =>
    insertApiKey(harness.deps.db, harness.deps.secrets, {
      user_id,
      label,
      scopes: ['batch_export:read'],
      ...fields,
    });
  const everywhere = await create('everywhere');
  await create('here', { scoped_organizations: [home.organization.id] });
  await create('one project', { scoped_teams: [home.project.id, elsewhere.project.id] });
  await create('their organization', { scoped_organizations: [elsewhere.organization.id] });
  await create('their project', { scoped_teams: [elsewhere.project.id] });
  await create('expired', { expires_at: '2020-01-01T00:00:00Z' });
  const administrator = await harness.newMember(home.organization.id, 8);
  const { status, body, text } = await administrator.ask('GET', pathOf(home));
  assert.equal(status, 200, text);
  const theirs = body.results.filter(
    (key: { user: { uuid: string } }) => key.user.uuid === member.user.uuid,
  );
  assert.deepEqual(
    theirs.map(({ label, projects }: { label: string; projects: number[] }) => [label, projects]),
    [
      ['one project', [home.project.id]],
      ['here', []],
      ['everywhere', []],
      [theirs.at(-1).label, []],
    ],
    "neither another organization's keys nor its projects",
  );
  const shown = theirs.find(({ label }: { label: string }) => label === 'everywhere');
  assert.deepEqual(
    [shown.mask_value, shown.scopes, shown.last_used_at, shown.expires_at],
    [everywhere.mask_value, ['batch_export:read'], null, null],
  );
  assert.ok(!text.includes(everywhere.value) && !text.includes('last_used_ip'));
  assert.equal(body.count, body.results.length);
});

test('members without the right, strangers and keys without the scope see no keys', async () => {
  const home = await harness.newOrganization();
  const stranger = await harness.newOrganization();
  const member = await harness.newMember(home.organization.id, 1);
  const limited = await harness.newMember(home.organization.id, 8, ['batch_export:read']);
  assert.equal((await member.ask('GET', pathOf(home))).status, 403);
  assert.equal((await limited.ask('GET', pathOf(home))).status, 403);
  assert.equal((await stranger.ask('GET', pathOf(home))).status, 404);
});

async function idOf(uuid: string): Promise<number> {
  const row = await harness.deps.db.row<{ id: number }>(
    sql`SELECT id FROM users WHERE uuid = ${uuid}::uuid`,
  );
  return row!.id;
}
