import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { aroundTests } from '../../../test/around_tests.ts';
import { eventually } from '../../../test/eventually.ts';
import { openHarness } from '../../../test/harness.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { countWaiting } from '../../../test/watchers/waiting_statements.ts';
import { addMember } from '../../../test/factories/people/members.ts';

const list = '/api/personal_api_keys/';

let now = Date.parse('2030-01-01T00:00:00Z');
const harness = aroundTests(() =>
  openHarness({ clickhouse: false, deps: { clock: { now: () => now } } }),
);

/**
 * A person with a signed-in browser and a key that is created in it: an owner of `home`, and of a
 * second organization.
 */
type Setting = {
  home: TestOrganization;
  second: TestOrganization;
  cookie: string;
  id: string;
  value: string;
};

async function newSetting(
  fields: (home: TestOrganization) => Record<string, unknown> = () => ({}),
): Promise<Setting> {
  const [home, second] = [await harness.newOrganization(), await harness.newOrganization()];
  await addMember(harness.deps, second.organization.id, home.user, 15);
  const cookie = await harness.newSession(home.user);
  const body = {
    label: 'CI',
    scopes: ['*'],
    expires_at: new Date(now + 60_000).toISOString(),
    ...fields(home),
  };
  const { id, value } = (await harness.request('POST', list, { headers: { cookie }, body })).body;
  return { home, second, cookie, id, value };
}

type Asked = [method: string, path: string, body?: unknown];
const rename = ({ home }: Setting): Asked => [
  'PATCH',
  `/api/organizations/${home.organization.id}/`,
  { name: 'Renamed' },
];
const readProject = ({ home }: Setting): Asked => ['GET', `/api/projects/${home.project.id}/`];
const renameProject = ({ home }: Setting): Asked => [
  'PATCH',
  `/api/projects/${home.project.id}/`,
  { name: 'Renamed' },
];
const readOther = ({ second }: Setting): Asked => [
  'GET',
  `/api/organizations/${second.organization.id}/`,
];
const current = (): Asked => ['GET', `${list}@current/`];

const viaSession = (setting: Setting, method: string, path: string, body?: unknown) =>
  harness.request(method, path, {
    headers: { cookie: setting.cookie },
    body,
  });
const viaDatabase = async (statement: Sql) => assert.equal(await harness.deps.db.run(statement), 1);
const ofMember = ({ home }: Setting) =>
  sql`user_id = ${home.user.id} AND organization_id = ${home.organization.id}::uuid`;
const lowerLevel = (setting: Setting) =>
  viaDatabase(sql`UPDATE members SET level = 1 WHERE ${ofMember(setting)}`);
const removeOwner = (setting: Setting) =>
  viaDatabase(sql`DELETE FROM members WHERE ${ofMember(setting)}`);

/** A change, the requests before and after it, and the status after it (2xx before). */
type Case = {
  what: string;
  happens(setting: Setting): Promise<unknown>;
  asked(setting: Setting): Asked;
  status: number;
  fields?: (home: TestOrganization) => Record<string, unknown>;
};

const cases: Case[] = [
  {
    what: 'the key is deleted',
    happens: (setting) => viaSession(setting, 'DELETE', `${list}${setting.id}/`),
    asked: rename,
    status: 401,
  },
  {
    what: 'the key is rolled',
    happens: (setting) => viaSession(setting, 'POST', `${list}${setting.id}/roll/`),
    asked: current,
    status: 401,
  },
  { what: 'the key expires', happens: async () => (now += 60_000), asked: rename, status: 401 },
  {
    what: 'the expiry is moved to the next moment, and that comes',
    happens: async (setting) => {
      await viaSession(setting, 'PATCH', `${list}${setting.id}/`, {
        expires_at: new Date(now + 1).toISOString(),
      });
      now += 1;
    },
    asked: current,
    status: 401,
  },
  {
    what: 'its scopes are cut',
    happens: (setting) =>
      viaSession(setting, 'PATCH', `${list}${setting.id}/`, { scopes: ['organization:read'] }),
    asked: rename,
    status: 403,
  },
  {
    what: 'it is limited to another organization',
    happens: (setting) =>
      viaSession(setting, 'PATCH', `${list}${setting.id}/`, {
        scoped_organizations: [setting.second.organization.id],
      }),
    asked: rename,
    status: 404,
  },
  {
    what: 'its owner is deactivated',
    happens: ({ home }) =>
      viaDatabase(sql`UPDATE users SET is_active = false WHERE id = ${home.user.id}`),
    asked: current,
    status: 401,
  },
  {
    what: 'its owner is deleted',
    happens: ({ home }) => viaDatabase(sql`DELETE FROM users WHERE id = ${home.user.id}`),
    asked: current,
    status: 401,
  },
  {
    what: "its owner's level falls below what the change needs",
    happens: lowerLevel,
    asked: rename,
    status: 403,
  },
  {
    what: "its owner's level falls, in a project",
    happens: lowerLevel,
    asked: renameProject,
    status: 403,
  },
  {
    what: 'its owner is removed from the organization',
    happens: removeOwner,
    asked: readProject,
    status: 404,
  },
  {
    what: 'its owner is removed from the one organization that it is limited to',
    happens: removeOwner,
    asked: rename,
    status: 404,
    fields: (home) => ({ scoped_organizations: [home.organization.id] }),
  },
  {
    what: 'the organization that it is limited to is deleted',
    happens: (setting) =>
      viaSession(setting, 'DELETE', `/api/organizations/${setting.home.organization.id}/`),
    asked: rename,
    status: 404,
    fields: (home) => ({ scoped_organizations: [home.organization.id] }),
  },
  {
    what: 'the project that it is limited to is deleted',
    happens: (setting) =>
      viaSession(setting, 'DELETE', `/api/projects/${setting.home.project.id}/`),
    asked: readProject,
    status: 404,
    fields: (home) => ({ scoped_teams: [home.project.id] }),
  },
  {
    what: 'the organization enforces a second factor that its owner has not',
    happens: ({ home }) =>
      viaDatabase(
        sql`UPDATE organizations SET enforce_2fa = true WHERE id = ${home.organization.id}::uuid`,
      ),
    asked: readProject,
    status: 403,
  },
];

for (const { what, happens, asked, status, fields } of cases) {
  test(`refused at once: ${what}`, async () => {
    const setting = await newSetting(fields);
    const [method, path, body] = asked(setting);
    const ask = () =>
      harness.request(method, path, {
        key: setting.value,
        body,
      });
    assert.equal((await ask()).status, 200);
    await happens(setting);
    assert.equal((await ask()).status, status);
  });
}

test('a limited key does not grow when its organization or project is deleted', async () => {
  const deleted = await newSetting((home) => ({ scoped_teams: [home.project.id] }));
  await viaSession(deleted, 'DELETE', `/api/projects/${deleted.home.project.id}/`);
  const left = await newSetting((home) => ({ scoped_organizations: [home.organization.id] }));
  await viaDatabase(
    sql`DELETE FROM members WHERE user_id = ${left.home.user.id}
      AND organization_id = ${left.home.organization.id}::uuid`,
  );
  for (const setting of [deleted, left]) {
    const [method, path] = readOther(setting);
    assert.equal((await harness.request(method, path, { key: setting.value })).status, 404);
    assert.equal(
      (
        await harness.request('GET', `/api/projects/${setting.second.project.id}/`, {
          key: setting.value,
        })
      ).status,
      404,
    );
    assert.equal(
      (await harness.request('GET', '/api/projects/', { key: setting.value })).body.count,
      0,
    );
  }
});

test('a refused key leaves nothing changed, and another key of the person works on', async () => {
  const setting = await newSetting();
  const other = await harness.newKey(setting.home.user);
  await viaSession(setting, 'DELETE', `${list}${setting.id}/`);
  const [method, path, body] = rename(setting);
  assert.equal((await harness.request(method, path, { key: setting.value, body })).status, 401);
  assert.equal((await harness.request('GET', path, { key: other })).body.name, 'Test');
});

test('a session that ends while a new key waits for its owner creates no key', async () => {
  const setting = await newSetting();
  const { user } = setting.home;
  const { waiting } = await harness.deps.db.transaction(async (tx) => {
    await tx.row(sql`SELECT 1 FROM users WHERE id = ${user.id} FOR NO KEY UPDATE`);
    const asked = viaSession(setting, 'POST', list, { label: 'Late', scopes: ['*'] });
    await eventually(
      'The request does not wait.',
      async () => (await countWaiting(harness.deps.db)) > 0,
    );
    await tx.run(sql`DELETE FROM sessions WHERE user_id = ${user.id}`);
    return { waiting: asked };
  });
  assert.equal((await waiting).status, 401);
  const left = await harness.deps.db.rows<{ label: string }>(
    sql`SELECT label FROM personal_api_keys WHERE user_id = ${user.id} AND label = 'Late'`,
  );
  assert.deepEqual(left, []);
});
