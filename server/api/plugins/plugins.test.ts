import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { refusalOf } from '../../../test/refusal.ts';
import { openHarness } from '../../../test/harness.ts';
import type { Answer, Harness, TestOrganization } from '../../../test/harness.ts';
import {
  collectionUrl,
  collection_names,
  packageFiles,
  writtenPlugin,
} from '../../../test/factories/plugins/plugins.ts';

// A server of its own, because other files install plugins for all organizations.
let harness: Harness;
let home: TestOrganization;
before(async () => {
  harness = await openHarness({ clickhouse: false });
  home = await harness.newOrganization();
});
after(() => harness.close());

const record_fields = [
  'id',
  'plugin_type',
  'name',
  'description',
  'icon',
  'config_schema',
  'tag',
  'is_global',
  'capabilities',
  'metrics',
  'public_jobs',
  'url',
  'latest_tag',
  'organization_id',
  'organization_name',
  'managed_by',
];
const ask = (method: string, path: string, body?: unknown, key = home.key): Promise<Answer> =>
  harness.request(method, path, { key, body });
const nothing = { methods: [], jobs: [], scheduled_tasks: [] };

test('a record of source has what was sent and what is the default, and nothing else', async () => {
  const sent = {
    plugin_type: 'source',
    name: ' Mine ',
    description: 'Text',
    icon: 'https://example.com/i.png',
    config_schema: [{ key: 'b', type: 'string' }, { markdown: 'x' }],
    tag: '1.0',
    is_global: false,
    capabilities: { methods: ['onEvent'], jobs: [], scheduled_tasks: [] },
    metrics: { events: 'sum' },
    public_jobs: { again: {} },
  };
  for (const name of collection_names) {
    const base = collectionUrl(home, name);
    const created = await ask('POST', base, sent);
    assert.equal(created.status, 201);
    assert.deepEqual(Object.keys(created.body).sort(), [...record_fields].sort());
    const { id, ...record } = created.body;
    const expected = {
      ...sent,
      name: 'Mine',
      url: null,
      latest_tag: null,
      managed_by: null,
      organization_id: home.organization.id,
      organization_name: 'Test',
    };
    assert.deepEqual(record, expected);
    assert.deepEqual((await ask('GET', `${base}${id}/`)).body, created.body);
    const bare = await ask('POST', base, {});
    const {
      plugin_type,
      name: no_name,
      config_schema,
      capabilities,
      metrics,
      public_jobs,
      tag,
    } = bare.body;
    assert.deepEqual(
      [plugin_type, no_name, config_schema, capabilities, metrics, public_jobs, tag],
      ['source', null, {}, nothing, {}, {}, null],
    );
  }
});

test('lists: the collection of the record alone, newest first, in pages', async () => {
  const own = await harness.newOrganization();
  const base = collectionUrl(own);
  const ids: number[] = [];
  for (const name of ['a', 'b', 'c'])
    ids.unshift((await ask('POST', base, { name }, own.key)).body.id);
  const page = await ask('GET', `${base}?limit=2`, undefined, own.key);
  assert.deepEqual(
    [page.body.count, page.body.results.map((one: { id: number }) => one.id)],
    [3, ids.slice(0, 2)],
  );
  assert.match(page.body.next, /limit=2&offset=2$/);
  assert.equal(
    (await ask('GET', collectionUrl(own, 'pipeline_import_apps'), undefined, own.key)).body.count,
    0,
  );
  assert.equal(
    (
      await ask(
        'GET',
        `${collectionUrl(own, 'pipeline_import_apps')}${ids[0]}/`,
        undefined,
        own.key,
      )
    ).status,
    404,
  );
});

test('wrong bodies name the field', async () => {
  const { url } = await writtenPlugin(harness, home);
  const cases: [unknown, string, string][] = [
    [{ plugin_type: 'other' }, 'plugin_type', 'invalid_choice'],
    [{ plugin_type: '' }, 'plugin_type', 'invalid_choice'],
    [{ name: 5 }, 'name', 'invalid_input'],
    [{ name: 'x'.repeat(201) }, 'name', 'max_length'],
    [{ icon: 'x'.repeat(801) }, 'icon', 'max_length'],
    [{ tag: 'x'.repeat(201) }, 'tag', 'max_length'],
    [{ is_global: 'yes' }, 'is_global', 'invalid_input'],
    [{ is_global: null }, 'is_global', 'null'],
    [{ name: 'a\0b' }, 'name', 'null_characters_not_allowed'],
  ];
  for (const [body, attr, code] of cases)
    for (const [method, path] of [
      ['POST', collectionUrl(home)] as const,
      ['PATCH', url] as const,
      ['PUT', url] as const,
    ]) {
      const answer = await ask(method, path, body);
      assert.deepEqual(refusalOf(answer), [400, attr, code], `${method} ${JSON.stringify(body)}`);
    }
  const created = async (body: unknown) => (await ask('POST', collectionUrl(home), body)).body;
  for (const [body, attr, code] of [
    [{ plugin_type: 'custom' }, 'url', 'required'],
    [{ plugin_type: 'custom', url: '' }, 'url', 'blank'],
    [{ url: 'ftp://example.com/x.zip' }, 'url', 'invalid_input'],
    [{ url: 'http://169.254.169.254/x.zip' }, 'url', 'invalid_input'],
    [{ plugin_type: 'local' }, 'name', 'required'],
    [{ plugin_type: 'local', name: '../etc' }, 'name', 'invalid_input'],
    [{ plugin_type: 'local', name: 'no-such-folder' }, 'name', 'invalid_input'],
    [{ plugin_type: 'repository' }, 'name', 'required'],
    [{ plugin_type: 'repository', name: 'no such entry' }, 'name', 'invalid_choice'],
  ] as const) {
    const { attr: found, code: told } = await created(body);
    assert.deepEqual([found, told], [attr, code], JSON.stringify(body));
  }
});

test('a change touches what is sent; what would make the record untrue is refused', async () => {
  const { url } = await writtenPlugin(harness, home);
  const before = (await ask('GET', url)).body;
  const changed = await ask('PATCH', url, {
    name: 'New',
    capabilities: { methods: ['x'] },
    url: 'https://example.com',
    id: 1,
    latest_tag: 'x',
    organization_id: null,
  });
  assert.deepEqual(changed.body, { ...before, name: 'New', capabilities: { methods: ['x'] } });
  assert.deepEqual((await ask('PUT', url, { description: null })).body, {
    ...changed.body,
    description: null,
  });
  assert.equal((await ask('PATCH', url, { plugin_type: 'inline' })).body.plugin_type, 'inline');
  assert.equal((await ask('PATCH', url, { plugin_type: null })).body.plugin_type, 'source');
  assert.equal((await ask('PATCH', url, { plugin_type: 'custom' })).body.attr, 'plugin_type');
  const stale = await home.ask('PATCH', url, { name: 'x' }, { 'if-match': '"stale"' });
  assert.equal(stale.status, 412);
  const { etag } = (await ask('GET', url)).headers;
  assert.equal((await home.ask('PATCH', url, { name: 'x' }, { 'if-match': etag! })).status, 200);
});

test('deletion takes versions and the own configs along', async () => {
  const { id, url } = await writtenPlugin(harness, home);
  await ask('POST', `/api/projects/${home.project.id}/plugin_configs/`, {
    plugin: id,
    enabled: true,
  });
  assert.equal((await ask('DELETE', url)).status, 204);
  for (const table of ['plugin_versions', 'plugin_configs'])
    assert.deepEqual(
      (await harness.deps.db.text(`SELECT 1 FROM ${table} WHERE plugin_id = ${id}`)).rows,
      [],
    );
});

test(
  'unused, exports_unsubscribe_configs, activity and repository answer a record and the list ' +
    'beside it',
  async () => {
    const own = await harness.newOrganization();
    const base = collectionUrl(own);
    const get = async (name: string) =>
      (await ask('GET', `${base}${name}/`, undefined, own.key)).body;
    for (const name of ['unused', 'exports_unsubscribe_configs', 'activity']) {
      const { id, count, results } = await get(name);
      assert.deepEqual([id, count, results], [null, 0, []], name);
    }
    const files = packageFiles('pipeline_destinations', { description: 'Sent, or stored.' });
    const one = (await ask('POST', base, { name: 'Made' }, own.key)).body;
    await ask('PATCH', `${base}${one.id}/update_source/`, { source: files }, own.key);
    const two = await writtenPlugin(harness, own, 'pipeline_destinations', files);
    const config = await ask(
      'POST',
      `/api/projects/${own.project.id}/plugin_configs/`,
      { plugin: two.id, enabled: true },
      own.key,
    );
    const unused = await get('unused');
    assert.deepEqual(
      [unused.id, unused.count, unused.results.map((plugin: { id: number }) => plugin.id)],
      [one.id, 1, [one.id]],
    );
    const exporting = await get('exports_unsubscribe_configs');
    assert.deepEqual(
      [exporting.id, exporting.results.map((row: { id: number }) => row.id)],
      [two.id, [config.body.id]],
    );
    const activity = await get('activity');
    assert.equal(activity.id, two.id);
    assert.deepEqual(
      activity.results.map(({ activity: what, item_id, scope }: Record<string, string>) => [
        what,
        item_id,
        scope,
      ]),
      [
        ['installed', String(two.id), 'pipeline_destination'],
        ['source_updated', String(one.id), 'pipeline_destination'],
        ['installed', String(one.id), 'pipeline_destination'],
      ],
    );
    const repository = await get('repository');
    assert.ok(repository.count >= 2);
    const billing = (
      await ask('GET', `${base}repository/?category=billing&search=chart`, undefined, own.key)
    ).body;
    assert.deepEqual(
      billing.results.map(({ name, category }: Record<string, unknown>) => [name, category]),
      [['ChartMogul', 'billing']],
    );
    assert.deepEqual(
      [repository.id, repository.name, repository.plugin_type],
      [null, repository.results[0].name, 'repository'],
    );
    assert.ok(
      repository.results.every(
        (entry: { collection: string }) => entry.collection === 'pipeline_destinations',
      ),
    );
    const page = await ask('GET', `${base}repository/?limit=1&offset=1`, undefined, own.key);
    assert.deepEqual(page.body.results, [repository.results[1]]);
  },
);
