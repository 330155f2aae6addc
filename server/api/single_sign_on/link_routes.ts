import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import type { Deps } from '../../deps.ts';
import { refuseCrossSite } from '../../platform/http/caller/cross_site.ts';
import { html } from '../../platform/http/pages/html.ts';
import { sendPage } from '../../platform/http/pages/page.ts';
import { query } from '../../platform/http/lists/query.ts';
import { write } from '../../platform/http/write.ts';
import { startSession } from '../sessions/store.ts';
import { browserRoute, countSignIn, readForm } from './browser_route.ts';
import { useSignInLink } from './let_in.ts';
import { SignInRefused } from './refusal.ts';
import { sessionEntry } from './session_entry.ts';

const url = '/login/link/';
const Shown = Type.Object({ token: Type.Optional(Type.String()) });

/**
 * The link that the operator made with `sluice user let-in`: a page with a button, so that nothing
 * that merely looks at the address uses it up, and the sign-in.
 */
export function linkRoutes(app: FastifyInstance, deps: Deps): void {
  app.get(url, browserRoute('link'), async (request, reply) => {
    const { token = '' } = query(request, Shown);
    const body = html`<form method="post" action="${url}">
      <input type="hidden" name="token" value="${token}" />
      <p>This link of the operator signs you in, once.</p>
      <button>Sign in</button>
    </form>`;
    return sendPage(reply, 200, { title: 'Sign in', body, posts_form: true });
  });

  app.post(url, browserRoute('link'), async (request, reply) => {
    refuseCrossSite(app.context, request);
    const token = readForm(request).get('token') ?? '';
    await write(request, reply, 200, async (tx, record, afterwards) => {
      const user = await useSignInLink(tx, deps, token);
      if (user === undefined)
        throw new SignInRefused(
          'link_unknown',
          'The sign-in link is unknown, used, expired, or a newer one took its place.',
        );
      record(
        sessionEntry(user, await startSession(tx, { request, reply, afterwards }, user, 'link')),
      );
    });
    countSignIn(request, 'link', 'accepted');
    return reply.redirect('/', 303);
  });
}
