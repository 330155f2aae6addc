import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import sql from 'sql-template-tag';
import {
  packageFiles,
  publishedPlugin,
  setPluginsLevel,
  writtenPlugin,
} from '../../../test/factories/plugins/plugins.ts';
import type { Answer, TestOrganization } from '../../../test/harness.ts';
import { shareHome } from '../../../test/shared_home.ts';

const { harness, home } = shareHome(async () => {
  owner = await harness.newOrganization({ name: 'Beta' });
  list = `/api/projects/${home.project.id}/plugin_configs/`;
});

let owner: TestOrganization;
let list: string;
let plugin: { id: number; url: string };
beforeEach(async () => {
  plugin = await publishedPlugin(harness, owner, 'pipeline_destinations', filesOf('1.0.0', [host]));
});

const host = { key: 'host', type: 'string', required: true };
const token = { key: 'token', type: 'string' };
const filesOf = (version: string, config: object[], more: Record<string, string> = {}) =>
  packageFiles(
    'pipeline_destinations',
    { version, config },
    {
      'index.ts': `export const jobs = { again_${version[0]}: () => {} };
        export const publicJobs = { again_${version[0]}: {} };
        export function onEvent() {}`,
      ...more,
    },
  );

const enable = async (more: object = {}) => {
  const answer = await home.ask('POST', list, {
    plugin: plugin.id,
    enabled: true,
    config: { host: 'a.example' },
    ...more,
  });
  assert.equal(answer.status, 201, answer.text);
  return { url: `${list}${answer.body.id}/`, body: answer.body };
};
const put = (source: Record<string, string>, tag?: string) =>
  owner.ask('PUT', `${plugin.url}update_source/`, { source, tag });
const read = async (url: string) => (await home.ask('GET', url)).body;
const accept = (url: string, headers?: Record<string, string>): Promise<Answer> =>
  home.ask('POST', `${url}accept_version/`, undefined, headers);
const versionCount = async () => {
  const row = await harness.deps.db.row<{ count: number }>(
    sql`SELECT count(*)::integer AS count FROM plugin_versions WHERE plugin_id = ${plugin.id}`,
  );
  return row!.count;
};

test('a config of a stranger’s plugin holds the version that was enabled', async () => {
  const { url, body } = await enable({ enabled: false });
  assert.deepEqual([body.accepted_version, body.waiting_version], [null, null]);
  // Nobody runs it yet, so what is enabled is what is there by then.
  assert.equal((await put(filesOf('2.0.0', [host, token]), '2.0.0')).status, 200);
  const enabled = (await home.ask('PATCH', url, { enabled: true })).body;
  assert.deepEqual([enabled.accepted_version.tag, enabled.waiting_version], ['2.0.0', null]);

  assert.equal((await put(filesOf('3.0.0', [host]), '3.0.0')).status, 200);
  const held = await read(url);
  assert.deepEqual([held.accepted_version.tag, held.waiting_version.tag], ['2.0.0', '3.0.0']);
  assert.notEqual(held.waiting_version.content_sha256, held.accepted_version.content_sha256);
  const { tag, config_schema, public_jobs, capabilities } = held.plugin_info;
  assert.deepEqual(
    [tag, config_schema, Object.keys(public_jobs), capabilities.jobs],
    ['2.0.0', [host, token], ['again_2'], ['again_2']],
  );
  // Its settings are judged by that version, and its jobs are those of it.
  const kept = await home.ask('PATCH', url, { config: { token: 't' } });
  assert.deepEqual(kept.body.config, { host: 'a.example', token: 't' });
  const job = (name: string) => home.ask('POST', `${url}jobs/`, { name });
  assert.deepEqual([(await job('again_3')).status, (await job('again_2')).status], [400, 201]);
  // Switched off and on again is no word on what waits.
  for (const is_on of [false, true]) await home.ask('PATCH', url, { enabled: is_on });
  assert.equal((await read(url)).accepted_version.tag, '2.0.0');

  // A version that is rolled back no longer waits.
  assert.equal((await owner.ask('POST', `${plugin.url}rollback/`)).status, 200);
  assert.equal((await read(url)).waiting_version, null);
  // Settings alone wait too: their defaults decide what runs.
  await owner.ask('PATCH', plugin.url, { config_schema: [{ ...host, default: 'b.example' }] });
  const other = await read(url);
  assert.equal(other.waiting_version.content_sha256, other.accepted_version.content_sha256);
  assert.deepEqual(other.plugin_info.config_schema, [host, token]);
});

test('own plugins run their present version, and nothing waits', async () => {
  const own = await writtenPlugin(harness, home);
  const created = await home.ask('POST', list, { plugin: own.id, enabled: true });
  await home.ask('PUT', `${own.url}update_source/`, { source: filesOf('9.0.0', [token]) });
  const url = `${list}${created.body.id}/`;
  const { accepted_version, waiting_version, plugin_info } = await read(url);
  assert.deepEqual([accepted_version, waiting_version], [null, null]);
  assert.deepEqual(plugin_info.config_schema, [token]);
  const refused = await accept(url);
  assert.deepEqual([refused.status, refused.body.code], [409, 'conflict']);
});

test('accepting takes code, settings and jobs over, once, and tells what is lacking', async () => {
  const { url } = await enable({ config: { host: 'a.example' } });
  const secret = { ...host, secret: true };
  assert.equal(
    (await put(filesOf('2.0.0', [secret, { ...host, key: 'more' }]), '2.0.0')).status,
    200,
  );
  const waiting = await read(url);
  // Not before: the settings of an accepted version are its own.
  assert.deepEqual(
    [waiting.config, waiting.secret_keys, waiting.error],
    [{ host: 'a.example' }, [], null],
  );
  assert.equal((await home.ask('POST', `${url}accept_version/?validate_only=true`)).status, 200);
  assert.deepEqual(await read(url), waiting);
  const { body } = await accept(url);
  assert.deepEqual([body.accepted_version.tag, body.waiting_version], ['2.0.0', null]);
  assert.deepEqual([body.enabled, body.config, body.secret_keys], [true, {}, ['host']]);
  assert.match(body.error.message, /more: /);
  assert.deepEqual(Object.keys(body.plugin_info.public_jobs), ['again_2']);
  const { results } = (await home.ask('GET', '/api/organizations/@current/activity/?limit=1')).body;
  assert.equal(results[0].activity, 'version_accepted');
  assert.ok(
    results[0].changes.some(
      ({ field, after }: { field: string; after: string }) =>
        field === 'accepted_version.tag' && after === '2.0.0',
    ),
    JSON.stringify(results[0].changes),
  );
  assert.equal((await accept(url)).status, 409);

  // A version that does not ask for the missing setting clears the fault.
  await put(filesOf('3.0.0', [secret]), '3.0.0');
  assert.equal((await accept(url)).body.error, null);
});

test('level 8 accepts a version, and only the one they have looked at', async () => {
  const { url, body } = await enable();
  await put(filesOf('2.0.0', [host]));
  const member = await harness.newMember(home.organization.id, 1);
  const reader = await harness.newKey(home.user, { scopes: ['plugin:read'] });
  for (const key of [member.key, reader])
    assert.equal((await harness.request('POST', `${url}accept_version/`, { key })).status, 403);
  for (const other of [owner, await harness.newOrganization()])
    assert.equal((await other.ask('POST', `${url}accept_version/`)).status, 404);
  const looked_at = (await home.ask('GET', url)).headers['etag']!;
  await put(filesOf('3.0.0', [host]));
  assert.equal((await accept(url, { 'if-match': looked_at })).status, 412);
  assert.equal((await read(url)).accepted_version.tag, body.accepted_version.tag);
  const present = (await home.ask('GET', url)).headers['etag']!;
  assert.equal((await accept(url, { 'if-match': present })).status, 200);

  await put(filesOf('4.0.0', [host]));
  await setPluginsLevel(harness, home, 0);
  assert.equal((await accept(url)).status, 403);
  await setPluginsLevel(harness, home, 6);
});

test('its organization is not held back, and what cannot run is not accepted', async () => {
  const { url, body } = await enable();
  const idle = await put({ 'index.ts': 'export const jobs = {};' });
  assert.equal(idle.status, 200, idle.text);
  const refused = await accept(url);
  assert.deepEqual([refused.status, refused.body.code], [409, 'conflict']);
  assert.match(refused.body.detail, /A destination must export/);
  await put({ 'index.ts': 'export function onEvent() {}' });
  await harness.deps.db.run(sql`UPDATE plugin_versions SET files = '{"index.ts":""}'
    WHERE id = (SELECT version_id FROM plugins WHERE id = ${plugin.id})`);
  assert.match((await accept(url)).body.detail, /differs from the installed code/);
  assert.deepEqual((await read(url)).accepted_version, body.accepted_version);
});

test('versions in use are kept, and go with their last user', async () => {
  const first = await enable();
  const write = async (number: number) => {
    const { status } = await put(filesOf(`${number}.0.0`, [host]));
    assert.equal(status, 200);
  };
  for (const number of [2, 3, 4]) await write(number);
  assert.equal(await versionCount(), 3);
  const second = await enable();
  for (const number of [5, 6]) await write(number);
  // The present one, the one before it, and two that run here.
  assert.equal(await versionCount(), 4);
  assert.equal((await accept(first.url)).status, 200);
  assert.equal(await versionCount(), 3);
  assert.equal((await home.ask('DELETE', second.url)).status, 204);
  assert.equal(await versionCount(), 2);
  assert.equal((await owner.ask('DELETE', plugin.url)).status, 409);
});

test('the previous release cannot enable without acceptance, or remove code', async () => {
  const { body, url } = await enable({ enabled: false });
  const { db } = harness.deps;
  await db.run(sql`UPDATE plugin_configs SET enabled = true WHERE id = ${body.id}`);
  const { accepted_version } = await read(url);
  assert.notEqual(accepted_version, null);
  await put(filesOf('2.0.0', [host]));
  await put(filesOf('3.0.0', [host]));
  const removing = sql`DELETE FROM plugin_versions v USING plugins p
    WHERE p.id = ${plugin.id} AND v.plugin_id = p.id AND v.id <> p.version_id
      AND v.id IS DISTINCT FROM p.previous_version_id`;
  assert.equal(await db.run(removing), 0);
  assert.deepEqual((await read(url)).accepted_version, accepted_version);
  // With the plugin all of it goes.
  await db.run(sql`DELETE FROM plugins WHERE id = ${plugin.id}`);
  assert.equal(await versionCount(), 0);
});
