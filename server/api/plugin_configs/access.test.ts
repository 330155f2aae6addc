import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer } from '../../../test/harness.ts';
import { setPluginsLevel, writtenPlugin } from '../../../test/factories/plugins/plugins.ts';
import { shareHome } from '../../../test/shared_home.ts';

const { harness, home } = shareHome(async () => {
  list = `/api/projects/${home.project.id}/plugin_configs/`;
});
let list: string;

const ask = (method: string, path: string, body?: unknown, key = home.key): Promise<Answer> =>
  harness.request(method, path, { key, body });

test('level 8 of members changes plugin configs, level 3 of organizations allows it', async () => {
  const own = await harness.newOrganization();
  const { id } = await writtenPlugin(harness, own);
  const configs = `/api/projects/${own.project.id}/plugin_configs/`;
  const member = await harness.newMember(own.organization.id, 1);
  assert.equal((await ask('POST', configs, { plugin: id }, member.key)).status, 403);
  await setPluginsLevel(harness, own, 3);
  const created = await ask('POST', configs, { plugin: id, enabled: true }, own.key);
  assert.equal(created.status, 201);
  assert.equal(
    (await ask('GET', `${configs}${created.body.id}/`, undefined, member.key)).status,
    200,
  );
  await setPluginsLevel(harness, own, 0);
  for (const [method, path, body] of [
    ['GET', '', undefined],
    ['POST', '', { plugin: id }],
    ['GET', `${created.body.id}/`, undefined],
    ['GET', `${created.body.id}/logs/`, undefined],
    ['PATCH', `${created.body.id}/`, {}],
    ['PUT', `${created.body.id}/`, {}],
    ['DELETE', `${created.body.id}/`, undefined],
  ] as const)
    assert.equal(
      (await ask(method, configs + path, body, own.key)).status,
      403,
      `${method} ${path}`,
    );
});

test('plugins and configs of others are unknown; a global plugin can be used', async () => {
  const other = await harness.newOrganization();
  const foreign = await writtenPlugin(harness, other);
  const answer = async () => ask('POST', list, { plugin: foreign.id, enabled: true });
  assert.deepEqual([(await answer()).status, (await answer()).body.attr], [400, 'plugin']);
  await setPluginsLevel(harness, other, 9);
  await ask('PATCH', foreign.url, { is_global: true }, other.key);
  const created = await answer();
  assert.deepEqual(
    [created.status, created.body.plugin_info.organization_id],
    [201, other.organization.id],
  );
  for (const method of ['GET', 'PATCH', 'PUT', 'DELETE']) {
    const elsewhere = `/api/projects/${other.project.id}/plugin_configs/${created.body.id}/`;
    assert.equal(
      (await ask(method, elsewhere, method === 'GET' ? undefined : {}, other.key)).status,
      404,
      method,
    );
  }
});
