import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { findSiteApps } from '../../engine/plugins/running/site_script.ts';
import { NoFields, body } from '../../platform/http/bodies/body.ts';
import { missing, notFound } from '../../platform/http/errors.ts';
import { isKnown } from '../../platform/http/etag.ts';
import { hiddenRoute, problem } from '../../platform/http/hidden_route.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { addRoute, addWrite } from '../../platform/http/records.ts';
import { requirePluginsLevel } from '../plugins/store.ts';
import { openKeptScripts } from './kept_scripts.ts';
import { SiteScript } from './schema.ts';
import { findSiteToken, rotateSiteToken } from './store.ts';

const base = '/api/projects/:project_id/site_apps/';

/**
 * Routes of `/site_apps/<token>.js`, which web pages load, and
 * `/api/projects/:project_id/site_apps/`, which returns the token.
 */
export function siteAppRoutes(app: FastifyInstance, deps: Deps): void {
  tokenRoutes(app, deps);
  scriptRoute(app, deps);
}

function tokenRoutes(app: FastifyInstance, { db, config }: Deps): void {
  const show = async (queryable: Queryable, team_id: number): Promise<SiteScript> => {
    const token = (await findSiteToken(queryable, team_id)) ?? missing();
    const { apps } = (await findSiteApps(queryable, token)) ?? missing();
    return {
      site_token: token,
      url: `${config.public_url}/site_apps/${token}.js`,
      apps: apps.map(({ id, name }) => ({ id, name })),
    };
  };
  addRoute(app, {
    url: base,
    config: { within: 'project', scope: 'plugin:read' },
    summary: "Retrieve the address from which web pages load the project's site apps",
    response: { 200: SiteScript },
    handler: async (request) => {
      await requirePluginsLevel(db, request.access, 3);
      return show(db, request.access.team_id!);
    },
  });
  addWrite(app, {
    url: `${base}rotate/`,
    config: { within: 'project', scope: 'plugin:write', level: 8 },
    summary: "Give the script of the project's site apps another address",
    description:
      'The old address stops working. Change the pages that load it. Needs the plugins ' +
      'access level 3.',
    response: { 200: SiteScript },
    work: async ({ request, tx, record }) => {
      await requirePluginsLevel(tx, request.access, 3);
      body(request, NoFields);
      const team_id = request.access.team_id!;
      const before = (await findSiteToken(tx, team_id, 'lock')) ?? missing();
      await rotateSiteToken(tx, team_id);
      const after = await show(tx, team_id);
      const changes = [
        { field: 'site_token', action: 'changed' as const, before, after: after.site_token },
      ];
      record({
        activity: 'site_token_rotated',
        scope: 'project',
        item_id: String(team_id),
        item_name: null,
        changes,
      });
      return after;
    },
  });
}

function scriptRoute(app: FastifyInstance, deps: Deps): void {
  const scripts = openKeptScripts(deps);
  app.get(
    '/site_apps/:file',
    hiddenRoute({ 200: ['application/javascript'], 304: [], 404: [problem], 503: [problem] }),
    async (request, reply) => {
      const { file } = request.params as { file: string };
      const token = /^(slw_[0-9a-f]{32})\.js$/.exec(file)?.[1];
      const script = token === undefined ? undefined : await scripts.find(token);
      if (script === undefined) throw notFound();
      // Any page may load it, and its content is public.
      reply
        .header('etag', script.etag)
        .header('cache-control', 'public, max-age=60, stale-while-revalidate=600')
        .header('access-control-allow-origin', '*')
        .header('cross-origin-resource-policy', 'cross-origin');
      if (isKnown(request, script.etag)) return reply.code(304).send();
      return reply.type('application/javascript; charset=utf-8').send(script.text);
    },
  );
}
