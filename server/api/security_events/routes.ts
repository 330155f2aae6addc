import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { personOf } from '../../platform/http/caller/access.ts';
import { answerKeyset, cursorPageOf, keysetAsked } from '../../platform/http/lists/cursor.ts';
import {
  answerLines,
  asksForLines,
  lines_description,
  lines_type,
} from '../../platform/http/lists/lines_file.ts';
import { query } from '../../platform/http/lists/query.ts';
import { addRoute } from '../../platform/http/records.ts';
import { SecurityEvent, SecurityEventQuery, security_event_orders } from './schema.ts';
import { listSecurityEvents } from './store.ts';
import type { ListOwner } from './store.ts';

const listing = {
  querystring: SecurityEventQuery,
  response: { 200: cursorPageOf(SecurityEvent) },
  tags: ['activity'],
  description: lines_description,
};

/**
 * Routes of the security events, refusals and new devices: owners read the events of their
 * organization, and people the events about them. Read only; events are kept for 400 days.
 */
export function securityEventRoutes(app: FastifyInstance, deps: Deps): void {
  addRoute(app, {
    url: '/api/organizations/:organization_id/security_events/',
    config: {
      scope: 'activity_log:read',
      within: 'organization',
      level: 15,
      media_types: [lines_type],
    },
    ...listing,
    summary: 'List refusals that concern the organization, newest first; for owners',
    handler: (request, reply) =>
      answerEvents(deps, request, reply, { organization_id: request.access.organization_id }),
  });
  addRoute(app, {
    url: '/api/users/@me/security_events/',
    config: { scope: 'user:read', own_account: true, media_types: [lines_type] },
    ...listing,
    operationId: 'users_me_security_events_list',
    summary: 'List refusals about you, and your new devices, newest first',
    handler: (request, reply) =>
      answerEvents(deps, request, reply, { user_id: personOf(request).user_id }),
  });
}

async function answerEvents(
  { db }: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  owner: ListOwner,
) {
  const { format, cursor, limit, ordering: _order, ...wanted } = query(request, SecurityEventQuery);
  const keyset = keysetAsked(request, security_event_orders, 'bigint');
  const read = (page: typeof keyset) => listSecurityEvents(db, owner, page, wanted);
  if (!asksForLines(request, { format, cursor, limit }))
    return answerKeyset(request, keyset, await read(keyset));
  const organization_id = 'organization_id' in owner ? owner.organization_id : null;
  return answerLines(request, reply, keyset, { name: 'security_events', organization_id, read });
}
