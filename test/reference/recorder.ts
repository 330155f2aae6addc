import type { FastifyInstance } from 'fastify';
import { isObject } from '../../server/platform/http/openapi/json.ts';
import type { Json } from '../../server/platform/http/openapi/json.ts';
import type { Example } from '../../server/platform/http/openapi/reference.ts';
import { listOperations, openPathFinder } from '../fuzz/operations.ts';
import type { FuzzedDocument } from '../fuzz/operations.ts';

type Sent = { method: string; url: string; payload?: string | Buffer };
type Injected = { statusCode: number; body: string; headers: Record<string, unknown> };
type Inject = (sent: Sent) => Promise<Injected>;

/** Examples by operation. */
export type Recorded = Map<string, Example>;

/**
 * Records the first successful request of each operation to the app from now on, with its answer.
 * An example with few fields is replaced by a better one.
 */
export function recordRequests(app: FastifyInstance): Recorded {
  const document = app.swagger() as unknown as FuzzedDocument;
  const findPath = openPathFinder(document);
  const named = new Map(
    listOperations(document).map(({ method, path, id }) => [`${method} ${path}`, id]),
  );
  const recorded: Recorded = new Map();
  const inject = app.inject.bind(app) as unknown as Inject;
  const recording: Inject = async (sent) => {
    const answer = await inject(sent);
    const { pathname, searchParams } = new URL(sent.url, 'http://x');
    const path = findPath(sent.method, pathname);
    const id = path === undefined ? undefined : named.get(`${sent.method} ${path}`);
    if (answer.statusCode >= 300 || id === undefined) return answer;
    const known = recorded.get(id);
    const example = exampleOf(path!, pathname, searchParams, sent, answer);
    if (known === undefined || (isPoor(known) && !isPoor(example))) recorded.set(id, example);
    return answer;
  };
  Object.assign(app, { inject: recording });
  return recorded;
}

/** Returns true for a poor example: a request that changed nothing, or a list without records. */
function isPoor({ query, answer }: Example): boolean {
  const results = isObject(answer) ? answer['results'] : undefined;
  return query?.['validate_only'] !== undefined || (Array.isArray(results) && results.length === 0);
}

function exampleOf(
  template: string,
  pathname: string,
  query: URLSearchParams,
  { payload }: Sent,
  { statusCode, body, headers }: Injected,
): Example {
  const values = pathname.split('/');
  const path = Object.fromEntries(
    template
      .split('/')
      .map((segment, index): [string, string] => [segment, decodeURIComponent(values[index] ?? '')])
      .filter(([segment]) => segment.startsWith('{'))
      .map(([segment, value]) => [segment.slice(1, -1), value]),
  );
  const isJson = String(headers['content-type']).startsWith('application/json');
  const sent = payload === undefined ? {} : (JSON.parse(String(payload)) as Json);
  return {
    ...(Object.keys(path).length === 0 ? {} : { path }),
    ...(query.size === 0 ? {} : { query: Object.fromEntries(query) }),
    ...(JSON.stringify(sent) === '{}' ? {} : { body: sent }),
    status: statusCode,
    ...(isJson && body !== '' ? { answer: JSON.parse(body) as Json } : {}),
  };
}
