import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { serveStylesheet } from '../../platform/http/pages/stylesheet.ts';
import { singleSignOnApiRoutes } from './api_routes.ts';
import { linkRoutes } from './link_routes.ts';
import { openidRoutes } from './openid/routes.ts';
import { samlRoutes } from './saml/routes.ts';

/**
 * Routes of sign-ins through identity providers: SAML, OpenID, the operator's link, and their API.
 */
export function singleSignOnRoutes(app: FastifyInstance, deps: Deps): void {
  serveStylesheet(app);
  samlRoutes(app, deps);
  openidRoutes(app, deps);
  linkRoutes(app, deps);
  singleSignOnApiRoutes(app, deps);
}
