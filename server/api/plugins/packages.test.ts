import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import sql from 'sql-template-tag';
import { openHarness } from '../../../test/harness.ts';
import type { Answer, Harness, TestOrganization } from '../../../test/harness.ts';
import { openPluginForge } from '../../../test/servers/plugin_forge.ts';
import type { PluginForge } from '../../../test/servers/plugin_forge.ts';
import { openPluginRegistry } from '../../../test/servers/plugin_registry.ts';
import type { PluginRegistry } from '../../../test/servers/plugin_registry.ts';
import {
  collectionUrl,
  collection_names,
  packageFiles,
  served,
} from '../../../test/factories/plugins.ts';

let harness: Harness;
let home: TestOrganization;
let registry: PluginRegistry;
let forge: PluginForge;
let folder: string;
before(async () => {
  registry = await openPluginRegistry();
  forge = await openPluginForge();
  folder = await mkdtemp(join(tmpdir(), 'plugins-'));
  const plugin_catalogue = join(folder, 'catalogue.json');
  const entry = {
    name: 'Listed',
    description: 'A package of the registry.',
    url: 'listed',
    collection: 'pipeline_destinations',
    maintainer: 'official',
  };
  await writeFile(plugin_catalogue, JSON.stringify([entry]));
  harness = await openHarness({
    clickhouse: false,
    config: {
      npm_registry_url: registry.endpoint,
      ...forge.settings,
      plugin_dir: folder,
      plugin_catalogue,
    },
  });
  home = await harness.newOrganization();
});
after(async () => {
  await harness.close();
  await Promise.all([registry.close(), forge.close(), rm(folder, { recursive: true })]);
});

const ask = (method: string, path: string, body?: unknown, key = home.key): Promise<Answer> =>
  harness.request(method, path, { key, ...(body === undefined ? {} : { body }) });
const faultOf = ({ status, body }: Answer) => [status, body.attr, body.code];
const destination = 'pipeline_destinations';

/** A package in the registry that is installed at version 1.0.0. */
async function installed(name: string, manifest: Record<string, unknown> = {}) {
  registry.publish(name, '1.0.0', packageFiles(destination, manifest));
  const made = await ask('POST', collectionUrl(home), { plugin_type: 'custom', url: name });
  assert.equal(made.status, 201, made.text);
  return { made: made.body, url: `${collectionUrl(home)}${made.body.id}/` };
}

test('an npm package serves each collection, and what it says is in the answer at once', async () => {
  for (const name of collection_names) {
    const { methods, scheduled_tasks } = served[name];
    const config = [{ key: 'token', secret: true, type: 'string', required: true }];
    registry.publish(
      `for-${name.replaceAll('_', '-')}`,
      '1.2.3',
      packageFiles(name, { config, icon: 'i.png', publicJobs: { go: {} } }),
    );
    const { status, body } = await ask('POST', collectionUrl(home, name), {
      plugin_type: 'custom',
      url: `https://www.npmjs.com/package/for-${name.replaceAll('_', '-')}?private_token=sesame-open-sesame`,
      name: 'Not this',
    });
    assert.equal(status, 201, JSON.stringify(body));
    assert.deepEqual(
      [
        body.plugin_type,
        body.name,
        body.description,
        body.icon,
        body.tag,
        body.latest_tag,
        body.url,
      ],
      [
        'custom',
        'Made for tests',
        'Does little.',
        'i.png',
        '1.2.3',
        '1.2.3',
        `https://www.npmjs.com/package/for-${name.replaceAll('_', '-')}`,
      ],
    );
    assert.deepEqual(
      [body.config_schema, body.public_jobs, body.capabilities],
      [config, { go: {} }, { methods, jobs: [], scheduled_tasks }],
    );
  }
  const dump = await harness.deps.db.text("SELECT string_agg(p::text, ' ') AS rows FROM plugins p");
  assert.doesNotMatch(JSON.stringify(dump.rows), /sesame/);
  assert.ok(registry.authorizations.includes('Bearer sesame-open-sesame'));
});

test(
  'a package that cannot serve the collection, cannot be had or is broken is 400 on the field, ' +
    'and leaves nothing',
  async () => {
    registry.publish('imports', '1.0.0', packageFiles('pipeline_import_apps'));
    registry.publish('site', '1.0.0', packageFiles('pipeline_frontend_apps'));
    registry.publish(
      'broken',
      '1.0.0',
      packageFiles(destination, {}, { 'index.ts': 'export function onEvent() {\n  return (;\n}' }),
    );
    registry.publish('no-manifest', '1.0.0', { 'index.js': 'exports.onEvent = () => 1' });
    registry.publish('forged', '1.0.0', packageFiles(destination), {
      integrity: `sha512-${Buffer.alloc(64).toString('base64')}`,
    });
    registry.publish(
      'throws',
      '1.0.0',
      packageFiles(destination, {}, { 'index.ts': 'throw new Error("never");' }),
    );
    const count = (await ask('GET', collectionUrl(home))).body.count;
    const cases: [string, string, RegExp][] = [
      ['imports', 'invalid_input', /onEvent, exportEvents or composeWebhook/],
      ['site', 'invalid_input', /no code/],
      ['broken', 'invalid_input', /index\.ts/],
      ['no-manifest', 'invalid_input', /plugin\.json/],
      ['forged', 'invalid_input', /./],
      ['throws', 'invalid_input', /never/],
      ['not-there', 'invalid_input', /./],
      [`${forge.settings.github_url}/acme/nothing`, 'invalid_input', /./],
    ];
    for (const [url, code, detail] of cases) {
      const answer = await ask('POST', collectionUrl(home), { plugin_type: 'custom', url });
      assert.deepEqual(faultOf(answer), [400, 'url', code], `${url}: ${answer.text}`);
      assert.match(answer.body.detail, detail);
    }
    const broken = await ask('POST', collectionUrl(home), { plugin_type: 'custom', url: 'broken' });
    assert.deepEqual([broken.body.errors[0].file, broken.body.errors[0].line], ['index.ts', 2]);
    assert.equal((await ask('GET', collectionUrl(home))).body.count, count);
  },
);

test(
  'the address is unique within the organization, also in a race; another organization may have ' +
    'it',
  async () => {
    registry.publish('wanted', '1.0.0', packageFiles(destination));
    const body = { plugin_type: 'custom', url: 'wanted' };
    const answers = await Promise.all([1, 2, 3].map(() => ask('POST', collectionUrl(home), body)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 400, 400]);
    assert.deepEqual(faultOf(answers.find(({ status }) => status === 400)!), [
      400,
      'url',
      'unique',
    ]);
    const other = await harness.newOrganization();
    assert.equal((await ask('POST', collectionUrl(other), body, other.key)).status, 201);
  },
);

test('a dry run fetches and checks, and makes nothing', async () => {
  registry.publish('dry', '1.0.0', packageFiles(destination));
  const path = `${collectionUrl(home)}?validate_only=true`;
  const dry = await ask('POST', path, { url: 'dry' });
  assert.deepEqual([dry.status, dry.body.plugin_type, dry.body.tag], [200, 'custom', '1.0.0']);
  assert.equal((await ask('GET', `${collectionUrl(home)}${dry.body.id}/`)).status, 404);
  assert.equal((await ask('POST', path, { url: 'not-there' })).status, 400);
});

test('an update is found, shown before it is made, made, and taken back', async () => {
  const { made, url } = await installed('grows', {
    config: [{ key: 'old' }, { key: 'kept', name: 'Kept' }],
  });
  assert.deepEqual((await ask('GET', `${url}check_for_updates/`)).body, made);
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
  assert.deepEqual(found.body, { ...made, latest_tag: '2.0.0' });
  const dry = await ask('POST', `${url}upgrade/?validate_only=true`);
  assert.deepEqual(dry.body.changes, {
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
  assert.deepEqual(rolled, { ...made, latest_tag: '2.0.0' });
  const wanted = await ask('POST', `${url}upgrade/`, { tag: '1.0.0' });
  assert.deepEqual([wanted.body.tag, wanted.body.changes.to_tag], ['1.0.0', '1.0.0']);
});

test('an upgrade to the same version mends code that was changed in the database', async () => {
  const { made, url } = await installed('mended');
  await harness.deps.db.run(
    sql`UPDATE plugin_versions SET code = '{}'::json WHERE plugin_id = ${made.id}`,
  );
  assert.equal((await ask('GET', `${url}source/`)).status, 409);
  assert.equal((await ask('POST', `${url}upgrade/`)).status, 200);
  assert.equal((await ask('GET', `${url}source/`)).status, 200);
});

test('a faulty upgrade leaves the old version as it is', async () => {
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
  for (const [name, make] of faults) {
    make();
    const answer = await ask('POST', `${url}upgrade/`);
    assert.deepEqual(faultOf(answer), [400, 'url', 'invalid_input'], `${name}: ${answer.text}`);
    assert.deepEqual(
      [(await ask('GET', url)).body, (await ask('GET', `${url}source/`)).body],
      before,
      name,
    );
  }
  assert.deepEqual(faultOf(await ask('POST', `${url}upgrade/`, { tag: '9.9.9' })), [
    400,
    'url',
    'invalid_input',
  ]);
});

test('an origin that does not answer is 400 `unavailable`, on every way to it', async () => {
  const { url } = await installed('sleeps');
  const port = 9;
  const silent = `http://127.0.0.1:${port}`;
  const { config } = harness.deps;
  const kept = config.npm_registry_url;
  config.npm_registry_url = silent;
  try {
    assert.deepEqual(faultOf(await ask('POST', collectionUrl(home), { url: 'other' })), [
      400,
      'url',
      'unavailable',
    ]);
    assert.deepEqual(faultOf(await ask('GET', `${url}check_for_updates/`)), [
      400,
      'url',
      'unavailable',
    ]);
    assert.deepEqual(faultOf(await ask('POST', `${url}upgrade/`)), [400, 'url', 'unavailable']);
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

test('a repository of GitHub and GitLab, with a token that never comes back', async () => {
  const token = 'forge-token-1234567890';
  for (const [index, base] of [forge.settings.github_url, forge.settings.gitlab_url].entries()) {
    const name = `acme/plugin${index}`;
    const commit = forge.push(name, packageFiles(destination, {}, { 'README.md': 'one' }));
    forge.protect(name, token);
    assert.deepEqual(faultOf(await ask('POST', collectionUrl(home), { url: `${base}/${name}` })), [
      400,
      'url',
      'invalid_input',
    ]);
    const made = await ask('POST', collectionUrl(home), {
      url: `${base}/${name}?private_token=${token}`,
    });
    assert.deepEqual(
      [made.status, made.body.url, made.body.tag],
      [201, `${base}/${name}`, commit],
      made.text,
    );
    const url = `${collectionUrl(home)}${made.body.id}/`;
    const next = forge.push(
      name,
      packageFiles(destination, { name: 'Next' }, { 'README.md': 'two' }),
    );
    assert.equal((await ask('GET', `${url}check_for_updates/`)).body.latest_tag, next);
    assert.deepEqual((await ask('POST', `${url}upgrade/`)).body.changes.files.changed, [
      'README.md',
      'plugin.json',
    ]);
  }
  const dump = await harness.deps.db.text(
    "SELECT (SELECT string_agg(p::text, ' ') FROM plugins p) || (SELECT string_agg(a::text, ' " +
      "') FROM activity a) AS rows",
  );
  assert.ok(!JSON.stringify(dump.rows).includes(token));
});

test('a folder of the plugin directory, and what changes there', async () => {
  await mkdir(join(folder, 'mine'));
  const put = async (files: Record<string, string>) => {
    for (const [name, text] of Object.entries(files))
      await writeFile(join(folder, 'mine', name), text);
  };
  await put(packageFiles('pipeline_import_apps'));
  const base = collectionUrl(home, 'pipeline_import_apps');
  const made = await ask('POST', base, { plugin_type: 'local', name: 'mine' });
  assert.deepEqual(
    [made.status, made.body.name, made.body.capabilities.scheduled_tasks],
    [201, 'Made for tests', ['runEveryHour']],
    made.text,
  );
  assert.deepEqual(faultOf(await ask('POST', base, { plugin_type: 'local', name: 'mine' })), [
    400,
    'name',
    'unique',
  ]);
  const url = `${base}${made.body.id}/`;
  await put(packageFiles('pipeline_import_apps', { name: 'Changed' }));
  assert.notEqual((await ask('GET', `${url}check_for_updates/`)).body.latest_tag, made.body.tag);
  assert.equal((await ask('POST', `${url}upgrade/`)).body.name, 'Changed');
});

test('an entry of the catalogue is installed by its name, in its collection only', async () => {
  registry.publish('listed', '1.0.0', packageFiles(destination));
  assert.deepEqual(
    (await ask('GET', `${collectionUrl(home)}repository/`)).body.results.map(
      ({ name }: { name: string }) => name,
    ),
    ['Listed'],
  );
  const made = await ask('POST', collectionUrl(home), {
    plugin_type: 'repository',
    name: 'Listed',
  });
  assert.deepEqual(
    [made.status, made.body.plugin_type, made.body.url],
    [201, 'repository', 'listed'],
    made.text,
  );
  const elsewhere = await ask('POST', collectionUrl(home, 'pipeline_import_apps'), {
    plugin_type: 'repository',
    name: 'Listed',
  });
  assert.deepEqual(faultOf(elsewhere), [400, 'name', 'invalid_choice']);
});

test('an upgrade that asks for more than a project has set disables nothing and says so', async () => {
  const { made, url } = await installed('asks', {
    config: [
      { key: 'a', type: 'string' },
      { key: 'gone', type: 'string' },
    ],
  });
  const configs = `/api/projects/${home.project.id}/plugin_configs/`;
  const config = await ask('POST', configs, {
    plugin: made.id,
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
