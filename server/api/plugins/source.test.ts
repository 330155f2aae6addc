import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { loadVersion } from '../../engine/plugins/versions.ts';
import { is_deep } from '../../../test/depth.ts';
import type { Answer } from '../../../test/harness.ts';
import {
  collectionUrl,
  collection_names,
  packageFiles,
  preparedHere,
  served,
  writtenPlugin,
} from '../../../test/factories/plugins/plugins.ts';
import { shareHome } from '../../../test/shared_home.ts';

const { harness, home } = shareHome();

const ask = (method: string, path: string, body?: unknown, key = home.key): Promise<Answer> =>
  harness.request(method, path, { key, body });

test('source is sent, shown, changed file by file, and compiled each time', async () => {
  for (const name of collection_names) {
    const { file, code, methods, scheduled_tasks } = served[name];
    const base = collectionUrl(home, name);
    const url = `${base}${(await ask('POST', base, {})).body.id}/`;
    assert.deepEqual((await ask('GET', `${url}source/`)).body.source, {});
    const manifest = JSON.stringify({
      name: 'From plugin.json',
      config: { b: { order: 2 }, a: { order: 1, secret: true } },
      publicJobs: { go: {} },
    });
    const first = await ask('PATCH', `${url}update_source/`, {
      'plugin.json': manifest,
      description: 'Sent beside',
    });
    assert.deepEqual(
      [first.status, first.body.name, first.body.description],
      [200, 'From plugin.json', null],
    );
    assert.deepEqual(first.body.config_schema, { b: { order: 2 }, a: { order: 1, secret: true } });
    const second = await ask('PATCH', `${url}update_source/`, { source: { [file]: code } });
    assert.deepEqual(second.body.capabilities, { methods, jobs: [], scheduled_tasks });
    assert.deepEqual(second.body.public_jobs, { go: {} });
    assert.deepEqual(second.body.source, { 'plugin.json': manifest, [file]: code });
    assert.deepEqual((await ask('GET', `${url}source/`)).body, second.body);
    // Collections differ in how they are served, but not in how source is changed.
    if (name !== collection_names[0]) continue;
    const third = await ask('PATCH', `${url}update_source/`, { source: { 'plugin.json': null } });
    assert.deepEqual([third.body.source, third.body.name], [{ [file]: code }, 'From plugin.json']);
    const more =
      "export const jobs = { go() {} }, publicJobs = { go: {} }, metrics = { n: 'SUM' };";
    const source = { [file]: `${code}\n${more}` };
    const put = await ask('PUT', `${url}update_source/`, { source });
    assert.deepEqual(put.body.source, source);
    // The stored version equals the one that other tests prepare in their process.
    const { db, secrets } = harness.deps;
    const { id: _id, plugin_id: _plugin, ...stored } = await loadVersion(db, secrets, put.body.id);
    assert.deepEqual(await preparedHere(source), stored);
    assert.deepEqual([stored.metrics, stored.public_jobs], [{ n: 'sum' }, { go: {} }]);
  }
});

test('code that is wrong is 400 with file, line and column, and the old code stays', async () => {
  const { url } = await writtenPlugin(harness, home);
  const before = await ask('GET', `${url}source/`);
  const cases: (readonly [Record<string, unknown>, RegExp, number | undefined])[] = [
    [{ 'index.ts': 'export function onEvent() {\n  const a = ;\n}' }, /index\.ts/, 2],
    [{ 'index.ts': 'export function onEvent() {}\nthrow new Error("at load");' }, /at load/, 2],
    [{ 'plugin.json': '{"name": "x",\n  broken}' }, /plugin\.json/, 2],
    [{ 'plugin.json': '{"config": 7}' }, /config/, undefined],
    [{ 'index.ts': "import x from './missing';\nexport const onEvent = x;" }, /missing/, undefined],
    // Until it is ended it takes a second of the processor.
    ...(is_deep ? ([[{ 'index.ts': 'for (;;) {}' }, /./, undefined]] as const) : []),
    [{ '../out.ts': 'x' }, /\.\./, undefined],
    [{ 'index.ts': null, 'README.md': 'x' }, /no code/, undefined],
  ];
  for (const [source, detail, line] of cases) {
    const answer = await ask('PATCH', `${url}update_source/`, { source });
    const [fault] = answer.body.errors ?? [];
    assert.deepEqual(
      [answer.status, fault?.attr, fault?.code],
      [400, 'source', 'invalid_input'],
      `${JSON.stringify(source)}: ${answer.text}`,
    );
    assert.match(fault.detail, detail);
    if (line !== undefined)
      assert.deepEqual(
        [fault.line, typeof fault.column, typeof fault.file],
        [line, 'number', 'string'],
        answer.text,
      );
  }
  for (const source of [5, [], { 'index.ts': 5 }, null])
    assert.equal(
      (await ask('PATCH', `${url}update_source/`, { source })).status,
      400,
      JSON.stringify(source),
    );
  assert.equal(
    (await ask('PATCH', `${url}update_source/`, { 'index.ts': 'const' })).body.errors[0].line,
    1,
  );
  assert.equal((await ask('PUT', `${url}update_source/`, {})).body.code, 'required');
  assert.deepEqual((await ask('GET', `${url}source/`)).body, before.body);
});

test('rollback goes back, and forward again; without an earlier version it is 409', async () => {
  const { url } = await writtenPlugin(harness, home);
  assert.equal((await ask('POST', `${url}rollback/`)).status, 409);
  const first = (await ask('GET', `${url}source/`)).body;
  const second = (
    await ask(
      'PATCH',
      `${url}update_source/`,
      packageFiles(
        'pipeline_destinations',
        { name: 'Second', config: [{ key: 'region' }] },
        { 'more.ts': 'export {}' },
      ),
    )
  ).body;
  const dry = await ask('POST', `${url}rollback/?validate_only=true`);
  assert.deepEqual(dry.body.changes.files, {
    added: [],
    removed: ['more.ts'],
    changed: ['plugin.json'],
  });
  assert.deepEqual(dry.body.changes.config_fields, { added: [], removed: ['region'], changed: [] });
  assert.deepEqual((await ask('GET', `${url}source/`)).body, second);
  assert.equal((await ask('POST', `${url}rollback/`, '{')).status, 400);
  assert.deepEqual([first.has_previous_version, second.has_previous_version], [false, true]);
  assert.equal((await ask('POST', `${url}rollback/`)).status, 200);
  assert.deepEqual((await ask('GET', `${url}source/`)).body, {
    ...first,
    has_previous_version: true,
  });
  await ask('POST', `${url}rollback/`);
  assert.deepEqual((await ask('GET', `${url}source/`)).body, second);
  const versions = await harness.deps.db.rows(
    sql`SELECT 1 FROM plugin_versions WHERE plugin_id = ${first.id}`,
  );
  assert.equal(versions.length, 2);
});

test('code changed in the database is not shown, edited or rolled back to', async () => {
  const changes = [
    sql`files = '{"index.ts": "export function onEvent() { return 666; }"}'::json`,
    sql`code = '{"server": "evil", "site": null, "frontend": null}'::json`,
    sql`content_sha256 = repeat('0', 64)`,
    sql`capabilities = '{"methods": ["exportEvents"], "jobs": [], "scheduled_tasks": []}'::json`,
    sql`seal = '\\x00'::bytea`,
    sql`files = 'null'::json`,
  ];
  const files = packageFiles('pipeline_destinations');
  const { id, url } = await writtenPlugin(harness, home);
  const renew = () => ask('PUT', `${url}update_source/`, { source: files });
  await ask('PATCH', `${url}update_source/`, { 'more.ts': 'export {}' });
  await harness.deps.db.run(
    sql`CREATE TABLE kept_versions AS SELECT * FROM plugin_versions WHERE plugin_id = ${id}`,
  );
  for (const change of changes) {
    await harness.deps.db.run(sql`UPDATE plugin_versions SET ${change} WHERE plugin_id = ${id}`);
    for (const [method, path, body] of [
      ['GET', 'source/', undefined],
      ['PATCH', 'update_source/', { 'a.ts': 'export {}' }],
      ['POST', 'rollback/', {}],
    ] as const) {
      const answer = await ask(method, `${url}${path}`, body);
      assert.deepEqual(
        [answer.status, answer.body.code],
        [409, 'conflict'],
        `${method} ${path} ${change.sql}`,
      );
    }
    await harness.deps.db.run(sql`UPDATE plugin_versions v
      SET files = k.files, code = k.code, content_sha256 = k.content_sha256,
        capabilities = k.capabilities, seal = k.seal
      FROM kept_versions k WHERE k.id = v.id`);
    assert.equal((await ask('GET', `${url}source/`)).status, 200, 'nothing else was changed');
  }
  for (let time = 0; time < 2; time += 1) {
    await harness.deps.db.run(
      sql`UPDATE plugin_versions SET seal = '\\x00'::bytea WHERE plugin_id = ${id}`,
    );
    // The second time, the very files that are stored already.
    assert.equal((await renew()).status, 200);
    assert.deepEqual((await ask('GET', `${url}source/`)).body.source, files);
  }
  const [one, other] = [
    await writtenPlugin(harness, home),
    await writtenPlugin(harness, home, 'pipeline_import_apps'),
  ];
  await harness.deps.db.run(
    sql`UPDATE plugins SET version_id = (SELECT p.version_id FROM plugins p
      WHERE p.id = ${other.id}) WHERE id = ${one.id}`,
  );
  assert.equal((await ask('GET', `${one.url}source/`)).status, 409);
});
