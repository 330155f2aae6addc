import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { changesOf } from '../../platform/activity/changes.ts';
import { uuidParameter } from '../../platform/http/caller/access.ts';
import { maskApiKey } from '../../platform/http/caller/api_key.ts';
import { NoFields, body } from '../../platform/http/bodies/body.ts';
import { invalid, missing } from '../../platform/http/errors.ts';
import { ifMatch } from '../../platform/http/etag.ts';
import { isValidateOnly } from '../../platform/http/lists/query.ts';
import { actorOf, write } from '../../platform/http/write.ts';
import type { Entry } from '../../platform/http/write.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { findDomain } from '../domains/store.ts';
import { baseUrl, hashOf } from './calling.ts';
import { settleAndTell } from './levels.ts';
import { Directory, Group, GroupPatch, GroupPut, NewToken } from './schema.ts';
import type { DirectoryRow, GroupRow } from './schema.ts';
import { deleteDirectory, findGroupRow, readDirectory, setGroupLevel, setToken } from './store.ts';
import type { DomainPlace } from './store.ts';
import { createToken } from './token.ts';

const url = '/api/organizations/:organization_id/domains/:id/scim/';
const group_url = `${url}groups/:group_id/`;
const reading = { within: 'organization', scope: 'organization:read' } as const;
const changing = {
  within: 'organization',
  scope: 'organization:write',
  level: 8,
  locks_organization: true,
} as const;

/** How people manage the directory of a domain: `.../domains/:id/scim/`. */
export function managementRoutes(app: FastifyInstance, deps: Deps): void {
  directoryRoutes(app, deps);
  tokenRoute(app, deps);
  groupRoutes(app, deps);
}

function directoryRoutes(app: FastifyInstance, deps: Deps): void {
  app.get(
    url,
    {
      config: reading,
      schema: {
        summary: 'Retrieve what the directory of a domain is and does (SCIM)',
        operationId: 'organizations_domains_scim_retrieve',
        response: { 200: Directory },
      },
    },
    async (request) => directoryOf(deps, deps.db, await placeOf(deps.db, request)),
  );
  app.delete(
    url,
    {
      config: changing,
      schema: {
        summary: 'Switch the directory of a domain off',
        description:
          'Its token, its groups and what it remembers of people go; memberships and levels stay.',
        response: { 204: { type: 'null' } },
      },
    },
    (request, reply) =>
      write(request, reply, 204, async (tx, record) => {
        const place = await placeOf(tx, request, 'lock');
        const before = await directoryOf(deps, tx, place);
        ifMatch(request, before);
        if (!(await deleteDirectory(tx, place.domain_id))) missing();
        record(entryOf('deleted', place, before, undefined));
      }),
  );
}

function tokenRoute(app: FastifyInstance, deps: Deps): void {
  app.post(
    `${url}token/`,
    {
      config: { ...changing, no_store: true },
      schema: {
        summary: 'Switch the directory of a domain on, or give it a new token',
        description:
          'The token is shown once, and the one before it ends at once. 400 ' +
          '`verification_required` for a domain that is not verified.',
        body: NoFields,
        response: { 201: NewToken },
      },
    },
    (request, reply) =>
      write(request, reply, 201, async (tx, record) => {
        const place = await placeOf(tx, request, 'lock');
        body(request, NoFields);
        if (!place.is_verified)
          throw invalid(
            null,
            'verification_required',
            'The directory speaks for the addresses of the domain, so the domain has to be ' +
              'verified first: have its TXT record looked up.',
          );
        const before = await directoryOf(deps, tx, place);
        const token = createToken();
        const stored = { hash: hashOf(deps.secrets, token), mask_value: maskApiKey(token) };
        await setToken(tx, place.domain_id, stored, deps.clock.now());
        const after = await directoryOf(deps, tx, place);
        record(entryOf(before.is_on ? 'rolled' : 'created', place, before, after));
        return isValidateOnly(request) ? after : { ...after, token };
      }),
  );
}

function groupRoutes(app: FastifyInstance, deps: Deps): void {
  app.get(
    group_url,
    {
      config: reading,
      schema: { summary: 'Retrieve a group of a directory', response: { 200: Group } },
    },
    async (request) => groupOf(deps.db, request, await placeOf(deps.db, request)),
  );
  const description =
    'While any group of the directory has a level, whom the directory has in hand has the ' +
    'highest level of their groups, else 1; owners are left alone. Where the last level is ' +
    'taken away, levels stay as they are.';
  const summary = 'Say what level the people of a group have';
  const response = { 200: Group };
  app.patch(
    group_url,
    { config: changing, schema: { summary, description, body: GroupPatch, response } },
    changeGroup(deps, GroupPatch),
  );
  app.put(
    group_url,
    { config: changing, schema: { summary, description, body: GroupPut, response } },
    changeGroup(deps, GroupPut),
  );
}

function changeGroup({ secrets }: Deps, schema: typeof GroupPatch | typeof GroupPut) {
  return (request: FastifyRequest, reply: FastifyReply) =>
    write(request, reply, 200, async (tx, record) => {
      const place = await placeOf(tx, request, 'lock');
      const before = await groupOf(tx, request, place, 'lock');
      ifMatch(request, before);
      const { level = before.level } = body(request, schema);
      await setGroupLevel(tx, before.id, level);
      const after = await groupOf(tx, request, place);
      const changes = changesOf(before, after);
      // Nobody loses a level by hand with the last one: whoever takes it away looks at the people.
      if (changes.length > 0)
        await settleAndTell(tx, secrets, place, actorOf(request, undefined), false);
      const { id: item_id, display_name: item_name } = after;
      record({ activity: 'updated', scope: 'scim_group', item_id, item_name, changes }, before);
      return after;
    });
}

type Place = DomainPlace & { is_verified: boolean };

/** The domain that the path names; throws 404 without one. */
async function placeOf(db: Queryable, request: FastifyRequest, lock?: 'lock'): Promise<Place> {
  const { organization_id } = request.access;
  const id = uuidParameter(request, 'id');
  const { domain, is_verified } = (await findDomain(db, organization_id, id, lock)) ?? missing();
  return { domain_id: id, domain, is_verified, organization: { id: organization_id, name: '' } };
}

async function groupOf(
  db: Queryable,
  request: FastifyRequest,
  { domain_id }: DomainPlace,
  lock?: 'lock',
): Promise<GroupRow> {
  return (await findGroupRow(db, domain_id, uuidParameter(request, 'group_id'), lock)) ?? missing();
}

function directoryOf({ config }: Deps, db: Queryable, place: DomainPlace): Promise<DirectoryRow> {
  return readDirectory(db, place, baseUrl(config, place.domain_id));
}

function entryOf(
  activity: string,
  { domain_id, domain }: DomainPlace,
  before: DirectoryRow,
  after: DirectoryRow | undefined,
): Entry {
  const said = (row: DirectoryRow | undefined) =>
    row?.is_on === true
      ? { mask_value: row.mask_value, token_created_at: row.token_created_at }
      : undefined;
  const changes = changesOf(said(before), said(after));
  return { activity, scope: 'scim', item_id: domain_id, item_name: domain, changes };
}
