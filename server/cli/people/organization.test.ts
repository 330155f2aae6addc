import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import sql, { raw } from 'sql-template-tag';
import {
  publishedPlugin,
  setPluginsLevel as setLevel,
  writtenPlugin,
} from '../../../test/factories/plugins/plugins.ts';
import { openHarness } from '../../../test/harness.ts';
import type { Harness, TestOrganization } from '../../../test/harness.ts';
import { root } from '../../../test/house/source_files.ts';
import { listOrganizations, openOrganization, setPluginsLevel } from './organization.ts';
import { UserError, WrongUsageError } from '../user_error.ts';

let harness: Harness;
before(async () => {
  harness = await openHarness({ clickhouse: false });
});
after(() => harness.close());
beforeEach(() => harness.deps.db.run(sql`DELETE FROM organizations`));

const levelOf = async (home: TestOrganization) =>
  (await home.ask('GET', '/api/organizations/@current/')).body.plugins_access_level;

test('the operator gives the right to publish, and takes it; the log says so', async () => {
  const home = await harness.newOrganization({ name: 'Beta' });
  const { id, slug } = home.organization;
  const { url } = await writtenPlugin(harness, home);
  const publish = () => home.ask('PATCH', url, { is_global: true });
  assert.equal((await publish()).status, 403);
  assert.match(await setPluginsLevel(harness.deps, slug, '9'), /level 9 \(before: 6\)/);
  assert.equal((await publish()).status, 200);
  const listed = await listOrganizations(harness.deps);
  assert.match(listed, new RegExp(`^${slug}  Beta  ${id}  plugins level 9, 1 member, publishes`));
  assert.match(await setPluginsLevel(harness.deps, id.toUpperCase(), '3'), /level 3/);
  assert.match(await setPluginsLevel(harness.deps, id, '3'), /already/);
  assert.equal(await levelOf(home), 3);
  const entries = await harness.deps.db.rows(sql`
    SELECT activity, scope, user_id, changes FROM activity
    WHERE chain_id = ${id}::uuid AND scope = 'organization' ORDER BY number`);
  const change = { field: 'plugins_access_level', action: 'changed' };
  const entry = { activity: 'updated', scope: 'organization', user_id: null };
  assert.deepEqual(entries, [
    {
      ...entry,
      changes: [{ ...change, before: 6, after: 9 }],
    },
    {
      ...entry,
      changes: [{ ...change, before: 9, after: 3 }],
    },
  ]);
});

test('a wrong level or organization is refused in a sentence', async () => {
  const { organization } = await harness.newOrganization();
  for (const level of ['7', '', 'root', '-3'])
    await assert.rejects(setPluginsLevel(harness.deps, organization.id, level), WrongUsageError);
  await assert.rejects(setPluginsLevel(harness.deps, 'nobody', '9'), UserError);
  await harness.deps.db.run(sql`DELETE FROM organizations`);
  assert.equal(await listOrganizations(harness.deps), 'There are no organizations.');
});

test('an organization that shuts its members out is opened by the operator', async () => {
  const home = await harness.newOrganization();
  const { id } = home.organization;
  await harness.deps.db.run(sql`UPDATE organizations SET requires_sso = true,
    allowed_ip_ranges = '{10.0.0.0/8}' WHERE id = ${id}::uuid`);
  const one = `/api/organizations/${id}/`;
  assert.equal((await home.ask('GET', one)).status, 403);
  assert.match(await openOrganization(harness.deps, home.organization.slug), /is open to its/);
  assert.equal((await home.ask('GET', one)).status, 200);
  const { body } = await home.ask('GET', `/api/organizations/${id}/activity/`);
  assert.equal(body.results[0].scope, 'organization_security');
  assert.match(await openOrganization(harness.deps, id), /Nothing was changed/);
  await assert.rejects(openOrganization(harness.deps, 'nobody'), UserError);
});

test('an upgrade keeps 9 where it was first or used, and holds what runs to its code', async () => {
  const { db } = harness.deps;
  const [oldest, publisher, other, careful] = [
    await harness.newOrganization(),
    await harness.newOrganization(),
    await harness.newOrganization(),
    await harness.newOrganization(),
  ];
  const plugin = await publishedPlugin(harness, publisher);
  const configs = `/api/projects/${other.project.id}/plugin_configs/`;
  const make = async (enabled: boolean) =>
    (await other.ask('POST', configs, { plugin: plugin.id, enabled })).body;
  const [runs, stopped] = [await make(true), await make(true)];
  // Neither one that never ran, nor one of the plugin's own organization, holds anything.
  await make(false);
  await other.ask('PATCH', `${configs}${stopped.id}/`, { enabled: false });
  await publisher.ask('POST', `/api/projects/${publisher.project.id}/plugin_configs/`, {
    plugin: plugin.id,
    enabled: true,
  });
  // As they were before.
  await db.run(
    sql`UPDATE plugin_configs SET accepted_version_id = NULL, accepted_config_schema = NULL`,
  );
  for (const one of [oldest, publisher, other]) await setLevel(harness, one, 9);
  await setLevel(harness, careful, 3);

  const text = readFileSync(join(root, 'migrations/0056_plugins_of_others.sql'), 'utf8');
  const updates = text.match(/^UPDATE [^;]+;/gm)!;
  assert.equal(updates.length, 2);
  for (const statement of updates) await db.run(sql`${raw(statement)}`);

  assert.deepEqual(
    await Promise.all([oldest, publisher, other, careful].map(levelOf)),
    [9, 9, 6, 3],
  );
  const held = await db.rows<{ id: number }>(sql`SELECT c.id FROM plugin_configs c
    JOIN plugins p ON p.version_id = c.accepted_version_id
      AND p.config_schema::text = c.accepted_config_schema::text ORDER BY c.id`);
  assert.deepEqual(
    held.map(({ id }) => id),
    [runs.id, stopped.id],
  );
});
