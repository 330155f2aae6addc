import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer } from '../../../test/harness.ts';
import {
  collectionUrl,
  setPluginsLevel,
  writtenPlugin,
} from '../../../test/factories/plugins/plugins.ts';
import { shareHome } from '../../../test/shared_home.ts';

const { harness, home } = shareHome();
const ask = (method: string, path: string, body?: unknown, key = home.key): Promise<Answer> =>
  harness.request(method, path, { key, body });

test('levels of the organization: 0 nothing, 3 reads, 6 changes, 9 also is_global', async () => {
  const own = await harness.newOrganization();
  const { url } = await writtenPlugin(harness, own);
  const base = collectionUrl(own);
  const reads = ['', 'repository/', 'unused/', 'activity/', 'exports_unsubscribe_configs/'].map(
    (path) => ['GET', `${base}${path}`, undefined] as const,
  );
  const changes = [
    ['POST', base, {}],
    ['PATCH', url, { name: 'x' }],
    ['PUT', url, { name: 'x' }],
    ['PATCH', `${url}update_source/`, {}],
    ['GET', `${url}source/`, undefined],
    ['GET', `${url}check_for_updates/`, undefined],
    ['POST', `${url}upgrade/`, {}],
  ] as const;
  const roots = [
    ['POST', base, { is_global: true }],
    ['PATCH', url, { is_global: true }],
  ] as const;
  for (const level of [0, 3, 6, 9] as const) {
    await setPluginsLevel(harness, own, level);
    const check = async (
      calls: readonly (readonly [string, string, unknown])[],
      wanted: number,
    ) => {
      for (const [method, path, body] of calls) {
        const { status, text } = await ask(method, path, body, own.key);
        assert.equal(status === 403, level < wanted, `${method} ${path} at ${level}: ${status}`);
        if (status === 403) assert.match(text, /plugins access level [369],/);
      }
    };
    await check([...reads, ['GET', url, undefined]], 3);
    await check(changes, 6);
    await check(roots, 9);
  }
  await setPluginsLevel(harness, own, 6);
  assert.equal(
    (await ask('PATCH', url, { is_global: true, name: 'unchanged flag' }, own.key)).status,
    200,
    'a flag that stays needs no level',
  );
  assert.equal((await ask('PATCH', url, { is_global: false }, own.key)).status, 403);
  await setPluginsLevel(harness, own, 3);
  assert.equal((await ask('DELETE', url, undefined, own.key)).status, 403);
});

test('a global record is seen by all and changed by its owners; others keep its use', async () => {
  const [owner, other] = [await harness.newOrganization(), await harness.newOrganization()];
  const { id, url } = await writtenPlugin(harness, owner);
  await setPluginsLevel(harness, owner, 9);
  const foreign = `${collectionUrl(other)}${id}/`;
  assert.equal((await ask('GET', foreign, undefined, other.key)).status, 404);
  assert.equal((await ask('PATCH', url, { is_global: true }, owner.key)).body.is_global, true);
  assert.equal((await ask('GET', foreign, undefined, other.key)).body.organization_name, 'Test');
  const listed = (await ask('GET', collectionUrl(other), undefined, other.key)).body.results;
  assert.ok(listed.some((plugin: { id: number }) => plugin.id === id));
  for (const [method, path] of [
    ['PATCH', ''],
    ['PUT', ''],
    ['DELETE', ''],
    ['PATCH', 'update_source/'],
    ['POST', 'upgrade/'],
    ['POST', 'rollback/'],
    ['GET', 'source/'],
    ['GET', 'check_for_updates/'],
  ] as const)
    assert.equal(
      (await ask(method, `${foreign}${path}`, method === 'GET' ? undefined : {}, other.key)).status,
      403,
      `${method} ${path}`,
    );
  const configs = `/api/projects/${other.project.id}/plugin_configs/`;
  const config = await ask('POST', configs, { plugin: id }, other.key);
  assert.equal((await ask('DELETE', url, undefined, owner.key)).status, 409);
  await ask('PATCH', url, { is_global: false }, owner.key);
  assert.equal((await ask('GET', foreign, undefined, other.key)).status, 200);
  assert.equal((await ask('DELETE', url, undefined, owner.key)).status, 409);
  await ask('DELETE', `${configs}${config.body.id}/`, undefined, other.key);
  assert.equal((await ask('GET', foreign, undefined, other.key)).status, 404);
  assert.equal((await ask('DELETE', url, undefined, owner.key)).status, 204);
  assert.equal((await ask('DELETE', url, undefined, owner.key)).status, 404);
});
