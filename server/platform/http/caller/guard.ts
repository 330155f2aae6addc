import type { FastifyContextConfig, FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import sql from 'sql-template-tag';
import type { Database } from '../../postgres/database.ts';
import { isUuid } from '../../uuid.ts';
import { takes } from '../accept.ts';
import { isPerson, level_names, personRequired, targetOf } from './access.ts';
import type { Access, AccessFinder, Caller, Found, Target, Within } from './access.ts';
import { authenticate } from './auth.ts';
import type { HttpContext } from '../context.ts';
import {
  ApiError,
  forbidden,
  notAcceptable,
  notFound,
  notedAs,
  ownFactorRequired,
  throttled,
} from '../errors.ts';
import { isInRanges } from '../guards/ip_ranges.ts';
import type { Limiter } from '../limits/rate_limit.ts';
import { refuseClosed } from './entrance.ts';
import { innerCall } from '../inner/inner_call.ts';
import type { InnerCall } from '../inner/inner_call.ts';
import { isFactorRecent, rotateToken } from './session.ts';
import { satisfying } from './scopes.ts';
import type { Scope } from './scopes.ts';

/** Returns the path parameter that names the organization or project of a route. */
export function targetParameter(url: string, within: Within | undefined): string {
  const own = `${within}_id`;
  return url.includes(`:${own}/`) ? own : 'id';
}

/**
 * Checks a request before its route, in the order of the whole API: 401, 429, scope 403, membership
 * 404, level 403, 406. Afterwards `request.caller` is set, and `request.access` on routes with
 * `within`.
 */
export function guard(
  context: HttpContext,
  findAccess: AccessFinder,
  limiter: Limiter,
  url: string,
  config: FastifyContextConfig & { scope: Scope | 'any' },
): onRequestAsyncHookHandler {
  const { scope, within, level = 1, session = false, media_types = [], record } = config;
  const accepted = scope === 'any' ? undefined : satisfying(scope);
  const parameter = targetParameter(url, within);
  return async (request, reply) => {
    const params = request.params as Record<string, string>;
    const named = targetOf(within, params[parameter] ?? '');
    const target =
      named === undefined || record === undefined
        ? named
        : { ...named, record: { url, select: record, id: recordId(params, parameter) } };
    const inner = innerCall();
    if (inner !== undefined) {
      await admitInner(context, request, inner, { scope, level, target });
      requirePerson(inner.caller, config);
      return requireOwnFactor(context, inner.caller, config);
    }
    const found = await authenticateCounted(context, findAccess, limiter, request, target);
    request.caller = found;
    const budget = limiter.take(...limitedSubjects(found));
    if (budget !== undefined) {
      reply.header('ratelimit-policy', budget.policy).header('ratelimit', budget.remaining);
      if (budget.wait_seconds !== undefined) throw throttled(budget.wait_seconds);
    }
    if (accepted !== undefined && !found.scopes.some((one) => accepted.has(one)))
      throw forbidden(`The API key lacks the scope ${scope}.`, 'scope');
    requirePerson(found, config);
    if (session && found.session_id === null)
      throw forbidden(
        'This cannot be done with an API key: sign in (POST /api/sessions/).',
        'needs_session',
      );
    if (within !== undefined) request.access = accessOf(found, level, request.ip);
    requireOwnFactor(context, found, config);
    request.record = found.record;
    if (!takesJson(request.headers.accept) && !takes(request.headers.accept, media_types))
      throw notAcceptable();
    await rotateToken(context, reply, found);
  };
}

/** Throws 403 for a service key if the route concerns a person, or needs one. */
function requirePerson(
  caller: Caller,
  { within, service_keys = within !== undefined }: FastifyContextConfig,
): void {
  if (!service_keys && !isPerson(caller)) throw personRequired();
}

/**
 * Throws 403 if the route needs more than the session has shown: the whole account, or a
 * confirmation in the last ten minutes.
 */
function requireOwnFactor(
  context: HttpContext,
  caller: Caller,
  { own_account = false, recent_factor = false }: FastifyContextConfig,
): void {
  if (own_account && caller.is_partial) throw ownFactorRequired();
  if (recent_factor && caller.session_id !== null && !isFactorRecent(context, caller))
    throw ownFactorRequired();
}

/**
 * Checks a request that the server makes to itself for a checked caller: their rights and address
 * apply as usual. A dry run records missing rights instead of refusing.
 */
async function admitInner(
  { db }: HttpContext,
  request: FastifyRequest,
  { caller, access, projects, lacks }: InnerCall,
  { scope, level, target }: { scope: Scope | 'any'; level: 1 | 8 | 15; target: Target },
): Promise<void> {
  request.caller = caller;
  if (scope !== 'any' && !caller.scopes.some((one) => satisfying(scope).has(one))) {
    if (lacks === undefined) throw forbidden(`The API key lacks the scope ${scope}.`, 'scope');
    lacks.add(scope);
  }
  if (target === undefined) return;
  const project =
    target.within === 'project'
      ? (projects.get(target.id) ?? (await findInside(db, access, target.id)))
      : undefined;
  if (project !== undefined) projects.set(target.id, project);
  if (target.within === 'project' ? project === undefined : target.id !== access.organization_id)
    throw notFound();
  if (lacks !== undefined && access.level < level) lacks.add(level);
  else requireLevel(access.level, level);
  request.access = { organization_id: access.organization_id, level: access.level, ...project };
}

/** Returns the value of `:id` if `:id` is not the target itself. */
function recordId({ id }: Record<string, string>, parameter: string): string | null {
  return parameter !== 'id' && id !== undefined && isUuid(id) ? id : null;
}

function findInside(
  db: Database,
  { organization_id }: Access,
  id: string,
): Promise<Pick<Access, 'team_id' | 'timezone'> | undefined> {
  return db.row(sql`SELECT id AS team_id, timezone FROM projects WHERE id = ${id}::integer
    AND organization_id = ${organization_id}::uuid`);
}

/** Throws 403 if the member's level is too low. */
export function requireLevel(own: 1 | 8 | 15, wanted: 1 | 8 | 15): void {
  if (own >= wanted) return;
  throw forbidden(
    `This needs the level ${wanted} (${level_names[wanted]}) in the organization; yours is ` +
      `${own} (${level_names[own]}).`,
    'level',
  );
}

/**
 * Returns the subjects that count a caller's requests: their key or session, and the person. The
 * service keys of an organization count together, as those of a person do.
 */
export function limitedSubjects({
  key_id,
  session_id,
  user_uuid,
  scoped_organizations,
}: Pick<Caller, 'key_id' | 'session_id' | 'user_uuid' | 'scoped_organizations'>): [
  own: string,
  owner: string,
] {
  const owner =
    user_uuid === null ? `services:${scoped_organizations?.[0]}` : `person:${user_uuid}`;
  return [key_id ?? `session:${session_id}`, owner];
}

function accessOf(found: Found, level: 1 | 8 | 15, ip: string) {
  const { organization_id } = found;
  if (organization_id === undefined || organization_id === null || found.level === null)
    throw notFound();
  refuseClosed(found.closed);
  const ranges = found.organization_ip_ranges ?? [];
  if (ranges.length > 0 && !isInRanges(ip, ranges))
    throw forbidden(
      `This organization can be reached from some addresses only, and ${ip} is not one of them.`,
      'ip_range',
    );
  requireLevel(found.level, level);
  if (found.team_id === null) return { organization_id, level: found.level };
  return {
    organization_id,
    level: found.level,
    team_id: found.team_id,
    timezone: found.timezone ?? 'UTC',
  };
}

/**
 * Refused keys and sessions count against their address, so that nobody can try keys without limit,
 * nor a key that refuses this address.
 */
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
    if (!(error instanceof ApiError) || (error.status !== 401 && error.status !== 403)) throw error;
    const wait_seconds = limiter.takeRefused(request.ip);
    throw wait_seconds === undefined
      ? error
      : notedAs(throttled(wait_seconds), 'locked_out', 'refused_keys');
  }
}

/** Returns true if the `Accept` header allows JSON, or is absent. */
export function takesJson(accept: string | undefined): boolean {
  return (
    accept === undefined ||
    accept === '*/*' ||
    accept === '' ||
    accept === 'application/json' ||
    takes(accept, json_ranges)
  );
}

const json_ranges = ['*/*', 'application/*', 'application/json', 'application/problem+json'];
