import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { createRoutes } from './create_routes.ts';
import { publicInviteRoutes } from './public_routes.ts';
import { recordRoutes } from './record_routes.ts';
import { Invite } from './schema.ts';
import { listInvites } from './store.ts';
import { addList } from '../../platform/http/records.ts';

/**
 * Routes of `/api/organizations/:organization_id/invites/` for members, and `/api/invites/:id/` for
 * invited people.
 */
export function inviteRoutes(app: FastifyInstance, deps: Deps): void {
  addList(app, {
    url: '/api/organizations/:organization_id/invites/',
    config: { scope: 'organization_member:read', within: 'organization' },
    summary: 'List the invites, including expired ones, newest first',
    answer: Invite,
    rows: (request) => listInvites(request.access.organization_id, deps.clock.now()),
  });
  createRoutes(app, deps);
  recordRoutes(app, deps);
  publicInviteRoutes(app, deps);
}
