import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';
import findMyWay from 'find-my-way';
import type { HTTPMethod } from 'find-my-way';
import { basePath } from './base_path.ts';
import type { Completed } from './completed.ts';
import { allowPages } from './guards/cross_origin.ts';
import { methodNotAllowed } from './errors.ts';

/** Methods of a path that ends with a slash, in the order of `Allow`. */
export const all_methods: readonly HTTPMethod[] = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
];

type Path = { url: string; methods: Set<string>; is_open: boolean };

/**
 * Returns true for routes whose paths answer every method and redirect from the path without its
 * slash: those of the API and of sign-in, but not those of other protocols.
 */
export function isCompleted({ url, config }: Pick<RouteOptions, 'url' | 'config'>): boolean {
  return /^\/(?:api|login|complete)\//.test(url) && url.endsWith('/') && config?.foreign !== true;
}

/**
 * Returns true for routes whose paths answer other methods with 405: also those of open foreign
 * protocols, with and without a slash.
 */
export function tellsMethods(route: Pick<RouteOptions, 'url' | 'config'>): boolean {
  return isCompleted(route) || isOpen(route);
}

/**
 * Returns true for routes of foreign protocols that are open to everybody, including pages of all
 * sites.
 */
function isOpen({ config }: Pick<RouteOptions, 'config'>): boolean {
  return config?.foreign === true && config.scope === 'public';
}

/** Returns the methods of `Allow` for a path that has these. */
export function allowedMethods(methods: ReadonlySet<string>): string[] {
  return all_methods.filter((method) => method === 'OPTIONS' || methods.has(method));
}

/**
 * Prepares the answer for each request whose path lacks its method: `completed` of a request is set
 * from the first hook on. Called before the routes are registered. Fastify's own router finds the
 * paths, in a tree of one method. Explicit routes for all missing methods would be ten for each
 * real one, and half of a server's start time.
 */
export function findLacking(app: FastifyInstance): void {
  const paths = findMyWay();
  const known = new Map<string, Path>();
  app.addHook('onRoute', (route) => {
    if (!tellsMethods(route)) return;
    const { url, method } = route;
    const path = known.get(url) ?? { url, methods: new Set(), is_open: isOpen(route) };
    if (!known.has(url)) paths.on('GET', url, () => undefined, path);
    known.set(url, path);
    for (const one of [method].flat()) path.methods.add(one);
  });
  const pathAt = (url: string) => paths.find('GET', url)?.store as Path | undefined;
  app.decorateRequest('completed');
  app.addHook('onRequest', (request, _reply, done) => {
    request.completed = completedOf(request, pathAt);
    done();
  });
}

function completedOf(
  request: FastifyRequest,
  pathAt: (url: string) => Path | undefined,
): Completed | undefined {
  const path = pathAt(request.url);
  if (path !== undefined)
    return path.methods.has(request.method)
      ? undefined
      : { url: path.url, allowed: allowedMethods(path.methods), is_open: path.is_open };
  // A path without a route belongs to nobody, or to the console's page.
  const isNone = request.is404 || request.routeOptions.url?.endsWith('*');
  const slashed = isNone ? pathAt(withSlash(request.url)) : undefined;
  return (
    slashed && {
      url: slashed.url.slice(0, -1),
      location: basePath(request.server.context) + withSlash(request.url),
    }
  );
}

/**
 * Sends the answer of `findLacking` before a body is read: OPTIONS and 405 with `Allow`, and a 308
 * from a path without its slash that keeps the query. Called after the hooks that see every
 * request.
 */
export function answerLacking(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { completed, method } = request;
    if (completed === undefined) return done();
    if ('location' in completed) return void reply.redirect(completed.location, 308);
    if (completed.is_open) allowPages(request, reply);
    if (method !== 'OPTIONS') return done(methodNotAllowed(method, completed.allowed));
    void reply.code(204).header('allow', completed.allowed.join(', ')).send();
  });
}

/** Returns the declared path of the request, for counts of requests: it contains no id. */
export function declaredPath(request: FastifyRequest): string {
  return request.completed?.url ?? request.routeOptions.url ?? 'unknown';
}

/**
 * Returns the request's path with a trailing slash and its query; without a host, so that it works
 * behind any proxy.
 */
function withSlash(url: string): string {
  const end = url.indexOf('?');
  return end === -1 ? `${url}/` : `${url.slice(0, end)}/${url.slice(end)}`;
}
