import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import type { Deps } from '../../deps.ts';
import { redirectAddress } from '../../engine/plugins/oauth/addresses.ts';
import { secretChange } from '../../platform/activity/changes.ts';
import { body } from '../../platform/http/bodies/body.ts';
import { uuidParameter } from '../../platform/http/caller/access.ts';
import { conflict, missing } from '../../platform/http/errors.ts';
import { addList, addRecord, addWrite, entryWriter } from '../../platform/http/records.ts';
import type { Records } from '../../platform/http/records.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { requirePluginsLevel } from '../plugins/store.ts';
import { changeApplication, createApplication } from './change.ts';
import {
  OauthApplication,
  OauthApplicationCreate,
  OauthApplicationPatch,
  OauthApplicationReplacement,
} from './schema.ts';
import type { OauthApplicationRow } from './schema.ts';
import { countConnections, deleteApplication, findApplication, listApplications } from './store.ts';

const base = '/api/organizations/:organization_id/oauth_applications/';
const reading = { within: 'organization', scope: 'plugin:read' } as const;
const changing = { within: 'organization', scope: 'plugin:write', level: 8 } as const;

type Shown = Static<typeof OauthApplication>;

function shown({ config }: Deps, row: OauthApplicationRow): Shown {
  return { ...row, redirect_uri: redirectAddress(config.public_url, row.tool) };
}

const entryOf = entryWriter('oauth_application', ({ tool }: Shown) => tool, [
  'id',
  'connections',
  'created_at',
  'updated_at',
]);

const recordsOf = (deps: Deps): Records<Shown> => ({
  url: `${base}:id/`,
  answer: OauthApplication,
  reading,
  changing,
  get: (db, request, lock) => getApplication(db, deps, request, undefined, lock),
  entry: entryOf,
});

/**
 * Routes of `/api/organizations/:organization_id/oauth_applications/`: the applications that an
 * organization has registered with the vendors of tools. List, create, retrieve, change, delete.
 */
export function oauthApplicationRoutes(app: FastifyInstance, deps: Deps): void {
  readingRoutes(app, deps);
  createRoute(app, deps);
  recordRoutes(app, deps);
}

async function getApplication(
  db: Queryable,
  deps: Deps,
  request: FastifyRequest,
  id = uuidParameter(request, 'id'),
  lock?: 'lock',
): Promise<Shown> {
  await requirePluginsLevel(db, request.access, 3);
  const { organization_id } = request.access;
  return shown(deps, (await findApplication(db, organization_id, { id }, lock)) ?? missing());
}

function readingRoutes(app: FastifyInstance, deps: Deps): void {
  addList(app, {
    url: base,
    config: reading,
    summary: "List the organization's OAuth applications at vendors of tools, by tool",
    answer: OauthApplication,
    rows: async ({ access }) => {
      await requirePluginsLevel(deps.db, access, 3);
      return listApplications(access.organization_id);
    },
    shown: (row: OauthApplicationRow) => shown(deps, row),
  });
}

function createRoute(app: FastifyInstance, deps: Deps): void {
  addWrite(app, {
    url: base,
    config: changing,
    summary: 'Register an OAuth application for a tool',
    description:
      'First create the application at the vendor, with the redirect address `<public ' +
      'url>/complete/tool/<tool>/`. One application for each tool. Addresses and scopes ' +
      "default to the vendor's documented values, if there are any. Needs the plugins " +
      'access level 3.',
    body: OauthApplicationCreate,
    response: { 201: OauthApplication },
    work: async ({ request, tx, record }) => {
      await requirePluginsLevel(tx, request.access, 3);
      const sent = body(request, OauthApplicationCreate);
      const id = await createApplication(tx, deps, request.access.organization_id, sent);
      const created = await getApplication(tx, deps, request, id);
      record(entryOf('created', undefined, created, [secretChange('client_secret', 'created')]));
      return created;
    },
  });
}

function recordRoutes(app: FastifyInstance, deps: Deps): void {
  addRecord(app, recordsOf(deps), {
    retrieve: { summary: 'Retrieve an OAuth application' },
    change: {
      description:
        'Another `client_id`, `token_url` or `revoke_url` needs the `client_secret` with it. ' +
        'After a change of the client or an address, connect the tools again. Needs the plugins ' +
        'access level 3.',
      patch: {
        summary: 'Change the sent fields of an OAuth application',
        body: OauthApplicationPatch,
      },
      put: {
        summary: 'Change an OAuth application; what may be left out keeps its value',
        body: OauthApplicationReplacement,
      },
      apply: async ({ tx, request, before, schema }) => {
        const sent = body(request, schema);
        await changeApplication(tx, deps, before, sent);
        return sent.client_secret === undefined ? [] : [secretChange('client_secret', 'changed')];
      },
    },
    remove: {
      summary: 'Delete an OAuth application',
      description:
        '409 while tools are connected with it: disconnect them first, so that their ' +
        'tokens are revoked. Needs the plugins access level 3.',
      apply: async ({ tx, before }) => {
        const connections = await countConnections(tx, before.id);
        if (connections > 0)
          throw conflict(`Tools are connected with it (${connections}): disconnect them first.`);
        await deleteApplication(tx, before.id);
      },
    },
  });
}
