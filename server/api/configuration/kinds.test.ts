// Length: every kind of object in one configuration, from its creation to its removal.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { packageFiles, setPluginsLevel } from '../../../test/factories/plugins/plugins.ts';
import { openConfigurations } from '../../../test/factories/configurations.ts';
import { webhook_secret } from '../../../test/factories/notices.ts';
import { shareHarness } from '../../../test/harness.ts';
import { kinds } from './kinds/index.ts';
import { addMember } from '../../../test/factories/people/members.ts';

const harness = shareHarness({ clickhouse: false });

const fields = [
  { key: 'token', type: 'string', secret: true },
  { key: 'place', type: 'string' },
];
const values: Record<string, string> = {
  WEB_ROWS_PASSWORD: 'pl4nted-password',
  WEB_HOOK_URL: 'https://hooks.example.com/a/pl4nted-path',
  WEB_HOOK_SECRET: webhook_secret,
  WEB_GEO_TOKEN: 'pl4nted-token',
  WAREHOUSE_PASSWORD: 'pl4nted-warehouse',
};

/** One of each kind, with references between them. */
function everything(email: string) {
  return {
    organization: { name: 'All', is_member_join_email_enabled: false },
    projects: {
      web: {
        name: 'Web',
        timezone: 'Europe/Berlin',
        write_keys: { site: { name: 'Site' } },
        schema_columns: { total: { property: 'total', type: 'float' } },
        ingestion_rules: {
          mails: { name: 'Mails', action: 'hash_property', property: 'email', target: 'any' },
        },
        planned_events: {
          paid: {
            event: 'order paid',
            mode: 'refuse',
            properties: [{ name: 'total', type: 'number', required: true }],
          },
        },
        batch_exports: {
          rows: {
            name: 'Rows',
            interval: 'day',
            start_at: '2026-01-01T00:00:00+01:00',
            paused: true,
            destination: {
              type: 'Postgres',
              config: {
                user: 'u',
                password: { env: 'WEB_ROWS_PASSWORD' },
                host: 'h.example.com',
                database: 'd',
                exclude_events: ['noise'],
              },
            },
          },
          shared: {
            name: 'Shared',
            interval: 'day',
            connection: 'warehouse',
            destination: { type: 'Postgres', config: { table_name: 'shared' } },
          },
        },
        notice_targets: {
          hook: {
            type: 'webhook',
            url: { env: 'WEB_HOOK_URL' },
            secret: { env: 'WEB_HOOK_SECRET' },
            batch_exports: ['rows'],
          },
        },
        plugin_configs: {
          geo: {
            plugin: 'geo',
            enabled: true,
            config: { token: { env: 'WEB_GEO_TOKEN' }, place: 'here' },
            allowed_hosts: ['api.example.com'],
          },
        },
      },
    },
    connections: {
      warehouse: {
        name: 'Warehouse',
        type: 'Postgres',
        config: {
          user: 'u',
          password: { env: 'WAREHOUSE_PASSWORD' },
          host: 'w.example.com',
          database: 'd',
        },
      },
    },
    plugins: {
      geo: {
        collection: 'pipeline_destinations',
        plugin_type: 'source',
        source: packageFiles('pipeline_destinations', { name: 'Geo', config: fields }),
      },
    },
    domains: { own: { domain: 'kinds-of-objects.example.com' } },
    members: { colleague: { email, level: 8 } },
    invites: { friend: { target_email: 'Friend@example.com', level: 1, first_name: 'Fay' } },
  };
}

test('every kind: created, unchanged, pulled, planned, then removed', async () => {
  const config = await openConfigurations(harness);
  await setPluginsLevel(harness, config.home, 6);
  const { user } = await harness.newMember(config.home.organization.id, 1);
  const files = everything(user.email);
  const wanted = config.answered(files, (env) => values[env]!);
  const people = { people: true };
  const created = await config.put(wanted, people);
  assert.deepEqual(
    [...new Set(created.body.objects.map(({ kind }: any) => kind))].toSorted(),
    kinds.map(({ name }) => name).toSorted(),
  );
  const again = await config.plan(wanted, people);
  assert.deepEqual(again.body.steps, []);
  const moved = structuredClone(wanted) as any;
  moved.connections.warehouse.config.host = 'moved.example.com';
  assert.equal((await config.put(moved, people)).status, 200);
  const { body: connections } = await config.home.ask(
    'GET',
    `/api/organizations/${config.home.organization.id}/connections/`,
  );
  assert.equal(connections.results[0].config.host, 'moved.example.com');
  assert.deepEqual((await config.plan(moved, people)).body.steps, []);
  assert.equal((await config.put(wanted, people)).status, 200);
  const { shared, ...exports } = (wanted as any).projects.web.batch_exports;
  const apart = { ...shared, connection: null };
  const planOf = (one: object) =>
    config.plan({ projects: { web: { name: 'Web', batch_exports: { ...exports, shared: one } } } });
  const { connection: _taken, ...unnamed } = shared;
  for (const one of [apart, unnamed])
    assert.match((await planOf(one)).text, /shared__destination__config__host/);
  const unknown = await planOf({ ...shared, connection: 'nowhere' });
  assert.equal(
    unknown.body.attr,
    'configuration__projects__web__batch_exports__shared__connection',
  );

  const pulled = await config.home.ask(
    'GET',
    `/api/organizations/${config.home.organization.id}/configuration/?people=true`,
  );
  assert.doesNotMatch(pulled.text, /pl4nted/);
  assert.deepEqual(pulled.body.configuration.organization, files.organization);
  const { default_project: _first, ...projects } = pulled.body.configuration.projects;
  assert.deepEqual(Object.keys(projects), ['web']);
  const after_pull = await config.plan(
    config.answered(pulled.body.configuration, (env) => values[env] ?? assert.fail(env)),
    people,
  );
  assert.deepEqual(
    after_pull.body.steps.map(({ action, path, changes }: any) => [action, path, changes]),
    [
      ['adopt', 'projects.default_project', []],
      ['adopt', `members.${config.home.user.email.replaceAll(/[^a-z0-9]+/g, '_')}`, []],
    ],
  );
  const without_values = await config.plan(pulled.body.configuration, people);
  assert.deepEqual(
    without_values.body.needs.map(({ reference }: any) => reference).toSorted(),
    Object.keys(values)
      .map((env) => `env ${env}`)
      .toSorted(),
  );

  const nothing = {
    projects: { web: { name: 'Web', plugin_configs: {}, notice_targets: {}, batch_exports: {} } },
    connections: {},
    plugins: {},
    domains: {},
    invites: {},
  };
  const removed = await config.put(nothing, { ...people, prune: true });
  assert.deepEqual(
    removed.body.objects.map(({ action, kind }: any) => `${action} ${kind}`).toSorted(),
    [
      'batch_export',
      'batch_export',
      'connection',
      'domain',
      'invite',
      'notice_target',
      'plugin',
      'plugin_config',
    ]
      .map((kind) => `delete ${kind}`)
      .toSorted(),
  );
});

test('people are left alone unless asked for; an invite of a member is done', async () => {
  const config = await openConfigurations(harness);
  const { user } = await harness.newMember(config.home.organization.id, 1);
  const members = { one: { email: user.email, level: 8 } };
  const without = await config.plan({ members });
  assert.deepEqual([without.body.is_empty, without.body.left_out], [true, ['members']]);
  const url = `/api/organizations/${config.home.organization.id}/configuration/plan/`;
  const kept = await config.home.ask('GET', `${url}${without.body.hash}/`);
  assert.deepEqual(kept.body.left_out, ['members']);
  const invites = { one: { target_email: user.email.toUpperCase() } };
  const plan = await config.plan({ invites, members }, { people: true });
  assert.deepEqual(
    plan.body.steps.map(({ action, kind }: any) => [action, kind]),
    [['adopt', 'member']],
  );
  assert.deepEqual(plan.body.left_out, []);
  const stranger = await config.plan(
    { members: { one: { email: 'nobody@example.com', level: 1 } } },
    { people: true },
  );
  assert.deepEqual([stranger.status, stranger.body.attr], [400, 'configuration__members__one']);
  await config.put({ members }, { people: true });
  // A person may be a member of several organizations, each of which manages that or does not.
  const other = await openConfigurations(harness);
  await addMember(harness.deps, other.home.organization.id, user, 1);
  const managedIn = async ({ home }: typeof config) => {
    const { body } = await home.ask('GET', `/api/organizations/${home.organization.id}/members/`);
    return body.results.find((one: any) => one.user.uuid === user.uuid).managed_by?.key;
  };
  assert.deepEqual([await managedIn(config), await managedIn(other)], ['one', undefined]);
  const there = { members: { two: { email: user.email, level: 1 } } };
  await other.put(there, { people: true });
  assert.deepEqual([await managedIn(config), await managedIn(other)], ['one', 'two']);
  for (const [at, wanted] of [
    [config, { members }],
    [other, there],
  ] as const)
    assert.equal((await at.plan(wanted, { people: true })).body.is_empty, true);
});

test('a plugin whose content is not the declared one is refused', async () => {
  const config = await openConfigurations(harness);
  await setPluginsLevel(harness, config.home, 6);
  const geo = {
    collection: 'pipeline_destinations',
    plugin_type: 'source',
    source: packageFiles('pipeline_destinations'),
    content_sha256: 'a'.repeat(64),
  };
  const refused = await config.plan({ plugins: { geo } });
  assert.deepEqual(
    [refused.status, refused.body.attr],
    [400, 'configuration__plugins__geo__content_sha256'],
  );
  const [content] = /[0-9a-f]{64}/.exec(refused.body.detail)!;
  const right = { plugins: { geo: { ...geo, content_sha256: content } } };
  await config.put(right);
  assert.equal((await config.plan(right)).body.is_empty, true);
});

test('a pulled plugin with unset secrets creates the same elsewhere', async () => {
  const [config, other] = [await openConfigurations(harness), await openConfigurations(harness)];
  for (const { home } of [config, other]) await setPluginsLevel(harness, home, 6);
  const written = { collection: 'pipeline_destinations', plugin_type: 'source' };
  const { 'plugin.json': manifest, ...code } = packageFiles('pipeline_destinations', {
    name: 'Told ',
    config: fields,
  });
  const rows = (type: string, more: object) => ({
    name: type,
    interval: 'day',
    paused: true,
    destination: { type, config: more },
  });
  const url = 'https://in.example.com/';
  const db = { user: 'u', host: 'h.example.com', database: 'd', password: { secret: 'pw' } };
  await config.put({
    projects: {
      2026: {
        name: 'Year',
        batch_exports: {
          http: rows('HTTP', { url, token: { secret: 'token' } }),
          redshift: rows('Redshift', db),
          clickhouse: rows('ClickHouse', { url, password: '' }),
        },
        plugin_configs: { one: { plugin: 'plain', config: { token: { secret: 'token' } } } },
      },
    },
    plugins: {
      plain: { ...written, name: 'Plain', config_schema: fields, source: code },
      told: { ...written, source: { ...code, 'plugin.json': manifest! } },
    },
  });
  const { configuration, secrets } = (await config.pull()).body;
  // No shell sets a variable whose name begins with a digit.
  assert.deepEqual(
    secrets.map(({ env }: any) => env),
    ['http_token', 'redshift_password', 'one_token'].map((name) => `_2026_${name.toUpperCase()}`),
  );
  const { http, clickhouse } = configuration.projects[2026].batch_exports;
  assert.deepEqual(http.destination.config, { url, token: { env: '_2026_HTTP_TOKEN' } });
  assert.equal(clickhouse.destination.config.password, '');
  const { content_sha256: _pin, ...told } = configuration.plugins.told;
  assert.deepEqual(told, { ...written, source: { ...code, 'plugin.json': manifest } });
  assert.deepEqual(configuration.plugins.plain.config_schema, fields);
  await other.put(config.answered(configuration, () => 'value'));
  assert.deepEqual(
    { ...(await other.pull()).body.configuration, organization: null },
    { ...configuration, organization: null },
  );
});
