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
 * True for routes whose paths answer every method, and lead from where the slash is missing: those
 * of the API, and of signing in, but not those of other protocols.
 */
export function isCompleted({ url, config }: Pick<RouteOptions, 'url' | 'config'>): boolean {
  return /^\/(?:api|login|complete)\//.test(url) && url.endsWith('/') && config?.foreign !== true;
}

/**
 * True for routes whose paths tell a method that they do not have: also those of other protocols to
 * which everybody may send, with and without a slash as they are.
 */
export function tellsMethods(route: Pick<RouteOptions, 'url' | 'config'>): boolean {
  return isCompleted(route) || isOpen(route);
}

/** True for routes of other protocols to which everybody may send, pages of all sites too. */
function isOpen({ config }: Pick<RouteOptions, 'config'>): boolean {
  return config?.foreign === true && config.scope === 'public';
}

/** The methods of `Allow` for a path that has these. */
export function allowedMethods(methods: ReadonlySet<string>): string[] {
  return all_methods.filter((method) => method === 'OPTIONS' || methods.has(method));
}

/**
 * Finds what each request is answered whose path has not its method: `completed` of a request is
 * there from the first hook on. Called before the routes are registered. Paths are found by
 * Fastify's own router, in a tree of one method: routes of their own for all that is lacking would
 * be ten for one that is not, and half of the time in which a server starts.
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
  // A path without a route of its own belongs to nobody, or to the console's page.
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
 * Answers what `findLacking` found, before a body is read: OPTIONS and 405 with `Allow`, and a 308
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

/** The path of the request as it was declared, for what counts requests: it holds no id. */
export function declaredPath(request: FastifyRequest): string {
  return request.completed?.url ?? request.routeOptions.url ?? 'unknown';
}

/**
 * The request's path with a slash at its end and its query; without a host, so that it holds behind
 * any proxy.
 */
function withSlash(url: string): string {
  const end = url.indexOf('?');
  return end === -1 ? `${url}/` : `${url.slice(0, end)}/${url.slice(end)}`;
}
