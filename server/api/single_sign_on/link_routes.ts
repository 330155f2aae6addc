import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { body } from '../../platform/http/bodies/body.ts';
import { refuseCrossSite } from '../../platform/http/caller/cross_site.ts';
import { forbidden, notedAs, twoCredentials } from '../../platform/http/errors.ts';
import { Problem } from '../../platform/http/responses.ts';
import { write } from '../../platform/http/write.ts';
import { addRoute } from '../../platform/http/records.ts';
import { beginningEntry, startSession } from '../sessions/store.ts';
import { GivenToken, LinkedEmail } from '../users/schema.ts';
import { limitAddress } from './limit.ts';
import { countSignIn } from './browser_route.ts';
import { useSignInLink } from './let_in.ts';

const refusal = 'The link was used, has expired, or was replaced by a newer one.';

/**
 * Route `/api/single_sign_on/link/`: the sign-in with a link that the operator created, or that the
 * first start printed. The console's page behind the link sends the token when its button is
 * pressed, so that a link preview does not use it up.
 */
export function linkRoutes(app: FastifyInstance, deps: Deps): void {
  addRoute(app, {
    method: 'POST',
    url: '/api/single_sign_on/link/',
    config: { scope: 'public' },
    summary: "Sign in with the token of an operator's link",
    description:
      'Sets the session cookie. A link signs in once, within 15 minutes; ' +
      '`sluice user let-in` creates one.',
    operationId: 'single_sign_on_link_create',
    tags: ['single_sign_on'],
    body: GivenToken,
    response: {
      200: LinkedEmail,
      400: Problem,
      403: Problem,
      413: Problem,
      415: Problem,
      429: Problem,
      503: Problem,
    },
    handler: async (request, reply) => {
      refuseCrossSite(app.context, request);
      if (request.headers.authorization !== undefined) throw twoCredentials();
      const { token } = body(request, GivenToken);
      limitAddress(request, 'single sign-on');
      const answer = await write(request, reply, 200, async (tx, record, afterwards) => {
        const user = await useSignInLink(tx, deps, token);
        if (user === undefined) {
          countSignIn(request, 'link', 'link_unknown');
          throw notedAs(forbidden(refusal), 'single_sign_on_refused', 'link_unknown');
        }
        // The operator of the server vouches for the holder of the link.
        const opening = { method: 'link', shows_own_factor: true };
        const session = await startSession(tx, { request, reply, afterwards }, user, opening);
        record(beginningEntry(user, session));
        return { email: user.email };
      });
      countSignIn(request, 'link', 'accepted');
      return answer;
    },
  });
}
