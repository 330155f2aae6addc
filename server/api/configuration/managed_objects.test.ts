import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import { openConfigurations } from '../../../test/factories/configurations.ts';
import { shareHarness } from '../../../test/harness.ts';

const harness = shareHarness({ clickhouse: false });
const secret_url = 'https://hooks.example.com/pl4nted-path-of-a-channel';
const files = {
  projects: {
    web: {
      name: 'Web',
      batch_exports: {
        daily: {
          name: 'Daily ${env:NAME}',
          interval: 'day',
          destination: { type: 'File', config: { prefix: 'd' } },
        },
      },
      notice_targets: { ops: { type: 'slack', name: '#ops', url: secret_url } },
    },
  },
};

async function openApplied() {
  const config = await openConfigurations(harness);
  await config.put(files);
  const base = `/api/organizations/${config.home.organization.id}/configuration/objects/`;
  const list = async () => (await config.home.ask('GET', base)).body.objects;
  const find = async (kind: string) =>
    (await list()).find((one: { kind: string }) => one.kind === kind);
  const one = (kind: string, id: string) => base.replace('objects/', `?kind=${kind}&id=${id}`);
  return { ...config, base, list, find, one };
}

test('managed objects show what was changed or deleted since, and by whom', async () => {
  const { home, list, find } = await openApplied();
  assert.deepEqual(
    (await list()).map(({ path, changes, is_deleted, by, source }: any) => [
      path,
      changes,
      is_deleted,
      by,
      source,
    ]),
    [
      ['projects.web', [], false, null, 'default'],
      ['projects.web.batch_exports.daily', [], false, null, 'default'],
      ['projects.web.notice_targets.ops', [], false, null, 'default'],
    ],
  );
  const [project, exported, target] = await list();
  await home.ask('PATCH', `/api/projects/${project.id}/`, {
    name: 'By hand',
    timezone: 'Asia/Tokyo',
  });
  await home.ask('PATCH', `/api/projects/${project.id}/notice_targets/${target.id}/`, {
    url: 'https://hooks.example.com/another-path-of-a-channel',
  });
  assert.deepEqual((await find('project')).changes, [
    { field: 'name', action: 'changed', before: 'Web', after: 'By hand' },
  ]);
  assert.equal((await find('project')).by.user, home.user.email);
  assert.deepEqual((await find('notice_target')).changes, [
    { field: 'url', action: 'changed', before: '********', after: '********' },
  ]);
  await home.ask('DELETE', `/api/projects/${project.id}/batch_exports/${exported.id}/`);
  const gone = await find('batch_export');
  assert.deepEqual([gone.is_deleted, gone.by.user], [true, home.user.email]);
});

test('one object is given as YAML that says what stands, without its secrets', async () => {
  const { home, one, find } = await openApplied();
  const target = await find('notice_target');
  const { status, body, text } = await home.ask('GET', one('notice_target', target.id));
  assert.equal(status, 200, text);
  assert.deepEqual(parse(body.yaml), {
    projects: {
      web: {
        notice_targets: { ops: { type: 'slack', name: '#ops', url: { env: 'WEB_OPS_URL' } } },
      },
    },
  });
  assert.ok(!text.includes('pl4nted'));
  const exported = await find('batch_export');
  const { yaml } = (await home.ask('GET', one('batch_export', exported.id))).body;
  assert.match(yaml, /name: Daily \$\$\{env:NAME\}/, 'no reader takes it for a variable');
});

test('keys see only kinds that they may read, strangers nothing', async () => {
  const { home, base, find, one } = await openApplied();
  const exported = await find('batch_export');
  const limited = await harness.newMember(home.organization.id, 8, ['organization:read']);
  assert.deepEqual((await limited.ask('GET', base)).body, { objects: [] });
  const path = one('batch_export', exported.id);
  assert.equal((await limited.ask('GET', path)).status, 403);
  const stranger = await harness.newOrganization();
  assert.equal((await stranger.ask('GET', path)).status, 404);
  const own = path.replace(home.organization.id, stranger.organization.id);
  assert.equal((await stranger.ask('GET', own)).status, 404);
  for (const query of ['kind=batch_export', `id=${exported.id}`, `kind=x&id=${exported.id}`])
    assert.equal((await home.ask('GET', base.replace('objects/', `?${query}`))).status, 400);
});
