import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { findChainState } from '../../platform/activity/check.ts';
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
import { ActivityChain, ActivityQuery, LoggedEntry, activity_orders } from './schema.ts';
import { level_of_addresses, listActivity, listedActivity } from './store.ts';
import type { ActivityView } from './store.ts';

const listing = {
  querystring: ActivityQuery,
  response: { 200: cursorPageOf(LoggedEntry) },
  tags: ['activity'],
  description: lines_description,
};

/**
 * Registers the routes of the activity log: changes of an organization, and a person's changes of
 * their own account. Read only: the changes themselves write the entries.
 */
export function activityRoutes(app: FastifyInstance, deps: Deps): void {
  chainRoutes(app, deps);
  addRoute(app, {
    url: '/api/organizations/:organization_id/activity/',
    config: { scope: 'activity_log:read', within: 'organization', media_types: [lines_type] },
    ...listing,
    summary: 'List changes in the organization, newest first',
    handler: (request, reply) => {
      const { organization_id, level } = request.access;
      return answerActivity(deps, request, reply, {
        chain_id: organization_id,
        caller: request.caller,
        sees_addresses: level >= level_of_addresses,
      });
    },
  });

  addRoute(app, {
    url: '/api/users/@me/activity/',
    config: { scope: 'user:read', own_account: true, media_types: [lines_type] },
    ...listing,
    operationId: 'users_me_activity_list',
    summary: 'List changes of your own account, keys and sessions, newest first',
    handler: (request, reply) =>
      answerActivity(deps, request, reply, {
        chain_id: personOf(request).user_uuid,
        caller: request.caller,
        sees_addresses: true,
      }),
  });
}

/** Routes `chain/` of both logs: whether the entries are unchanged. */
function chainRoutes(app: FastifyInstance, { db, secrets }: Deps): void {
  const response = { 200: ActivityChain };
  addRoute(app, {
    url: '/api/organizations/:organization_id/activity/chain/',
    config: { scope: 'activity_log:read', within: 'organization' },
    summary: "Retrieve the state of the chain of the organization's log",
    tags: ['activity'],
    response,
    handler: (request) => findChainState(db, secrets, request.access.organization_id),
  });
  addRoute(app, {
    url: '/api/users/@me/activity/chain/',
    config: { scope: 'user:read', own_account: true },
    summary: 'Retrieve the state of the chain of your own log',
    operationId: 'users_me_activity_chain_retrieve',
    tags: ['activity'],
    response,
    handler: (request) => findChainState(db, secrets, personOf(request).user_uuid),
  });
}

async function answerActivity(
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  view: ActivityView,
) {
  const { format, cursor, limit, ordering: _order, ...wanted } = query(request, ActivityQuery);
  const keyset = keysetAsked(request, activity_orders, 'bigint');
  if (!asksForLines(request, { format, cursor, limit }))
    return answerKeyset(request, ...(await listedActivity(deps.db, view, keyset, wanted)));
  return answerLines(request, reply, keyset, {
    name: 'activity',
    organization_id: view.chain_id === view.caller.user_uuid ? null : view.chain_id,
    read: (portion) => listActivity(deps.db, view, portion, wanted),
  });
}
