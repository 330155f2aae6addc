import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { PageQuery, answerPage, pageOf } from '../../platform/http/lists/pagination.ts';
import { createRoutes } from './create_routes.ts';
import { publicInviteRoutes } from './public_routes.ts';
import { recordRoutes } from './record_routes.ts';
import { Invite } from './schema.ts';
import type { InviteRow } from './schema.ts';
import { listInvites } from './store.ts';

/**
 * Routes of `/api/organizations/:organization_id/invites/` for members, and `/api/invites/:id/` for
 * invited people.
 */
export function inviteRoutes(app: FastifyInstance, deps: Deps): void {
  app.get(
    '/api/organizations/:organization_id/invites/',
    {
      config: { scope: 'organization_member:read', within: 'organization' },
      schema: {
        summary: 'List the invites, including expired ones, newest first',
        querystring: PageQuery,
        response: { 200: pageOf(Invite) },
      },
    },
    (request) =>
      answerPage<InviteRow>(
        request,
        deps.db,
        listInvites(request.access.organization_id, deps.clock.now()),
      ),
  );
  createRoutes(app, deps);
  recordRoutes(app, deps);
  publicInviteRoutes(app, deps);
}
