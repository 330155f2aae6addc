import type { FastifyContextConfig, FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import { targetOf } from './access.ts';
import type { AccessFinder, Found, Within } from './access.ts';
import { authenticate } from './auth.ts';
import type { HttpContext } from './context.ts';
import { ApiError, forbidden, notAcceptable, notFound, throttled } from './errors.ts';
import type { Limiter } from './rate_limit.ts';
import { satisfying } from './scopes.ts';
import type { Scope } from './scopes.ts';

const level_names = { 1: 'member', 8: 'administrator', 15: 'owner' } as const;

/** The path parameter that names the organization or project of a route. */
export function targetParameter(url: string, within: Within | undefined): string {
  const own = `${within}_id`;
  return url.includes(`:${own}/`) ? own : 'id';
}

/**
 * The check in front of a route, in the order that the whole API keeps: 401, 429, scope 403, membership 404, level 403, 406. After it `request.caller` is set,
 * and `request.access` on routes with `within`.
 */
export function guard(
  context: HttpContext,
  findAccess: AccessFinder,
  limiter: Limiter,
  url: string,
  config: FastifyContextConfig & { scope: Scope },
): onRequestAsyncHookHandler {
  const { scope, within, level = 1 } = config;
  const accepted = satisfying(scope);
  const parameter = targetParameter(url, within);
  return async (request, reply) => {
    const target = within === undefined ? undefined : targetOf(within, (request.params as Record<string, string>)[parameter] ?? '');
    const found = await authenticateCounted(context, findAccess, limiter, request, target);
    request.caller = found;
    const budget = limiter.take(found.key_id);
    if (budget !== undefined) {
      reply.header('ratelimit-policy', budget.policy).header('ratelimit', budget.remaining);
      if (budget.wait_seconds !== undefined) throw throttled(budget.wait_seconds, {});
    }
    if (!found.scopes.some((one) => accepted.has(one))) throw forbidden(`The API key lacks the scope ${scope}.`);
    if (within !== undefined) request.access = accessOf(found, level);
    if (!takesJson(request.headers.accept)) throw notAcceptable();
  };
}

function accessOf(found: Found, level: 1 | 8 | 15) {
  const { organization_id } = found;
  if (organization_id === undefined || organization_id === null || found.level === null) throw notFound();
  if (found.level < level)
    throw forbidden(`This needs the level ${level} (${level_names[level]}) in the organization; yours is ${found.level} (${level_names[found.level]}).`);
  if (found.team_id === null) return { organization_id, level: found.level };
  return { organization_id, level: found.level, team_id: found.team_id, timezone: found.timezone ?? 'UTC' };
}

/** Refused keys count against the address that they come from, so that nobody tries keys without end. */
async function authenticateCounted(
  context: HttpContext,
  findAccess: AccessFinder,
  limiter: Limiter,
  request: FastifyRequest,
  target: ReturnType<typeof targetOf>,
): Promise<Found> {
  try {
    return await authenticate(context, findAccess, request, target);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
    const wait_seconds = limiter.takeRefused(request.ip);
    throw wait_seconds === undefined ? error : throttled(wait_seconds, {});
  }
}

function takesJson(accept: string | undefined): boolean {
  if (accept === undefined || accept === '*/*' || accept === '' || accept === 'application/json') return true;
  return accept.split(',').some((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const refused = parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
    return !refused && (type === '*/*' || type === 'application/*' || type === 'application/json' || type === 'application/problem+json');
  });
}
