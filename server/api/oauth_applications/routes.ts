import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import type { Deps } from '../../deps.ts';
import { redirectAddress } from '../../engine/plugins/oauth/addresses.ts';
import { changesOf, secretChange } from '../../platform/activity/changes.ts';
import type { Change } from '../../platform/activity/changes.ts';
import { body } from '../../platform/http/bodies/body.ts';
import { uuidParameter } from '../../platform/http/caller/access.ts';
import { conflict, missing } from '../../platform/http/errors.ts';
import { ifMatch } from '../../platform/http/etag.ts';
import { PageQuery, pageAnswer, pageAsked, pageOf } from '../../platform/http/lists/pagination.ts';
import { write } from '../../platform/http/write.ts';
import type { Entry } from '../../platform/http/write.ts';
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
const one = `${base}:id/`;
const reading = { within: 'organization', scope: 'plugin:read' } as const;
const changing = { within: 'organization', scope: 'plugin:write', level: 8 } as const;

/**
 * Routes of `/api/organizations/:organization_id/oauth_applications/`: the applications that an
 * organization has registered with the vendors of tools. List, create, retrieve, change, delete.
 */
export function oauthApplicationRoutes(app: FastifyInstance, deps: Deps): void {
  readingRoutes(app, deps);
  createRoute(app, deps);
  changeRoutes(app, deps);
  deleteRoute(app, deps);
}

type Shown = Static<typeof OauthApplication>;

function shown({ config }: Deps, row: OauthApplicationRow): Shown {
  return { ...row, redirect_uri: redirectAddress(config.public_url, row.tool) };
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
  app.get(
    base,
    {
      config: reading,
      schema: {
        summary: "List the organization's OAuth applications at vendors of tools, by tool",
        querystring: PageQuery,
        response: { 200: pageOf(OauthApplication) },
      },
    },
    async (request) => {
      await requirePluginsLevel(deps.db, request.access, 3);
      const { rows, count } = listApplications(request.access.organization_id);
      const page = pageAsked(request);
      const found = await deps.db.rows<OauthApplicationRow>(rows(page));
      const all = await deps.db.row<{ count: number }>(count);
      return pageAnswer(
        request,
        page,
        all!.count,
        found.map((row) => shown(deps, row)),
      );
    },
  );
  app.get(
    one,
    {
      config: reading,
      schema: { summary: 'Retrieve an OAuth application', response: { 200: OauthApplication } },
    },
    (request) => getApplication(deps.db, deps, request),
  );
}

function createRoute(app: FastifyInstance, deps: Deps): void {
  app.post(
    base,
    {
      config: changing,
      schema: {
        summary: 'Register an OAuth application for a tool',
        description:
          'First create the application at the vendor, with the redirect address `<public ' +
          'url>/complete/tool/<tool>/`. One application for each tool. Addresses and scopes ' +
          "default to the vendor's documented values, if there are any. Needs the plugins " +
          'access level 3.',
        body: OauthApplicationCreate,
        response: { 201: OauthApplication },
      },
    },
    (request, reply) =>
      write(request, reply, 201, async (tx, record) => {
        await requirePluginsLevel(tx, request.access, 3);
        const sent = body(request, OauthApplicationCreate);
        const id = await createApplication(tx, deps, request.access.organization_id, sent);
        const created = await getApplication(tx, deps, request, id);
        record(entryOf('created', undefined, created, [secretChange('client_secret', 'created')]));
        return created;
      }),
  );
}

function changeRoutes(app: FastifyInstance, deps: Deps): void {
  const change =
    (schema: typeof OauthApplicationPatch | typeof OauthApplicationReplacement) =>
    (request: FastifyRequest, reply: FastifyReply) =>
      write(request, reply, 200, async (tx, record) => {
        const before = await getApplication(tx, deps, request, undefined, 'lock');
        ifMatch(request, before);
        const sent = body(request, schema);
        await changeApplication(tx, deps, before, sent);
        const after = await getApplication(tx, deps, request);
        const secret =
          sent.client_secret === undefined ? [] : [secretChange('client_secret', 'changed')];
        record(entryOf('updated', before, after, secret), before);
        return after;
      });
  const description =
    'Another `client_id`, `token_url` or `revoke_url` needs the `client_secret` with it. ' +
    'After a change of the client or an address, connect the tools again. Needs the plugins ' +
    'access level 3.';
  app.patch(
    one,
    {
      config: changing,
      schema: {
        summary: 'Change the sent fields of an OAuth application',
        description,
        body: OauthApplicationPatch,
        response: { 200: OauthApplication },
      },
    },
    change(OauthApplicationPatch),
  );
  app.put(
    one,
    {
      config: changing,
      schema: {
        summary: 'Change an OAuth application; what may be left out keeps its value',
        description,
        body: OauthApplicationReplacement,
        response: { 200: OauthApplication },
      },
    },
    change(OauthApplicationReplacement),
  );
}

function deleteRoute(app: FastifyInstance, deps: Deps): void {
  app.delete(
    one,
    {
      config: changing,
      schema: {
        summary: 'Delete an OAuth application',
        description:
          '409 while tools are connected with it: disconnect them first, so that their ' +
          'tokens are revoked. Needs the plugins access level 3.',
        response: { 204: { type: 'null' } },
      },
    },
    (request, reply) =>
      write(request, reply, 204, async (tx, record) => {
        const before = await getApplication(tx, deps, request, undefined, 'lock');
        ifMatch(request, before);
        const connections = await countConnections(tx, before.id);
        if (connections > 0)
          throw conflict(`Tools are connected with it (${connections}): disconnect them first.`);
        record(entryOf('deleted', before, undefined, []));
        await deleteApplication(tx, before.id);
      }),
  );
}

function entryOf(
  activity: string,
  before: Shown | undefined,
  after: Shown | undefined,
  secret: Change[],
): Entry {
  const { id, tool } = (after ?? before)!;
  const unsaid = ['id', 'connections', 'created_at', 'updated_at'] as const;
  const changes = [...changesOf(before, after, [...unsaid]), ...secret];
  return { activity, scope: 'oauth_application', item_id: id, item_name: tool, changes };
}
