import assert from 'node:assert/strict';
import type { Random } from '../chaos/random.ts';
import { noop_export } from '../factories/batch_exports/batch_exports.ts';
import { casesWith } from './doors.ts';
import type { Harness, TestOrganization } from '../harness.ts';
import { collection_names, setPluginsLevel, writtenPlugin } from '../factories/plugins/plugins.ts';

const ids_max = 40;

/**
 * The objects that requests of one era share: people with rights in a separate organization, and
 * the ids of its objects.
 */
export type Era = {
  home: TestOrganization;
  /** Headers of the callers: the owner by key, a member by key, the owner by session. */
  credentials: Record<string, string>[];
  /** Ids by the path segment before them, such as `batch_exports`. */
  ids: Map<string, string[]>;
  /** The messages of SDK clients under the project's write key. */
  cases: ReturnType<typeof casesWith>;
  /** ETags that answers had. */
  tags: string[];
  /** Records what an answer of the path contains. */
  learn(path: string, body: unknown, tag: string | undefined): void;
  /** Returns an existing object for the parameter after the segment. */
  idOf(segment: string, random: Random): string | undefined;
};

/** Creates the people and one object of each kind, always the same. */
export async function openEra(harness: Harness): Promise<Era> {
  const home = await harness.newOrganization();
  const member = await harness.newMember(home.organization.id, 1);
  await setPluginsLevel(harness, home, 9);
  const ids = new Map<string, string[]>();
  const tags: string[] = [];
  const add = (segment: string, id: unknown) => {
    if (typeof id !== 'string' && typeof id !== 'number') return;
    const known = ids.get(segment) ?? [];
    ids.set(segment, known);
    if (known.includes(String(id))) return;
    known.push(String(id));
    if (known.length > ids_max) known.splice(1, 1);
  };
  add('key', home.project.api_token);
  add('organizations', home.organization.id);
  add('projects', home.project.id);
  add('members', home.user.uuid);
  add('members', member.user.uuid);
  const learn = (path: string, body: unknown, tag: string | undefined) => {
    if (tag !== undefined && tags.push(tag) > ids_max) tags.shift();
    const segment = path.split('/').findLast((part) => part !== '' && !part.startsWith('{')) ?? '';
    const { results, id } = (body ?? {}) as { results?: { id?: unknown }[]; id?: unknown };
    for (const one of Array.isArray(results) ? results.slice(0, 3) : [])
      add(segment, one?.id ?? undefined);
    if (path.endsWith(`/${segment}/`) && results === undefined) add(segment, id);
  };
  const cookie = await harness.newSession(home.user);
  await furnish(harness, home, cookie, learn);
  for (const [segment, id] of await findFiles(harness, home)) add(segment, id);
  return {
    home,
    credentials: [
      { authorization: `Bearer ${home.key}` },
      { authorization: `Bearer ${member.key}` },
      { cookie },
    ],
    ids,
    cases: casesWith(home.project.api_token),
    tags,
    learn,
    idOf: (segment, random) => {
      const known = ids.get(segment);
      if (known === undefined) return undefined;
      return random.next() < 0.6 ? known[0] : random.one(known);
    },
  };
}

/** Names of files of the server: a script of site apps, and the files that the console loads. */
async function findFiles(harness: Harness, home: TestOrganization): Promise<[string, unknown][]> {
  const site_apps = `/api/projects/${home.project.id}/site_apps/`;
  const { body } = await home.ask('GET', site_apps);
  const page = await harness.request('GET', '/', { headers: { accept: 'text/html' } });
  const assets = [...page.text.matchAll(/assets\/([\w.-]+)/g)];
  return [
    ['site_apps', `${body.site_token}.js`],
    ...assets.map(([, name]): [string, unknown] => ['assets', name]),
  ];
}

async function furnish(
  harness: Harness,
  home: TestOrganization,
  cookie: string,
  learn: Era['learn'],
): Promise<void> {
  const [organization, project] = [
    `/api/organizations/${home.organization.id}/`,
    `/api/projects/${home.project.id}/`,
  ];
  const create = async (path: string, body: unknown) => {
    const created = await harness.request('POST', path, { headers: { cookie }, body });
    assert.ok(created.status < 300, `${path} answered ${created.status}: ${created.text}`);
    learn(path, created.body, created.headers['etag']);
    return created.body;
  };
  const { id } = await create(`${project}batch_exports/`, noop_export);
  const range = { start_at: '2026-01-01T00:00:00Z', end_at: '2026-01-01T02:00:00Z' };
  const { backfill } = await create(`${project}batch_exports/${id}/backfill/`, range);
  learn('/backfills/', backfill, undefined);
  const runs = await home.ask('GET', `${project}batch_exports/${id}/runs/`);
  learn('/runs/', runs.body, undefined);
  await create(`${project}notice_targets/`, {
    type: 'webhook',
    url: 'https://hooks.example.com/x',
  });
  await create(`${organization}notice_targets/`, { type: 'email', address: 'a@example.com' });
  const config = { host: 'db.example.com', database: 'd', user: 'u', password: 'p' };
  await create(`${organization}connections/`, { name: 'x', type: 'Postgres', config });
  await create(`/api/projects/${home.project.id}/ingestion_rules/`, {
    name: 'x',
    action: 'drop_property',
    property: 'x',
  });
  await create(`/api/projects/${home.project.id}/planned_events/`, { event: 'x' });
  await create(`${organization}domains/`, { domain: `d${home.project.id}.example.com` });
  await create(`${organization}invites/`, { target_email: `i${home.project.id}@example.com` });
  await create('/api/personal_api_keys/', { label: 'fuzz', scopes: ['*'] });
  for (const name of collection_names)
    learn(`/${name}/`, await writtenPlugin(harness, home, name), undefined);
}
