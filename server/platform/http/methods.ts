import type { FastifyInstance, HTTPMethods } from 'fastify';
import { basePath } from './base_path.ts';
import { methodNotAllowed } from './errors.ts';
import { hiddenRoute, problem } from './hidden_route.ts';

const all_methods: HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** Collects which methods each path has. Begins before the routes are registered. */
export function collectMethods(app: FastifyInstance): Map<string, Set<string>> {
  const methods = new Map<string, Set<string>>();
  app.addHook('onRoute', (route) => {
    const known = methods.get(route.url) ?? new Set<string>();
    for (const method of [route.method].flat()) known.add(method);
    methods.set(route.url, known);
  });
  return methods;
}

/**
 * Adds to every path that ends with a slash what it lacks: OPTIONS and 405 with `Allow`, and a 308
 * from the path without the slash that keeps the query. Called after the last route.
 */
export function completeMethods(app: FastifyInstance, methods: Map<string, Set<string>>): void {
  for (const [url, known] of [...methods].filter(
    ([path]) => /^\/(?:api|login|complete)\//.test(path) && path.endsWith('/'),
  )) {
    const allowed = [...all_methods.filter((method) => known.has(method)), 'OPTIONS'];
    const lacking = all_methods.filter((method) => !known.has(method));
    app.route({
      ...hiddenRoute({ 204: [] }),
      method: 'OPTIONS',
      url,
      handler: (_request, reply) => reply.code(204).header('allow', allowed.join(', ')).send(),
    });
    if (lacking.length > 0) {
      app.route({
        ...hiddenRoute({ 405: [problem] }),
        method: lacking,
        url,
        onRequest: (request, _reply, done) => done(methodNotAllowed(request.method, allowed)),
        handler: answered,
      });
    }
    app.route({
      ...hiddenRoute({ 308: [] }),
      method: [...all_methods, 'OPTIONS'],
      url: url.slice(0, -1),
      onRequest: (request, reply) =>
        void reply.redirect(basePath(app.context) + withSlash(request.url), 308),
      handler: answered,
    });
  }
}

/**
 * The handler of a route that answers before a body is read: whatever it is, and however large, the
 * answer is the same.
 */
function answered(): never {
  throw new Error('The request was answered already.');
}

/**
 * The request's path with a slash at its end and its query; without a host, so that it holds behind
 * any proxy.
 */
function withSlash(url: string): string {
  const end = url.indexOf('?');
  return end === -1 ? `${url}/` : `${url.slice(0, end)}/${url.slice(end)}`;
}
