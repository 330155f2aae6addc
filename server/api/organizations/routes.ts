import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { personOf } from '../../platform/http/caller/access.ts';
import { body } from '../../platform/http/bodies/body.ts';
import { conflict, forbidden, missing, ownFactorRequired } from '../../platform/http/errors.ts';
import { ifMatch } from '../../platform/http/etag.ts';
import { inTurn } from '../../platform/http/limits/heavy_turns.ts';
import { isValidateOnly } from '../../platform/http/lists/query.ts';
import { Problem } from '../../platform/http/responses.ts';
import { lockOutWriters } from '../../platform/http/confirm_access.ts';
import { write } from '../../platform/http/write.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { addList, addRecord, addWrite, entryWriter } from '../../platform/http/records.ts';
import { requireRightToCreate } from './right_to_create.ts';
import { Organization, OrganizationCreate, OrganizationPatch } from './schema.ts';
import type { OrganizationRow } from './schema.ts';
import {
  arePluginsUsedElsewhere,
  deleteOrganization,
  findOrganization,
  insertOrganization,
  listOrganizations,
  selectOrganization,
  updateOrganization,
} from './store.ts';

const url = '/api/organizations/:id/';
const one = { within: 'organization' } as const;
const changing = {
  ...one,
  scope: 'organization:write',
  level: 8,
  locks_organization: true,
} as const;
/** Leaves out fields that belong to the caller, the server or other records. */
const entryOf = entryWriter('organization', ({ name }: OrganizationRow) => name, [
  'updated_at',
  'membership_level',
  'teams',
  'available_product_features',
  'member_count',
  'managed_by',
]);

/** Routes of `/api/organizations/`: list, create, retrieve, change, delete. */
export function organizationRoutes(app: FastifyInstance, deps: Deps): void {
  listRoutes(app, deps);
  recordRoutes(app);
  deleteRoute(app);
}

function listRoutes(app: FastifyInstance, deps: Deps): void {
  addList(app, {
    url: '/api/organizations/',
    config: { scope: 'organization:read', service_keys: true },
    summary: 'List the organizations of the caller, oldest first',
    answer: Organization,
    rows: ({ caller }) => listOrganizations(caller),
  });

  addWrite(app, {
    url: '/api/organizations/',
    config: { scope: 'organization:write' },
    summary: 'Create an organization with a first project; the caller becomes its owner',
    description:
      'SLUICE_ORGANIZATION_CREATION decides who may: by default, members of an ' +
      'organization of this server. On a server without organizations everybody with an ' +
      'account may.',
    body: OrganizationCreate,
    response: { 201: Organization },
    work: async ({ request, tx, record }) => {
      const { user_id, session_id, scoped_organizations, scoped_teams } = personOf(request);
      if (session_id !== null && scoped_organizations !== null) throw ownFactorRequired();
      if (scoped_organizations !== null || scoped_teams !== null)
        throw forbidden(
          'A key that is limited to organizations or projects cannot create an organization.',
        );
      await requireRightToCreate(tx, deps, user_id);
      const created = await insertOrganization(tx, body(request, OrganizationCreate), user_id);
      record({
        ...entryOf('created', undefined, created),
        chain: { organization_id: created.id },
      });
      return created;
    },
  });
}

function recordRoutes(app: FastifyInstance): void {
  addRecord(
    app,
    {
      url,
      answer: Organization,
      reading: { ...one, scope: 'organization:read', record: selectOrganization },
      changing,
      get: async (db: Queryable, { access }: FastifyRequest, lock?: 'lock') =>
        (await findOrganization(db, access.organization_id, access.level, lock)) ?? missing(),
      entry: entryOf,
    },
    {
      retrieve: { summary: 'Retrieve an organization' },
      change: {
        patch: {
          summary: 'Change the sent fields of an organization',
          body: OrganizationPatch,
        },
        put: {
          summary: 'Change an organization; what may be left out keeps its value',
          body: OrganizationCreate,
        },
        apply: ({ tx, request, before, schema }) =>
          updateOrganization(tx, before.id, body(request, schema)),
      },
    },
  );
}

function deleteRoute(app: FastifyInstance): void {
  app.delete(
    url,
    {
      config: { ...changing, level: 15 },
      schema: {
        summary: 'Delete an organization with everything in it',
        description: '409 if a project of another organization has a config of one of its plugins.',
        response: { 204: { type: 'null' }, 409: Problem },
      },
    },
    (request, reply) =>
      inTurn(request, () =>
        write(request, reply, 204, async (tx, record) => {
          const { organization_id, level } = request.access;
          // A check deletes nothing, and waits for nobody.
          const isKept = isValidateOnly(request);
          if (!isKept) await lockOutWriters(tx, organization_id);
          const before = (await findOrganization(tx, organization_id, level, 'lock')) ?? missing();
          ifMatch(request, before);
          if (await arePluginsUsedElsewhere(tx, organization_id))
            throw conflict(
              'Projects of other organizations use global plugins of this organization: they ' +
                'must remove their configs first.',
            );
          record(entryOf('deleted', before, undefined));
          if (!isKept) await deleteOrganization(tx, organization_id);
        }),
      ),
  );
}
