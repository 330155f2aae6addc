import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { targetParameter } from '../../server/platform/http/caller/guard.ts';
import { insertRunRow, newExport } from '../factories/batch_exports/batch_exports.ts';
import { webhook_secret } from '../factories/notices.ts';
import { newRefusedEvent } from '../factories/events/refused_events.ts';
import { insertPasskey } from '../factories/people/passkeys.ts';
import { collection_names, collectionUrl, writtenPlugin } from '../factories/plugins/plugins.ts';
import { newLakeTable } from '../factories/lake_tables.ts';
import { newConnection } from '../factories/batch_exports/connections.ts';
import { shareHarness } from '../harness.ts';
import type { TestOrganization } from '../harness.ts';
import type { RegisteredRoute } from '../watchers/registered_routes.ts';
import { everyRoute } from './every_route.ts';

/** An id of each kind that somebody has, by the segment of paths in front of it. */
type Ids = Record<string, string>;

const harness = shareHarness({
  clickhouse: false,
  opened: async () => {
    routes = (await everyRoute(harness.deps)).filter(
      (route) =>
        route.scope !== 'public' &&
        !route.path.startsWith('/api/destinations/') &&
        // Tables have names and no ids: server/api/iceberg/catalog.test.ts tries a stranger.
        !route.path.startsWith('/iceberg/'),
    );
    own = await harness.newOrganization();
    cookie = await harness.newSession(own.user);
  },
});
let routes: RegisteredRoute[];
let own: TestOrganization;
let cookie: string;

/** Creates one of everything that has an id, in the project and its organization. */
async function idsOf(home: TestOrganization): Promise<Ids> {
  const session = await harness.newSession(home.user);
  const post = async (path: string, body: object) => {
    const answer = await harness.request('POST', path, { headers: { cookie: session }, body });
    assert.ok([200, 201, 202].includes(answer.status), `${path} ${answer.text}`);
    return answer.body;
  };
  const [organization, project] = [
    `/api/organizations/${home.organization.id}/`,
    `/api/projects/${home.project.id}/`,
  ];
  const exported = await newExport(home);
  const run = await insertRunRow(harness, exported.id, { status: 'Failed' });
  const range = { start_at: '2026-01-01T00:00:00Z', end_at: '2026-01-01T02:00:00Z' };
  const { backfill } = await post(`${project}batch_exports/${exported.id}/backfill/`, range);
  const verification = await post(`${project}batch_exports/${exported.id}/verifications/`, {});
  const target = await post(`${project}notice_targets/`, {
    type: 'webhook',
    url: 'https://hooks.example.com/a',
    secret: webhook_secret,
  });
  const plugins: Ids = {};
  for (const name of collection_names)
    plugins[name] = String((await post(collectionUrl(home, name), { name: 'One' })).id);
  const written = await writtenPlugin(harness, home);
  const config = await post(`${project}plugin_configs/`, { plugin: written.id });
  const domain = `${home.project.uuid}.example.com`;
  const { id: domain_id } = await post(`${organization}domains/`, { domain });
  const [current] = (
    await harness.request('GET', '/api/sessions/', { headers: { cookie: session } })
  ).body.results;
  return {
    ...plugins,
    batch_exports: exported.id,
    runs: run,
    backfills: backfill.id,
    verifications: verification.id,
    deviations: await newDeviation(exported.id),
    bulk_actions: (
      await post(`${project}bulk_actions/`, { action: 'pause_exports', ids: [exported.id] })
    ).id,
    notice_targets: target.id,
    connections: (await newConnection(home)).id,
    notice_deliveries: await newDelivery(exported.id, target.id),
    domains: domain_id,
    setup_links: (await post(`${organization}domains/${domain_id}/setup_links/`, { name: 'One' }))
      .id,
    service_keys: (
      await post(`${organization}service_keys/`, { name: 'One', scopes: ['project:read'] })
    ).id,
    groups: await newGroup(domain_id),
    tokens: await newToken(domain_id),
    invites: (await post(`${organization}invites/`, { target_email: `who@${domain}` })).id,
    members: home.user.uuid,
    erasures: (await post(`${project}erasures/`, { distinct_ids: ['somebody'] })).id,
    // The number of a part.
    download: '1',
    file_downloads: (
      await post(`${project}file_downloads/`, {
        start_at: '2026-01-01T00:00:00Z',
        end_at: '2026-01-02T00:00:00Z',
      })
    ).id,
    schema_columns: (await post(`${project}schema_columns/`, { property: 'one', type: 'text' })).id,
    lake_tables: await newTableId(home),
    refused_events: await newRefusedEvent(harness.deps.db, home.project.id),
    ingestion_rules: (
      await post(`${project}ingestion_rules/`, {
        name: 'One',
        action: 'drop_event',
        events: ['noise'],
      })
    ).id,
    planned_events: (await post(`${project}planned_events/`, { event: 'one' })).id,
    write_keys: (await post(`${project}write_keys/`, { name: 'One' })).id,
    oauth_applications: (
      await post(`${organization}oauth_applications/`, {
        tool: home.project.id === own.project.id ? 'hubspot' : 'salesforce',
        client_id: 'one',
        client_secret: 'pl4nted-word',
      })
    ).id,
    plugin_configs: String(config.id),
    ...(await newReplayAndAside(config.id)),
    personal_api_keys: (await post('/api/personal_api_keys/', { label: 'One', scopes: ['*'] })).id,
    sessions: current.id,
    passkeys: await insertPasskey(harness, home.user),
    plan: (await post(`${organization}configuration/plan/`, { configuration: {} })).hash,
  };
}

/** A replay of the config, and an event that it set aside. */
async function newReplayAndAside(config_id: number): Promise<Ids> {
  const { db } = harness.deps;
  const replay = await db.row<{ id: string }>(sql`
    INSERT INTO plugin_replays (id, plugin_config_id, source, end_at, rate, total, inserted_at)
    VALUES (gen_random_uuid(), ${config_id}, 'events', now(), 1, 0, now()) RETURNING id`);
  const aside = await db.row<{ id: number }>(sql`
    INSERT INTO plugin_set_aside (plugin_config_id, event_uuid, event, distinct_id, mapping, reason)
    VALUES (${config_id}, gen_random_uuid(), 'e', 'd', 'Send', 'No.') RETURNING id`);
  return { replays: replay!.id, set_aside: String(aside!.id) };
}

/** A table of the Iceberg catalog. */
async function newTableId(home: TestOrganization): Promise<string> {
  await newLakeTable(home, 'sales');
  const tables = `/api/projects/${home.project.id}/lake_tables/`;
  return (await home.ask('GET', tables)).body.results[0].id as string;
}

/** A notice of the export, on its way to the target. */
async function newDelivery(export_id: string, target_id: string): Promise<string> {
  const row = await harness.deps.db.row<{ id: number }>(sql`
    WITH notice AS (
      INSERT INTO notices (id, batch_export_id, event, body, created_at)
      VALUES (gen_random_uuid(), ${export_id}::uuid, 'failing', '{}', now()) RETURNING id)
    INSERT INTO notice_deliveries (notice_id, target_id, batch_export_id, team_id, next_attempt_at)
    SELECT notice.id, ${target_id}::uuid, ${export_id}::uuid,
      (SELECT team_id FROM batch_exports WHERE id = ${export_id}::uuid), 'infinity' FROM notice
    RETURNING id`);
  return String(row!.id);
}

/** A finding of verification on a schedule. */
async function newDeviation(export_id: string): Promise<string> {
  const row = await harness.deps.db.row<{ id: string }>(sql`
    INSERT INTO batch_export_deviations (id, batch_export_id, revision, kind, differences, name,
      detail, mark, first_seen_at, last_seen_at)
    VALUES (gen_random_uuid(), ${export_id}::uuid, 1, 'foreign', 1, 'x', 'x', 'x', now(), now())
    RETURNING id`);
  return row!.id;
}

/** A group of the directory of the domain. */
async function newGroup(domain_id: string): Promise<string> {
  const row = await harness.deps.db.row<{ id: string }>(sql`
    WITH directory AS (
      INSERT INTO scim_directories (domain_id) VALUES (${domain_id}::uuid))
    INSERT INTO scim_groups (id, domain_id, display_name)
    VALUES (gen_random_uuid(), ${domain_id}::uuid, 'One') RETURNING id`);
  return row!.id;
}

/** A token of that directory. */
async function newToken(domain_id: string): Promise<string> {
  const row = await harness.deps.db.row<{ id: string }>(sql`
    INSERT INTO scim_tokens (id, domain_id, name, has_maker, token_hash, mask_value, created_at,
      expires_at)
    VALUES (gen_random_uuid(), ${domain_id}::uuid, 'One', false, ${Buffer.from(domain_id)}, 'x',
      now(), 'infinity') RETURNING id`);
  return row!.id;
}

type Parameter = { name: string; noun: string };

/** Lists the parameters of a route's path besides its organization or project. */
function parametersOf({ path, within }: RegisteredRoute): Parameter[] {
  const place = within === undefined ? undefined : targetParameter(path, within);
  return [...path.matchAll(/([^/]+)\/:(\w+)/g)]
    .map(([, noun, name]) => ({ noun: noun!, name: name! }))
    .filter(({ name }) => name !== place);
}

function pathOf(route: RegisteredRoute, ids: Map<string, string>): string {
  const place = route.within === undefined ? undefined : targetParameter(route.path, route.within);
  const target = route.within === 'organization' ? own.organization.id : String(own.project.id);
  return route.path.replaceAll(/:(\w+)/g, (_whole, name: string) =>
    name === place ? target : ids.get(name)!,
  );
}

/** Fails where the id of others, in the place of one's own, is told from one that nobody has. */
async function assertUnknown(route: RegisteredRoute, ids: Map<string, string>): Promise<void> {
  const path = pathOf(route, ids);
  const { status, body } = await harness.request(route.method, path, {
    headers: { cookie },
    ...(route.method === 'GET' ? {} : { body: {} }),
  });
  assert.deepEqual([status, body.code], [404, 'not_found'], `${route.method} ${path}`);
}

/** Puts their ids in the place of mine, one at a time; gives of what kinds they were. */
async function refuseAll(asked: RegisteredRoute[], mine: Ids, theirs: Ids): Promise<Set<string>> {
  const tried = new Set<string>();
  for (const route of asked) {
    const parameters = parametersOf(route);
    const own_ids = parameters.map(({ name, noun }) => [name, mine[noun]!] as const);
    for (const { name, noun } of parameters) {
      assert.ok(theirs[noun] !== undefined, `${route.path}: nobody has an id of ${noun}`);
      await assertUnknown(route, new Map([...own_ids, [name, theirs[noun]]]));
      tried.add(noun);
    }
  }
  return tried;
}

test('an id of another organization, or of another project, is unknown', async () => {
  const mine = await idsOf(own);
  const stranger = await idsOf(await harness.newOrganization());
  const tried = await refuseAll(routes, mine, stranger);
  assert.deepEqual([...tried].toSorted(), Object.keys(stranger).toSorted());

  const { body: project } = await own.ask('POST', '/api/projects/', {
    name: 'Beside',
    organization: own.organization.id,
  });
  const beside = await idsOf({ ...own, project });
  const of_projects = routes.filter(({ within }) => within === 'project');
  await refuseAll(of_projects, mine, beside);

  const another = await newExport(own);
  const run = await insertRunRow(harness, another.id, { status: 'Failed' });
  const nested = routes.filter(({ path }) => path.includes('/runs/:id/'));
  assert.ok(nested.length > 0);
  const ids = new Map([
    ['batch_export_id', mine['batch_exports']!],
    ['id', run],
  ]);
  for (const route of nested) await assertUnknown(route, ids);
});
