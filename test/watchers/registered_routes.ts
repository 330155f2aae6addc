import type { FastifyInstance, RouteOptions } from 'fastify';
import type { Scope } from '../../server/platform/http/caller/scopes.ts';
import { documentedRoute } from '../../server/platform/http/responses.ts';

/**
 * A route of the app. `scope` is `public` for a route without a key and `any` for one that requires
 * no scope. `session`: a key is refused. `path` names its parameters as `:name`.
 */
export type RegisteredRoute = {
  method: string;
  path: string;
  scope: Scope | 'any' | 'public';
  session: boolean;
  /** True if it requires a session's recent confirmation. */
  recent_factor: boolean;
  no_store: boolean;
  /** True if it refuses a session that reaches only a part of the account. */
  own_account: boolean;
  /** Undefined: the value of `within`. */
  service_keys: boolean | undefined;
  within: 'organization' | 'project' | undefined;
  level: number;
  responses: Record<
    string,
    { type?: unknown; title?: string; properties?: Record<string, unknown> }
  >;
  query: { properties?: Record<string, Record<string, unknown>> } | undefined;
  body: { properties?: Record<string, unknown> } | undefined;
};

/**
 * Collects the routes of an app that is built but not ready yet. It omits HEAD and routes that only
 * answer 405, 308 and OPTIONS. Complete once the app is ready.
 */
export function collectRoutes(app: FastifyInstance): () => RegisteredRoute[] {
  const routes: RouteOptions[] = [];
  app.addHook('onRoute', (route) => void routes.push(route));
  return () =>
    routes
      .filter(
        (route) =>
          route.config?.scope !== undefined &&
          route.method !== 'HEAD' &&
          (route.config.scope !== 'public' || route.config.declared?.hide !== true),
      )
      .map((route) => ({ route, schema: documentedRoute(route) }))
      .map(({ route, schema }) => ({
        method: String(route.method),
        path: route.url,
        scope: route.config!.scope!,
        session: route.config!.session ?? false,
        recent_factor: route.config!.recent_factor ?? false,
        no_store: route.config!.no_store ?? false,
        own_account: route.config!.own_account ?? false,
        service_keys: route.config!.service_keys,
        within: route.config!.within,
        level: route.config!.level ?? 1,
        responses: (schema?.response ?? {}) as RegisteredRoute['responses'],
        query: schema?.querystring as RegisteredRoute['query'],
        body: schema?.body as RegisteredRoute['body'],
      }));
}
