import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import type { Deps } from '../../deps.ts';
import { sendPage } from '../../platform/http/pages/page.ts';
import type { ShownInvite } from '../invites/schema.ts';
import { ask, askAccount } from './ask.ts';
import { expiredInvite, openInvite, unknownInvite } from './invite_views.ts';
import { findProviders } from './other_ways.ts';
import { page_route } from './page_route.ts';
import { scripts } from './scripts.ts';

type Asked = { Params: { id: string }; Querystring: { token?: string | string[] } };

/**
 * `/invite/:id?token=`: who invites to what, and the way in that fits who looks at it. Opening it
 * changes nothing.
 */
export function invitePage(app: FastifyInstance, deps: Deps): void {
  app.get<Asked>('/invite/:id', page_route, async (request, reply) => {
    const token = [request.query.token ?? []].flat()[0];
    const path = `/api/invites/${encodeURIComponent(request.params.id)}/`;
    const invite = await ask<Static<typeof ShownInvite>>(
      request,
      reply,
      token === undefined ? path : `${path}?token=${encodeURIComponent(token)}`,
      404,
    );
    if (invite === undefined) return sendPage(reply, 404, unknownInvite);
    if (invite.is_expired) return sendPage(reply, 410, expiredInvite(invite));
    const account = await askAccount(request, reply);
    const providers = await findProviders(deps, invite.target_email);
    return sendPage(reply, 200, {
      ...openInvite({ invite, path, token, email: account?.email }, providers),
      script: scripts.invite,
    });
  });
}
