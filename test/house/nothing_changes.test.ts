import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { etagOf } from '../../server/platform/http/etag.ts';
import { newExport } from '../factories/batch_exports/batch_exports.ts';
import { newDirectory } from '../factories/people/directories.ts';
import { insertPasskey } from '../factories/people/passkeys.ts';
import { shareHarness } from '../harness.ts';
import type { Answer, TestOrganization } from '../harness.ts';
import { webhook_secret } from '../factories/notices.ts';
import { packageFiles, writtenPlugin } from '../factories/plugins/plugins.ts';
import type { RegisteredRoute } from '../watchers/registered_routes.ts';
import { everyRoute } from './every_route.ts';

const harness = shareHarness({
  clickhouse: false,
  opened: async () => {
    routes = (await everyRoute(harness.deps)).filter(
      ({ method }) => method === 'PATCH' || method === 'PUT',
    );
    home = await harness.newOrganization();
    cookie = await harness.newSession(home.user);
  },
});
let home: TestOrganization;
let cookie: string;
let routes: RegisteredRoute[];

const send = (method: string, path: string, body?: unknown) =>
  harness.request(method, path, { headers: { cookie }, body });
const created = async (path: string, body: object) => {
  const answer = await send('POST', path, body);
  assert.equal(answer.status, 201, answer.text);
  return `${path}${answer.body.id}/`;
};

/** The record as it is answered; a member has no GET of their own and stands in a list. */
async function readOf(path: string): Promise<Pick<Answer, 'body' | 'headers'>> {
  const own = path.endsWith('/members/@me/');
  const read = await send('GET', own ? path.replace('@me/', '') : path);
  assert.equal(read.status, 200, `${path} ${read.text}`);
  if (!own) return read;
  const [body] = read.body.results;
  return { body, headers: { etag: etagOf(JSON.stringify(body)) } };
}

/**
 * A record for each route that changes one, by the path of the route, and bodies beside what was
 * read that change nothing.
 */
async function records(): Promise<[route: string, path: string, ...more: object[]][]> {
  const [organization, project] = [
    `/api/organizations/${home.organization.id}/`,
    `/api/projects/${home.project.id}/`,
  ];
  const within = ['/api/organizations/:organization_id/', '/api/projects/:project_id/'];
  const password = 'pl4nted-word';
  const config = { user: 'u', password, host: 'h', database: 'd' };
  const exported = await newExport(home, { destination: { type: 'Postgres', config } });
  const target = await created(`${project}notice_targets/`, {
    type: 'webhook',
    url: 'https://hooks.example.com/a/b',
    secret: webhook_secret,
  });
  const connection = await created(`${organization}connections/`, {
    name: 'One',
    type: 'Postgres',
    config,
  });
  const fields = [{ key: 'token', type: 'string', secret: true }];
  const files = packageFiles('pipeline_destinations', { config: fields });
  const plugin = await writtenPlugin(harness, home, 'pipeline_destinations', files);
  const list = `${project}plugin_configs/`;
  const set = await created(list, { plugin: plugin.id, config: { token: 'pl4nted-word' } });
  const collections = ['pipeline_destinations', 'pipeline_frontend_apps', 'pipeline_import_apps'];
  const plugins = await Promise.all(
    collections.map(async (name): Promise<[string, string]> => [
      `${within[0]}${name}/:id/`,
      await created(`${organization}${name}/`, { name: 'One' }),
    ]),
  );
  const [export_id, target_id] = [exported.id, target.split('/').at(-2)];
  const directory = await newDirectory(harness, home);
  const group = await directory.scim('POST', '/Groups', { displayName: 'One' });
  const nested = within.flatMap((base, at): [string, string, ...object[]][] => [
    [
      `${base}batch_exports/:id/`,
      `${[organization, project][at]}batch_exports/${export_id}/`,
      { destination: { type: 'Postgres', config } },
      { paused: false },
    ],
    [
      `${base}notice_targets/:id/`,
      `${[organization, project][at]}notice_targets/${target_id}/`,
      { url: 'https://hooks.example.com/a/b', secret: webhook_secret },
    ],
  ]);
  return [
    ['/api/organizations/:id/', organization],
    ['/api/projects/:id/', project],
    [`${within[0]}security/`, `${organization}security/`],
    [`${within[0]}members/:user__uuid/`, `${organization}members/@me/`],
    [
      `${within[0]}domains/:id/`,
      await created(`${organization}domains/`, { domain: 'nothing-changes.example.com' }),
    ],
    [`${within[0]}domains/:id/scim/`, directory.url, { may_manage_owners: false }],
    [
      `${within[0]}domains/:id/scim/groups/:group_id/`,
      `${directory.url}groups/${group.body.id}/`,
      { level: null },
    ],
    ['/api/users/@me/', '/api/users/@me/', { first_name: '' }],
    [
      '/api/users/@me/passkeys/:id/',
      `/api/users/@me/passkeys/${await insertPasskey(harness, home.user)}/`,
    ],
    [
      '/api/personal_api_keys/:id/',
      await created('/api/personal_api_keys/', { label: 'One', scopes: ['*'] }),
    ],
    [
      `${within[1]}write_keys/:id/`,
      await created(`/api/projects/${home.project.id}/write_keys/`, { name: 'One' }),
    ],
    [
      `${within[1]}ingestion_rules/:id/`,
      await created(`${project}ingestion_rules/`, {
        name: 'One',
        action: 'set_property',
        property: 'env',
        value: 1.5,
      }),
    ],
    [
      `${within[1]}planned_events/:id/`,
      await created(`${project}planned_events/`, {
        event: 'one',
        properties: [{ name: 'total', type: 'number', required: true }],
      }),
    ],
    [
      `${within[0]}service_keys/:id/`,
      await created(`${organization}service_keys/`, { name: 'One', scopes: ['project:read'] }),
    ],
    [
      `${within[0]}oauth_applications/:id/`,
      await created(`${organization}oauth_applications/`, {
        tool: 'hubspot',
        client_id: 'one',
        client_secret: password,
      }),
    ],
    [`${within[0]}connections/:id/`, connection, { config }],
    [`${within[1]}plugin_configs/:id/`, set, { config: { token: 'pl4nted-word' } }],
    ...plugins,
    ...nested,
    [`${within[0]}pipeline_destinations/:id/update_source/`, plugin.url, { source: files }],
  ];
}

test('a PATCH or PUT that changes nothing leaves entries, ETags and instants alone', async () => {
  const known = await records();
  const entries = async () =>
    (await harness.deps.db.row<{ count: number }>(sql`SELECT count(*) AS count FROM activity`))!
      .count;
  for (const [route, path, ...more] of known) {
    const isSource = route.endsWith('update_source/');
    const read = await readOf(path);
    const count = await entries();
    for (const [method, body] of [
      ['PATCH', {}],
      ['PATCH', read.body],
      ['PUT', isSource ? more[0] : read.body],
      ...more.map((one): [string, object] => ['PATCH', one]),
    ] as const) {
      const url = isSource ? `${path}update_source/` : path;
      const answer = await send(method, url, body);
      const said = `${method} ${url} ${JSON.stringify(body)} ${answer.text}`;
      assert.equal(answer.status, 200, said);
      if (isSource) continue;
      assert.deepEqual(answer.body, read.body, said);
      assert.equal(answer.headers['etag'], read.headers['etag'], said);
    }
    assert.equal(await entries(), count, route);
    if (!isSource) assert.equal((await readOf(path)).headers['etag'], read.headers['etag'], route);
  }
  const tried = new Set(known.map(([route]) => route));
  // The other two collections are mounted by the same lines.
  const missing = routes.filter(
    ({ path }) => !tried.has(path) && !/pipeline_(frontend|import)_apps.*update_source/.test(path),
  );
  assert.deepEqual(
    missing.map(({ path }) => path),
    [],
  );
});

test('a change of a secret alone leaves an entry and another ETag', async () => {
  const config = { user: 'u', password: 'pl4nted-word', host: 'h', database: 'd' };
  const { id } = await newExport(home, { destination: { type: 'Postgres', config } });
  const path = `/api/projects/${home.project.id}/batch_exports/${id}/`;
  const read = await send('GET', path);
  const body = { destination: { config: { password: 'another-word' } } };
  const changed = await send('PATCH', path, body);
  assert.equal(changed.status, 200);
  assert.notEqual(changed.headers['etag'], read.headers['etag']);
  const found = await harness.deps.db.rows(
    sql`SELECT 1 FROM activity WHERE item_id = ${id} AND activity = 'updated'`,
  );
  assert.equal(found.length, 1);
});
