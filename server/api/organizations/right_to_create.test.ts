import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import sql from 'sql-template-tag';
import { newPerson } from '../../../test/factories/people/people.ts';
import { openHarness } from '../../../test/harness.ts';
import type { Harness } from '../../../test/harness.ts';
import { readConfig } from '../../config/config.ts';

let harness: Harness;
before(async () => {
  harness = await openHarness({ clickhouse: false });
});
after(() => harness.close());
beforeEach(() => harness.deps.db.run(sql`DELETE FROM organizations`));

const create = async (key: string) => {
  const { status, body } = await harness.request('POST', '/api/organizations/', {
    key,
    body: { name: 'Another' },
  });
  if (status === 403) assert.match(body.detail, /SLUICE_ORGANIZATION_CREATION/);
  return status;
};

test('the setting says who may create an organization, by default members', async () => {
  assert.equal(readConfig({}).organization_creation, 'members');
  assert.throws(
    () => readConfig({ SLUICE_ORGANIZATION_CREATION: 'everybody' }),
    /SLUICE_ORGANIZATION_CREATION: must be one of owner, members, anyone/,
  );
  const owner = await harness.newOrganization();
  const [administrator, member] = [
    await harness.newMember(owner.organization.id, 8),
    await harness.newMember(owner.organization.id, 1),
  ];
  const outsider = await harness.newKey(await newPerson(harness));
  const keys = [owner.key, administrator.key, member.key, outsider];
  for (const [setting, statuses] of [
    ['owner', [201, 403, 403, 403]],
    ['members', [201, 201, 201, 403]],
    ['anyone', [201, 201, 201, 201]],
  ] as const) {
    harness.deps.config.organization_creation = setting;
    const seen: number[] = [];
    for (const key of keys) {
      seen.push(await create(key));
      await harness.deps.db.run(sql`DELETE FROM organizations WHERE name = 'Another'`);
    }
    assert.deepEqual(seen, statuses, setting);
  }
});

test('on a server without organizations anybody may create the first one', async () => {
  for (const setting of ['owner', 'members', 'anyone'] as const) {
    harness.deps.config.organization_creation = setting;
    await harness.deps.db.run(sql`DELETE FROM organizations`);
    const [first, second] = [await newPerson(harness), await newPerson(harness)];
    assert.equal(await create(await harness.newKey(first)), 201, setting);
    const status = setting === 'anyone' ? 201 : 403;
    assert.equal(await create(await harness.newKey(second)), status, setting);
  }
  // Publishing plugins to all is no right that comes with that.
  const rows = await harness.deps.db.rows(
    sql`SELECT DISTINCT plugins_access_level AS level FROM organizations`,
  );
  assert.deepEqual(rows, [{ level: 6 }]);
});
