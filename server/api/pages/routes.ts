import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { serveAssets } from '../../platform/http/pages/assets.ts';
import { stylesheet } from '../../platform/http/pages/page.ts';
import { sessionTokenOf } from '../../platform/http/caller/session.ts';
import { accountPage } from './account_page.ts';
import { invitePage } from './invite_page.ts';
import { linkPages } from './link_pages.ts';
import { loginPages } from './login_pages.ts';
import { page_route } from './page_route.ts';
import { scripts } from './scripts.ts';

/**
 * The pages that mails and browsers lead to. They change nothing: their scripts ask the API, which
 * has all the rules.
 */
export function pageRoutes(app: FastifyInstance, deps: Deps): void {
  serveAssets(app, [stylesheet, ...Object.values(scripts)]);
  app.get('/', page_route, (request, reply) =>
    reply.redirect(sessionTokenOf(request) === undefined ? '/login' : '/account', 303),
  );
  loginPages(app, deps);
  linkPages(app);
  invitePage(app, deps);
  accountPage(app, deps);
}
