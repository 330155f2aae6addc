import type { FastifyInstance, RouteOptions } from 'fastify';
import {
  all_methods,
  allowedMethods,
  isCompleted,
  tellsMethods,
} from '../../server/platform/http/methods.ts';
import { Problem } from '../../server/platform/http/responses.ts';
import type { Document, Operation } from './document.ts';

type Paths = Document['paths'];
type Declared = { type?: unknown; title?: unknown; content?: object };

const problem = 'application/problem+json';
/**
 * Collects the routes that the OpenAPI document leaves out, in the document's own form. The app is
 * built but not ready yet. The routes are other spellings of its paths, redirects, refused methods,
 * preflights, pages and health. Complete once the app is ready. Throws for a route that does not
 * declare its answers.
 */
export function collectHiddenRoutes(app: FastifyInstance): () => Paths {
  const routes: RouteOptions[] = [];
  app.addHook('onRoute', (route) => void routes.push({ ...route }));
  return () => {
    const paths: Paths = {};
    for (const route of routes.filter(({ schema }) => schema?.hide === true)) {
      const tags = (route.schema as { tags?: string[] }).tags ?? [];
      const operation = { tags, responses: responsesOf(route) };
      const path = (paths[route.url.replaceAll(/:(\w+)/g, '{$1}')] ??= {});
      for (const method of [route.method].flat()) path[method.toLowerCase()] = operation;
    }
    const slashed = new Set(routes.filter((route) => isCompleted(route)).map(({ url }) => url));
    for (const [url, methods] of methodsOf(routes)) complete(paths, url, methods, slashed.has(url));
    return paths;
  };
}

/** The methods of each path for which the server answers what the path lacks. */
function methodsOf(routes: RouteOptions[]): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const { url, method } of routes.filter((route) => tellsMethods(route)))
    found.set(url, new Set([...(found.get(url) ?? []), ...[method].flat()]));
  return found;
}

/** Adds the answers of a path if no route has the method, or its slash is missing. */
function complete(paths: Paths, url: string, methods: Set<string>, isSlashed: boolean): void {
  // A parameter may be longer than any is.
  const tooLong: Operation['responses'] = url.includes(':')
    ? { 404: { content: { [problem]: {} } } }
    : {};
  const refused = { 405: { content: { [problem]: { schema: { ...Problem } } } } };
  const answers = (responses: Operation['responses']): Operation => ({
    responses: { ...tooLong, ...responses },
  });
  const name = url.replaceAll(/:(\w+)/g, '{$1}');
  const own = (paths[name] ??= {});
  const slashless = isSlashed ? (paths[name.slice(0, -1)] ??= {}) : {};
  const allowed = allowedMethods(methods);
  for (const method of all_methods) {
    const key = method.toLowerCase();
    slashless[key] ??= answers({ 308: {} });
    if (method === 'OPTIONS') own[key] ??= answers({ 204: {} });
    else if (!allowed.includes(method)) own[key] ??= answers(refused);
  }
}

function responsesOf({ url, method, schema }: RouteOptions) {
  const declared = schema?.response as Record<string, Declared> | undefined;
  if (declared !== undefined)
    return {
      // A parameter may be longer than any is, as the document says of the others.
      ...(url.includes(':') ? { 404: { content: { [problem]: {} } } } : {}),
      ...Object.fromEntries(
        Object.entries(declared).map(([status, answer]) => [
          status,
          { content: contentOf(answer) },
        ]),
      ),
    };
  throw new Error(`${String(method)} ${url} is hidden and declares no answer: see hiddenRoute.`);
}

function contentOf(answer: Declared): Record<string, object> {
  if (answer.content !== undefined) return answer.content as Record<string, object>;
  if (answer.type === 'null') return {};
  return { [answer.title === 'Problem' ? problem : 'application/json']: { schema: answer } };
}

/** Returns the document with the hidden routes. */
export function withHiddenRoutes<Whole extends Document>(document: Whole, hidden: Paths): Whole {
  const paths: Paths = { ...document.paths };
  for (const [path, methods] of Object.entries(hidden))
    paths[path] = { ...methods, ...document.paths[path] };
  return { ...document, paths };
}
