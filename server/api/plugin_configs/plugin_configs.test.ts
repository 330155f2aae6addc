import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { refusalOf } from '../../../test/refusal.ts';
import { loadPluginConfig } from '../../engine/plugins/stored_config.ts';
import type { Answer } from '../../../test/harness.ts';
import {
  collectionUrl,
  packageFiles,
  writtenPlugin,
} from '../../../test/factories/plugins/plugins.ts';
import { findStoredConfig } from './store.ts';
import { shareHome } from '../../../test/shared_home.ts';

const schema = [
  { markdown: 'A word before' },
  { key: 'region', name: 'Region', type: 'choice', choices: ['EU', 'US'], required: true },
  { key: 'token', name: 'Token', type: 'string', secret: true },
  { key: 'extra', type: 'json' },
  { key: 'bucket', type: 'string', required_if: [['region', 'US']] },
  { key: 'size', type: 'string', default: '10' },
];

const { harness, home } = shareHome(async () => {
  plugin = (
    await writtenPlugin(
      harness,
      home,
      'pipeline_destinations',
      packageFiles('pipeline_destinations', { config: schema }),
    )
  ).id;
  list = `/api/projects/${home.project.id}/plugin_configs/`;
});
let plugin: number;
let list: string;

const ask = (method: string, path: string, body?: unknown, key = home.key): Promise<Answer> =>
  harness.request(method, path, { key, body });
const urlOf = (answer: Answer) => `${list}${answer.body.id}/`;

/** The settings as the server will give them to the plugin. */
async function storedSettings(id: number): Promise<Record<string, unknown>> {
  return loadPluginConfig(harness.deps.secrets, id, (await findStoredConfig(harness.deps.db, id))!);
}

test('a config has the sent values, the defaults, and its plugin', async () => {
  const bare = await ask('POST', list, { plugin });
  assert.equal(bare.status, 201);
  const { id: _id, plugin_info, created_at: _created, updated_at: _updated, ...rest } = bare.body;
  const defaults = {
    plugin,
    team_id: home.project.id,
    enabled: false,
    order: 0,
    config: {},
    allowed_hosts: [],
    event_choice: null,
    secret_keys: [],
    error: null,
    accepted_version: null,
    waiting_version: null,
    uses_oauth: false,
    managed_by: null,
  };
  assert.deepEqual(rest, defaults);
  assert.deepEqual(plugin_info, (await ask('GET', `${collectionUrl(home)}${plugin}/`)).body);
  const full = await ask('POST', list, {
    plugin,
    enabled: true,
    order: 3,
    config: { region: 'EU', extra: '{"a":1}' },
    allowed_hosts: ['API.example.com', '*.example.org', 'api.example.com'],
  });
  const { enabled, order, config, allowed_hosts } = full.body;
  assert.deepEqual(
    [enabled, order, config, allowed_hosts],
    [true, 3, { region: 'EU', extra: '{"a":1}' }, ['api.example.com', '*.example.org']],
  );
  assert.deepEqual((await ask('GET', urlOf(full))).body, full.body);
  const listed = (await ask('GET', list)).body;
  assert.deepEqual(
    [listed.count, listed.results.map((row: { id: number }) => row.id)],
    [2, [bare.body.id, full.body.id]],
  );
});

test('wrong values name the key; what is required is asked for once it is enabled', async () => {
  const cases: [Record<string, unknown>, string, string][] = [
    [{}, 'plugin', 'required'],
    [{ plugin: 'x' }, 'plugin', 'invalid_input'],
    [{ plugin: 999_999 }, 'plugin', 'invalid_input'],
    [{ plugin, order: -1 }, 'order', 'min_value'],
    [{ plugin, enabled: 'yes' }, 'enabled', 'invalid_input'],
    [{ plugin, config: [] }, 'config', 'invalid_input'],
    [{ plugin, enabled: true }, 'config__region', 'required'],
    [{ plugin, enabled: true, config: { region: 'US' } }, 'config__bucket', 'required'],
    [{ plugin, config: { region: 'Mars' } }, 'config__region', 'invalid_choice'],
    [{ plugin, config: { other: 'x' } }, 'config__other', 'unknown_field'],
    [{ plugin, config: { extra: '{' } }, 'config__extra', 'invalid_input'],
    [{ plugin, config: { token: 5 } }, 'config__token', 'invalid_input'],
    [{ plugin, allowed_hosts: ['https://example.com'] }, 'allowed_hosts__0', 'invalid_input'],
    [{ plugin, allowed_hosts: ['example.com:80'] }, 'allowed_hosts__0', 'invalid_input'],
    [{ plugin, allowed_hosts: ['*'] }, 'allowed_hosts__0', 'invalid_input'],
    [
      { plugin, allowed_hosts: Array.from({ length: 101 }, () => 'a.example.com') },
      'allowed_hosts',
      'max_items',
    ],
  ];
  for (const [body, attr, code] of cases) {
    const answer = await ask('POST', list, body);
    assert.deepEqual(refusalOf(answer), [400, attr, code], JSON.stringify(body));
  }
  const { url } = { url: urlOf(await ask('POST', list, { plugin })) };
  assert.equal((await ask('PATCH', url, { enabled: true })).body.attr, 'config__region');
  assert.equal((await ask('PATCH', url, { enabled: true, config: { region: 'EU' } })).status, 200);
  assert.equal((await ask('PATCH', url, { config: { region: null } })).body.attr, 'config__region');
});

test('a secret is taken, sealed, kept and removed, and never comes back', async () => {
  const secret = 'a-token-that-nobody-sees';
  const created = await ask('POST', list, { plugin, config: { region: 'EU', token: secret } });
  const url = urlOf(created);
  const { id } = created.body;
  assert.deepEqual([created.body.config, created.body.secret_keys], [{ region: 'EU' }, ['token']]);
  assert.equal((await storedSettings(id))['token'], secret);
  assert.deepEqual((await ask('PATCH', url, { config: { extra: '2' } })).body.secret_keys, [
    'token',
  ]);
  assert.deepEqual((await ask('PUT', url, { config: { region: 'EU', extra: '1' } })).body, {
    ...(await ask('GET', url)).body,
    config: { region: 'EU', extra: '1' },
    secret_keys: ['token'],
  });
  assert.deepEqual(await storedSettings(id), { region: 'EU', extra: '1', token: secret });
  await ask('PATCH', url, { config: { token: `${secret}-2` } });
  assert.equal((await storedSettings(id))['token'], `${secret}-2`);
  assert.deepEqual((await ask('PATCH', url, { config: { token: null } })).body.secret_keys, []);
  const entries = await harness.deps.db.rows<{
    activity: string;
    changes: { field: string; action: string; before: unknown; after: unknown }[];
  }>(
    sql`SELECT a.activity, a.changes FROM activity a WHERE a.scope = 'plugin_config'
      AND a.item_id = ${String(id)} ORDER BY a.number`,
  );
  const tokens = entries.flatMap(({ changes }) =>
    changes
      .filter(({ field }) => field === 'config.token')
      .map(({ action, before: old, after: now }) => [action, old, now]),
  );
  assert.deepEqual(tokens, [
    ['created', null, '********'],
    ['changed', '********', '********'],
    ['deleted', '********', null],
  ]);
  const dump = await harness.deps.db.text(
    "SELECT (SELECT string_agg(c::text, ' ') FROM plugin_configs c) || (SELECT " +
      "string_agg(a::text, ' ') FROM activity a) AS rows",
  );
  assert.ok(!JSON.stringify(dump.rows).includes(secret));
});

test('only code that serves the collection, and is unchanged, can be enabled', async () => {
  const refused = async (id: number, detail: RegExp) => {
    const answer = await ask('POST', list, { plugin: id, enabled: true });
    assert.deepEqual([answer.status, answer.body.attr], [400, 'enabled']);
    assert.match(answer.body.detail, detail);
  };
  const empty = await ask('POST', collectionUrl(home), {});
  await refused(empty.body.id, /no code yet/);
  const idle = await writtenPlugin(harness, home, 'pipeline_destinations', {
    'index.ts': 'export const a = 1;',
  });
  await refused(idle.id, /onEvent, exportEvents or composeWebhook/);
  const changed = await writtenPlugin(harness, home);
  await harness.deps.db.run(
    sql`UPDATE plugin_versions SET files = '{}' WHERE plugin_id = ${changed.id}`,
  );
  await refused(changed.id, /differs from the installed code/);
});

test('enabled code keeps serving its collection', async () => {
  const { id, url } = await writtenPlugin(harness, home);
  const config = await ask('POST', list, { plugin: id, enabled: true });
  const idle = { 'index.ts': 'export const a = 1;' };
  assert.equal((await ask('PATCH', `${url}update_source/`, idle)).body.attr, 'source');
  await ask('PATCH', urlOf(config), { enabled: false });
  assert.equal((await ask('PATCH', `${url}update_source/`, idle)).status, 200);
  await ask('POST', `${url}rollback/`);
  await ask('PATCH', urlOf(config), { enabled: true });
  assert.equal((await ask('POST', `${url}rollback/`)).status, 409);
});

test('enabling begins with the present: the cursor is set, the error goes', async () => {
  const { id } = await writtenPlugin(harness, home);
  const config = await ask('POST', list, { plugin: id });
  const cursorOf = () =>
    harness.deps.db.row<{ inserted_at: string; failures: number }>(
      sql`SELECT c.inserted_at, c.failures FROM plugin_cursors c
        WHERE c.plugin_config_id = ${config.body.id}`,
    );
  assert.equal(await cursorOf(), undefined);
  await ask('PATCH', urlOf(config), { enabled: true });
  await harness.deps.db.run(
    sql`UPDATE plugin_cursors SET inserted_at = '2020-01-01', failures = 9
      WHERE plugin_config_id = ${config.body.id}`,
  );
  await harness.deps.db.run(
    sql`UPDATE plugin_configs SET enabled = false, error = 'It failed ten times.', error_at = now()
      WHERE id = ${config.body.id}`,
  );
  assert.equal((await ask('GET', urlOf(config))).body.error.message, 'It failed ten times.');
  assert.equal((await ask('PATCH', urlOf(config), { enabled: true })).body.error, null);
  const cursor = (await cursorOf())!;
  assert.ok(cursor.inserted_at > '2026' && cursor.failures === 0);
  await ask('PATCH', urlOf(config), { order: 2 });
  assert.deepEqual(await cursorOf(), cursor);
});

test('logs come newest first, by level and time, in pages', async () => {
  const config = await ask('POST', list, { plugin });
  for (const [level, message] of [
    ['INFO', 'one'],
    ['ERROR', 'two'],
    ['INFO', 'three'],
  ])
    await harness.deps.db.run(
      sql`INSERT INTO plugin_logs (plugin_config_id, level, message)
        VALUES (${config.body.id}, ${level}, ${message})`,
    );
  const messages = async (query: string) =>
    (await ask('GET', `${urlOf(config)}logs/${query}`)).body.results.map(
      ({ message }: { message: string }) => message,
    );
  assert.deepEqual(await messages(''), ['three', 'two', 'one']);
  assert.deepEqual(await messages('?level=INFO&limit=1'), ['three']);
  assert.deepEqual(await messages('?offset=2'), ['one']);
  assert.deepEqual(await messages('?after=2099-01-01T00:00:00Z'), []);
  assert.deepEqual(await messages('?before=2099-01-01T00:00:00Z&level=ERROR'), ['two']);
  assert.equal((await ask('GET', `${urlOf(config)}logs/?level=LOUD`)).status, 400);
});

test('deletion takes all that the plugin keeps along; a stale If-Match is 412', async () => {
  const config = await ask('POST', list, { plugin, enabled: true, config: { region: 'EU' } });
  await harness.deps.db.run(
    sql`INSERT INTO plugin_storage (plugin_config_id, key, value)
      VALUES (${config.body.id}, 'k', '1')`,
  );
  const stale = await harness.request('DELETE', urlOf(config), {
    key: home.key,
    headers: { 'if-match': '"stale"' },
  });
  assert.equal(stale.status, 412);
  assert.equal((await ask('DELETE', urlOf(config))).status, 204);
  for (const table of ['plugin_storage', 'plugin_cursors'])
    assert.deepEqual(
      (
        await harness.deps.db.text(
          `SELECT 1 FROM ${table} WHERE plugin_config_id = ${config.body.id}`,
        )
      ).rows,
      [],
    );
  for (const id of ['0', 'x', '99999999999', '01', '-1'])
    assert.equal((await ask('GET', `${list}${id}/`)).status, 404);
});
