import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { refusalOf } from '../../../test/refusal.ts';
import {
  collectionUrl,
  collection_names,
  packageFiles,
  served,
} from '../../../test/factories/plugins/plugins.ts';
import {
  ask,
  destination,
  folder,
  forge,
  harness,
  home,
  openAroundTests,
  registry,
} from '../../../test/factories/plugins/packages_around_tests.ts';

openAroundTests();

test('an npm package serves each collection; what it says is in the answer at once', async () => {
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
      url:
        `https://www.npmjs.com/package/for-${name.replaceAll('_', '-')}` +
        '?private_token=sesame-open-sesame',
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

test('a package that is unfit, missing or broken is 400, and leaves nothing', async () => {
  registry.publish('imports', '1.0.0', packageFiles('pipeline_import_apps'));
  const change = { 'index.ts': 'export const processEvent = (event) => event;' };
  registry.publish('changes', '1.0.0', packageFiles(destination, {}, change));
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
    ['changes', 'invalid_input', /only these destinations get the results of processEvent/],
    ['site', 'invalid_input', /no code/],
    ['broken', 'invalid_input', /index\.ts/],
    ['no-manifest', 'invalid_input', /plugin\.json/],
    ['forged', 'invalid_input', /./],
    ['throws', 'invalid_input', /never/],
    ['not-there', 'invalid_input', /./],
    [`${forge.settings.github_url}/acme/nothing`, 'invalid_input', /./],
  ];
  const places = new Map<string, unknown[]>();
  for (const [url, code, detail] of cases) {
    const answer = await ask('POST', collectionUrl(home), { plugin_type: 'custom', url });
    const [fault] = answer.body.errors;
    places.set(url, [fault.file, fault.line]);
    assert.deepEqual(refusalOf(answer), [400, 'url', code], `${url}: ${answer.text}`);
    assert.match(answer.body.detail, detail);
  }
  assert.deepEqual(places.get('broken'), ['index.ts', 2]);
  assert.equal((await ask('GET', collectionUrl(home))).body.count, count);
});

test('the address is unique within the organization, also in a race', async () => {
  registry.publish('wanted', '1.0.0', packageFiles(destination));
  const body = { plugin_type: 'custom', url: 'wanted' };
  const answers = await Promise.all([1, 2].map(() => ask('POST', collectionUrl(home), body)));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 400]);
  assert.deepEqual(refusalOf(answers.find(({ status }) => status === 400)!), [
    400,
    'url',
    'unique',
  ]);
  const other = await harness.newOrganization();
  assert.equal((await ask('POST', collectionUrl(other), body, other.key)).status, 201);
});

test('a dry run fetches and checks, and creates nothing', async () => {
  registry.publish('dry', '1.0.0', packageFiles(destination));
  const path = `${collectionUrl(home)}?validate_only=true`;
  const dry = await ask('POST', path, { url: 'dry' });
  assert.deepEqual([dry.status, dry.body.plugin_type, dry.body.tag], [200, 'custom', '1.0.0']);
  assert.equal((await ask('GET', `${collectionUrl(home)}${dry.body.id}/`)).status, 404);
  assert.equal((await ask('POST', path, { url: 'not-there' })).status, 400);
});

test('a repository of GitHub and GitLab, with a token that never comes back', async () => {
  const token = 'forge-token-1234567890';
  for (const [index, base] of [forge.settings.github_url, forge.settings.gitlab_url].entries()) {
    const name = `acme/plugin${index}`;
    const commit = forge.push(name, packageFiles(destination, {}, { 'README.md': 'one' }));
    forge.protect(name, token);
    assert.deepEqual(
      refusalOf(await ask('POST', collectionUrl(home), { url: `${base}/${name}` })),
      [400, 'url', 'invalid_input'],
    );
    const created = await ask('POST', collectionUrl(home), {
      url: `${base}/${name}?private_token=${token}`,
    });
    assert.deepEqual(
      [created.status, created.body.url, created.body.tag],
      [201, `${base}/${name}`, commit],
      created.text,
    );
    const url = `${collectionUrl(home)}${created.body.id}/`;
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
  const created = await ask('POST', base, { plugin_type: 'local', name: 'mine' });
  assert.deepEqual(
    [created.status, created.body.name, created.body.capabilities.scheduled_tasks],
    [201, 'Made for tests', ['runEveryHour']],
    created.text,
  );
  assert.deepEqual(refusalOf(await ask('POST', base, { plugin_type: 'local', name: 'mine' })), [
    400,
    'name',
    'unique',
  ]);
  const url = `${base}${created.body.id}/`;
  await put(packageFiles('pipeline_import_apps', { name: 'Changed' }));
  assert.notEqual((await ask('GET', `${url}check_for_updates/`)).body.latest_tag, created.body.tag);
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
  const created = await ask('POST', collectionUrl(home), {
    plugin_type: 'repository',
    name: 'Listed',
  });
  assert.deepEqual(
    [created.status, created.body.plugin_type, created.body.url],
    [201, 'repository', 'listed'],
    created.text,
  );
  const elsewhere = await ask('POST', collectionUrl(home, 'pipeline_import_apps'), {
    plugin_type: 'repository',
    name: 'Listed',
  });
  assert.deepEqual(refusalOf(elsewhere), [400, 'name', 'invalid_choice']);
});
