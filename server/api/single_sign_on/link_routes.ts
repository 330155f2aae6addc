import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import type { Deps } from '../../deps.ts';
import { refuseCrossSite } from '../../platform/http/cross_site.ts';
import { query } from '../../platform/http/query.ts';
import { write } from '../../platform/http/write.ts';
import { startSession } from '../sessions/store.ts';
import { browserRoute, countSignIn, readForm } from './browser_route.ts';
import { useSignInLink } from './let_in.ts';
import { sendPage } from './pages.ts';
import { SignInRefused } from './refusal.ts';
import { sessionEntry } from './session_entry.ts';

const url = '/login/link/';
const Shown = Type.Object({ token: Type.Optional(Type.String({ description: 'The token of the link.' })) });

/** The link that the operator made with `sluice user let-in`: a page with a button, so that nothing that merely looks at the address uses it up, and the sign-in. */
export function linkRoutes(app: FastifyInstance, deps: Deps): void {
  app.get(url, browserRoute('link', { summary: 'Open a sign-in link of the operator', operationId: 'login_link', querystring: Shown }), async (request, reply) => {
    const { token = '' } = query(request, Shown);
    const form = { action: url, button: 'Sign in', fields: { token } };
    return sendPage(reply, 200, { title: 'Sign in', paragraphs: ['This link of the operator signs you in, once.'], form });
  });

  const described = { summary: 'Sign in with a link of the operator', operationId: 'login_link_use', body: Type.Object({ token: Type.String() }) };
  app.post(url, browserRoute('link', described), async (request, reply) => {
    refuseCrossSite(app.context, request);
    const token = readForm(request).get('token') ?? '';
    await write(request, reply, 200, async (tx, record, afterwards) => {
      const user = await useSignInLink(tx, deps, token);
      if (user === undefined) throw new SignInRefused('link_unknown', 'The sign-in link is unknown, used, expired, or a newer one took its place.');
      record(sessionEntry(user, await startSession(tx, { request, reply, afterwards }, user, 'link')));
    });
    countSignIn(request, 'link', 'accepted');
    return reply.redirect('/', 303);
  });
}
