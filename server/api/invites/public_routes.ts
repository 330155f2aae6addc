import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import type { Deps } from '../../deps.ts';
import { query } from '../../platform/http/lists/query.ts';
import { Problem } from '../../platform/http/responses.ts';
import { addRoute } from '../../platform/http/records.ts';
import { acceptInvite } from './accept.ts';
import { findPerson, getInviteFor } from './found.ts';
import { Acceptance, Accepted, ShownInvite, ShownQuery } from './schema.ts';

const url = '/api/invites/:id/';
const config = { scope: 'public' } as const;
const refusals = { 400: Problem, 401: Problem, 404: Problem, 429: Problem, 503: Problem };

/** Routes for invited people, who may not have an account yet. */
export function publicInviteRoutes(app: FastifyInstance, deps: Deps): void {
  addRoute(app, {
    url,
    config,
    summary: 'Show an invite',
    description:
      'Needs the token of the link, or a session with the verified address. An unknown id ' +
      'and a wrong token give the same 404.',
    querystring: ShownQuery,
    response: { 200: ShownInvite, ...refusals },
    handler: async (request): Promise<Static<typeof ShownInvite>> => {
      const { token } = query(request, ShownQuery);
      const { record, organization, addressee } = await getInviteFor(request, deps.db, {
        caller: await findPerson(request),
        token,
      });
      const { id, target_email, first_name, level, message, is_expired, created_by } = record;
      const inviter =
        created_by === null
          ? null
          : `${created_by.first_name} ${created_by.last_name}`.trim() || created_by.email;
      const has_account = addressee !== undefined;
      return {
        id,
        organization_name: organization.name,
        invited_by: inviter,
        target_email,
        first_name,
        level,
        message,
        is_expired,
        has_account,
      };
    },
  });

  addRoute(app, {
    method: 'POST',
    url: `${url}accept/`,
    config,
    summary: 'Accept an invite: sign up, or join with the signed-in account',
    description:
      'Without an account with the address: send `token` and `password`; the account is ' +
      'created and signed in. With an account: sign in first, or send a key with the scope ' +
      '`organization_member:write` and without limits. An invite can be accepted once.',
    body: Acceptance,
    response: { 201: Accepted, ...refusals, 403: Problem, 413: Problem, 415: Problem },
    handler: (request, reply) => acceptInvite(deps, request, reply),
  });
}
