import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { refusalOf } from '../../../test/refusal.ts';
import { collectionUrl, packageFiles } from '../../../test/factories/plugins/plugins.ts';
import {
  ask,
  destination,
  harness,
  home,
  openAroundTests,
  registry,
} from '../../../test/factories/plugins/packages_around_tests.ts';

openAroundTests();

/** A package in the registry that is installed at version 1.0.0. */
async function installed(name: string, manifest: Record<string, unknown> = {}) {
  registry.publish(name, '1.0.0', packageFiles(destination, manifest));
  const created = await ask('POST', collectionUrl(home), { plugin_type: 'custom', url: name });
  assert.equal(created.status, 201, created.text);
  return { created: created.body, url: `${collectionUrl(home)}${created.body.id}/` };
}

test('an update is found, shown, made, and undone', async () => {
  const { created, url } = await installed('grows', {
    config: [{ key: 'old' }, { key: 'kept', name: 'Kept' }],
  });
  assert.deepEqual((await ask('GET', `${url}check_for_updates/`)).body, created);
  const later = packageFiles(
    destination,
    {
      name: 'Grown',
      config: [
        { key: 'kept', name: 'Kept longer' },
        { key: 'new', required: true },
      ],
    },
    {
      'index.ts': 'export function exportEvents() {}\nexport const jobs = { again() {} };',
      'lib/more.ts': 'export {}',
    },
  );
  registry.publish('grows', '2.0.0', later);
  const found = await ask('GET', `${url}check_for_updates/`);
  assert.deepEqual(found.body, { ...created, latest_tag: '2.0.0' });
  const dry = await ask('POST', `${url}upgrade/?validate_only=true`);
  const { line_changes, ...named } = dry.body.changes;
  assert.deepEqual(named, {
    from_tag: '1.0.0',
    to_tag: '2.0.0',
    files: {
      added: ['lib/more.ts'],
      removed: [],
      changed: ['index.ts', 'package.json', 'plugin.json'],
    },
    config_fields: { added: ['new'], removed: ['old'], changed: ['kept'] },
    capabilities: { added: ['jobs.again', 'methods.exportEvents'], removed: ['methods.onEvent'] },
    incomplete_configs: 0,
  });
  assert.deepEqual(
    line_changes
      .find(({ file }: any) => file === 'lib/more.ts')
      .diff.split('\n')
      .slice(0, 2),
    ['@@ -0,0 +1,1 @@', '+export {}'],
  );
  assert.deepEqual((await ask('GET', url)).body, found.body);
  const { changes, ...upgraded } = (await ask('POST', `${url}upgrade/`)).body;
  assert.deepEqual(changes, dry.body.changes);
  assert.deepEqual(
    [upgraded.tag, upgraded.latest_tag, upgraded.name, upgraded.plugin_type],
    ['2.0.0', '2.0.0', 'Grown', 'custom'],
  );
  assert.deepEqual(upgraded.capabilities, {
    methods: ['exportEvents'],
    jobs: ['again'],
    scheduled_tasks: [],
  });
  const again = await ask('POST', `${url}upgrade/`);
  assert.deepEqual([again.status, again.body.changes.files.changed], [200, []]);
  const { changes: back, ...rolled } = (await ask('POST', `${url}rollback/`)).body;
  assert.deepEqual([back.from_tag, back.to_tag], ['2.0.0', '1.0.0']);
  assert.deepEqual(rolled, { ...created, latest_tag: '2.0.0' });
  const wanted = await ask('POST', `${url}upgrade/`, { tag: '1.0.0' });
  assert.deepEqual([wanted.body.tag, wanted.body.changes.to_tag], ['1.0.0', '1.0.0']);
});

test('an upgrade to the same version mends code that was changed in the database', async () => {
  const { created, url } = await installed('mended');
  await harness.deps.db.run(
    sql`UPDATE plugin_versions SET code = '{}'::json WHERE plugin_id = ${created.id}`,
  );
  assert.equal((await ask('GET', `${url}source/`)).status, 409);
  assert.equal((await ask('POST', `${url}upgrade/`)).status, 200);
  assert.equal((await ask('GET', `${url}source/`)).status, 200);
});

test('an upgrade changes the other fields of its body after the version', async () => {
  const { url } = await installed('takes');
  registry.publish('takes', '2.0.0', packageFiles(destination, { name: 'Of the package' }));
  const body = { name: 'Ours', description: 'Of the body', config_schema: [{ key: 'new' }] };
  const dry = await ask('POST', `${url}upgrade/?validate_only=true`, body);
  assert.equal((await ask('GET', url)).body.tag, '1.0.0');
  const upgraded = await ask('POST', `${url}upgrade/`, { ...body, metrics: { sent: 'sum' } });
  assert.equal(upgraded.status, 200, upgraded.text);
  const { name, description, tag, config_schema, metrics, changes } = upgraded.body;
  assert.deepEqual(
    { name, description, config_schema, tag, metrics },
    { ...body, tag: '2.0.0', metrics: { sent: 'sum' } },
  );
  assert.deepEqual(changes, dry.body.changes);
  assert.deepEqual(changes.config_fields.added, ['new']);
  // A version that is there already, with a field beside it; then nothing at all.
  const again = await ask('POST', `${url}upgrade/`, { tag: '2.0.0', name: 'Again' });
  assert.deepEqual([again.body.name, again.body.changes.files.changed], ['Again', []]);
  const entries = async () =>
    (await ask('GET', `${collectionUrl(home)}activity/`)).body.results.filter(({ item_id }: any) =>
      url.endsWith(`/${item_id}/`),
    );
  const known = await entries();
  assert.deepEqual(
    known.slice(0, 2).map(({ activity }: any) => activity),
    ['updated', 'upgraded'],
  );
  await ask('POST', `${url}upgrade/`, { name: 'Again' });
  assert.equal((await entries()).length, known.length);
});

test('an upgrade with a faulty body leaves the version unchanged', async () => {
  const { url } = await installed('stays');
  registry.publish('stays', '2.0.0', packageFiles(destination));
  const refused = await ask('POST', `${url}upgrade/`, { plugin_type: 'inline', name: 'Ours' });
  assert.deepEqual(refusalOf(refused), [400, 'plugin_type', 'invalid_input']);
  const { tag, name } = (await ask('GET', url)).body;
  assert.deepEqual([tag, name === 'Ours'], ['1.0.0', false]);
});

test('a faulty upgrade leaves the old version unchanged', async () => {
  const { url } = await installed('falls');
  const before = [(await ask('GET', url)).body, (await ask('GET', `${url}source/`)).body];
  const publish = (version: string, files: Record<string, string>, options = {}) =>
    registry.publish('falls', version, files, options);
  const faults: [string, () => void][] = [
    [
      'syntax',
      () => publish('2.0.0', packageFiles(destination, {}, { 'index.ts': 'export function (' })),
    ],
    [
      'no service',
      () => publish('3.0.0', packageFiles(destination, {}, { 'index.ts': 'export const x = 1;' })),
    ],
    ['no manifest', () => publish('4.0.0', { 'index.js': 'exports.onEvent = 1' })],
    [
      'wrong integrity',
      () =>
        publish('5.0.0', packageFiles(destination), {
          integrity: `sha512-${Buffer.alloc(64).toString('base64')}`,
        }),
    ],
    [
      'no archive',
      () => publish('6.0.0', packageFiles(destination), { archive: Buffer.from('no archive') }),
    ],
  ];
  for (const [name, create] of faults) {
    create();
    const answer = await ask('POST', `${url}upgrade/`);
    assert.deepEqual(refusalOf(answer), [400, 'url', 'invalid_input'], `${name}: ${answer.text}`);
    assert.deepEqual(
      [(await ask('GET', url)).body, (await ask('GET', `${url}source/`)).body],
      before,
      name,
    );
  }
  assert.deepEqual(refusalOf(await ask('POST', `${url}upgrade/`, { tag: '9.9.9' })), [
    400,
    'url',
    'invalid_input',
  ]);
});

test('an origin that does not answer is 400 `unavailable`, on every way to it', async () => {
  const { url } = await installed('sleeps');
  const port = 4;
  const silent = `http://127.0.0.1:${port}`;
  const { config } = harness.deps;
  const kept = config.npm_registry_url;
  config.npm_registry_url = silent;
  try {
    assert.deepEqual(refusalOf(await ask('POST', collectionUrl(home), { url: 'other' })), [
      400,
      'url',
      'unavailable',
    ]);
    assert.deepEqual(refusalOf(await ask('GET', `${url}check_for_updates/`)), [
      400,
      'url',
      'unavailable',
    ]);
    assert.deepEqual(refusalOf(await ask('POST', `${url}upgrade/`)), [400, 'url', 'unavailable']);
  } finally {
    config.npm_registry_url = kept;
  }
});

test('a change that races with an upgrade stops it', async () => {
  const { url } = await installed('raced');
  registry.publish('raced', '2.0.0', packageFiles(destination, { name: 'Two' }));
  const edit = () => ask('PATCH', `${url}update_source/`, { 'extra.ts': 'export {}' });
  const statuses = (
    await Promise.all([ask('POST', `${url}upgrade/`), edit(), ask('POST', `${url}upgrade/`)])
  ).map(({ status }) => status);
  assert.ok(statuses.every((status) => status === 200 || status === 409));
  assert.ok(statuses.includes(200));
  assert.equal((await ask('GET', `${url}source/`)).status, 200);
});

test('an upgrade that asks for more than projects have set disables nothing, says so', async () => {
  const { created, url } = await installed('asks', {
    config: [
      { key: 'a', type: 'string' },
      { key: 'gone', type: 'string' },
    ],
  });
  const configs = `/api/projects/${home.project.id}/plugin_configs/`;
  const config = await ask('POST', configs, {
    plugin: created.id,
    enabled: true,
    config: { a: 'value of a', gone: 'x' },
  });
  registry.publish(
    'asks',
    '2.0.0',
    packageFiles(destination, {
      config: [
        { key: 'a', type: 'string', secret: true },
        { key: 'b', name: 'B', required: true },
      ],
    }),
  );
  const upgraded = await ask('POST', `${url}upgrade/`);
  assert.equal(upgraded.body.changes.incomplete_configs, 1);
  const after_upgrade = (await ask('GET', `${configs}${config.body.id}/`)).body;
  assert.deepEqual(
    [after_upgrade.enabled, after_upgrade.secret_keys, after_upgrade.config],
    [true, ['a'], { gone: 'x' }],
  );
  assert.match(after_upgrade.error.message, /B is required/);
  const rows = await harness.deps.db.rows(
    sql`SELECT c.config::text FROM plugin_configs c WHERE c.id = ${config.body.id}`,
  );
  assert.doesNotMatch(JSON.stringify(rows), /value of a/);
  const fixed = await ask('PATCH', `${configs}${config.body.id}/`, { config: { b: 'set' } });
  assert.deepEqual(
    [fixed.body.error, fixed.body.config, fixed.body.secret_keys],
    [null, { b: 'set' }, ['a']],
  );
});
