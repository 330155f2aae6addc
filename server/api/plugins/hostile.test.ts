import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusalOf } from '../../../test/refusal.ts';
import type { Answer } from '../../../test/harness.ts';
import {
  collectionUrl,
  packageFiles,
  setPluginsLevel,
  writtenPlugin,
} from '../../../test/factories/plugins/plugins.ts';
import { shareHome } from '../../../test/shared_home.ts';

const { harness, home } = shareHome();

const ask = (method: string, path: string, body?: unknown, key = home.key): Promise<Answer> =>
  harness.request(method, path, { key, body });
const destination = 'pipeline_destinations';
const manifest = (text: string) => ({ 'plugin.json': text });
const code = (text: string) => packageFiles(destination, {}, { 'index.ts': text });

test('a package with text that no store keeps, or that is too long, is refused', async () => {
  const deep = `${'['.repeat(400_000)}${']'.repeat(400_000)}`;
  const cases: [string, Record<string, string>, RegExp][] = [
    ['NUL in the name', manifest(String.raw`{"name": "a\u0000b"}`), /name .*U\+0000/],
    [
      'half a character in a hint',
      manifest(String.raw`{"name": "a", "config": [{"key": "a", "hint": "\ud800"}]}`),
      /config .*half a character/,
    ],
    [
      'NUL in the name of a field',
      manifest(String.raw`{"name": "a", "config": {"a\u0000": {}}}`),
      /config .*U\+0000/,
    ],
    [
      'NUL in the version of package.json',
      { ...packageFiles(destination), 'package.json': String.raw`{"version": "1\u0000"}` },
      /^$/,
    ],
    [
      'deep default',
      manifest(`{"name": "a", "config": [{"key": "a", "default": ${deep}}]}`),
      /config .*deeper than 64/,
    ],
    ['deep name', manifest(`{"name": ${deep}}`), /name .*deeper than 64/],
    ['deep job', manifest(`{"name": "a", "publicJobs": ${deep}}`), /publicJobs .*deeper than 64/],
    [
      'long config',
      manifest(JSON.stringify({ name: 'a', config: [{ key: 'a', hint: 'x'.repeat(70_000) }] })),
      /config .*65536 characters/,
    ],
    [
      'long description',
      manifest(JSON.stringify({ name: 'a', description: 'x'.repeat(65_537) })),
      /description .*65536/,
    ],
    [
      'NUL in the name of a job',
      code(String.raw`export const onEvent = () => 1; export const jobs = { 'a\0': () => 1 };`),
      /jobs .*U\+0000/,
    ],
    [
      'half a character in a metric',
      code(String.raw`export const onEvent = () => 1; export const metrics = { '\ud800': 'sum' };`),
      /metrics .*half a character/,
    ],
    [
      'long public job',
      code(
        'export const onEvent = () => 1; export const jobs = { a: () => 1 }; export const ' +
          `publicJobs = { a: 'x'.repeat(1e6) };`,
      ),
      /publicJobs .*65536 characters/,
    ],
    [
      'deep public job',
      code(
        'let d = []; for (let i = 0; i < 3000; i += 1) d = [d]; export const onEvent = () => ' +
          '1; export const jobs = { a: () => 1 }; export const publicJobs = { a: d };',
      ),
      /publicJobs .*deeper than 64/,
    ],
  ];
  const { url } = await writtenPlugin(harness, home);
  for (const [what, source, wanted] of cases) {
    const answer = await ask('PUT', `${url}update_source/`, { source });
    if (wanted.source === '^$') {
      assert.equal(answer.status, 200, what);
      continue;
    }
    assert.deepEqual(
      [answer.status, answer.body.attr],
      [400, 'source'],
      `${what}: ${answer.text.slice(0, 300)}`,
    );
    assert.match(answer.body.detail, wanted, what);
  }
  for (const attr of ['config_schema', 'capabilities', 'metrics', 'public_jobs'])
    for (const [method, path] of [
      ['POST', collectionUrl(home)] as const,
      ['PATCH', url] as const,
    ]) {
      const answer = await ask(method, path, { [attr]: ['x'.repeat(70_000)] });
      assert.deepEqual(refusalOf(answer), [400, attr, 'max_length'], `${method} ${attr}`);
    }
});

test('settings: large JSON is checked, and what is too large refused', async () => {
  const fields = [
    { key: 'rules', type: 'json' },
    { key: 'text', type: 'string' },
  ];
  const { id } = await writtenPlugin(
    harness,
    home,
    destination,
    packageFiles(destination, { config: fields }),
  );
  const base = `/api/projects/${home.project.id}/plugin_configs/`;
  const rules = JSON.stringify('\n'.repeat(300_000));
  assert.equal((await ask('POST', base, { plugin: id, config: { rules } })).status, 201);
  const broken = await ask('POST', base, { plugin: id, config: { rules: rules.slice(0, -1) } });
  assert.deepEqual([broken.status, broken.body.attr], [400, 'config__rules']);
  const large = await ask('POST', base, {
    plugin: id,
    config: { rules: JSON.stringify('\n'.repeat(5_000_000)) },
  });
  assert.deepEqual([large.status, large.body.code], [413, 'request_too_large']);
});

test('an organization whose plugins others use cannot be deleted from under them', async () => {
  const [owner, user] = [await harness.newOrganization(), await harness.newOrganization()];
  await setPluginsLevel(harness, owner, 9);
  const { id, url } = await writtenPlugin(harness, owner);
  assert.equal((await ask('PATCH', url, { is_global: true }, owner.key)).status, 200);
  const base = `/api/projects/${user.project.id}/plugin_configs/`;
  const created = await ask('POST', base, { plugin: id }, user.key);
  assert.equal(created.status, 201);
  const refused = await ask(
    'DELETE',
    `/api/organizations/${owner.organization.id}/`,
    undefined,
    owner.key,
  );
  assert.deepEqual([refused.status, refused.body.code], [409, 'conflict'], refused.text);
  assert.equal((await ask('GET', `${base}${created.body.id}/`, undefined, user.key)).status, 200);
  assert.equal(
    (await ask('DELETE', `${base}${created.body.id}/`, undefined, user.key)).status,
    204,
  );
  assert.equal(
    (await ask('DELETE', `/api/organizations/${owner.organization.id}/`, undefined, owner.key))
      .status,
    204,
  );
});
