import type { FastifyRequest } from 'fastify';
import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { isoInstant } from '../../clock.ts';
import type { AccessFinder, Found, Target } from './access.ts';
import { isMeantFor } from './agent_token.ts';
import { isServiceKey, isWellFormedApiKey } from './api_key.ts';
import type { HttpContext } from '../context.ts';
import { refuseCrossSite } from './cross_site.ts';
import { isExchangedToken, openExchangedToken } from './exchanged_token.ts';
import { notedAs, twoCredentials, unauthenticated, wrongAddress } from '../errors.ts';
import { isInRanges } from '../guards/ip_ranges.ts';
import { judgeRefused } from './refused_credential.ts';
import type { Shown } from './refused_credential.ts';
import { isWriteKey } from './write_key.ts';
import { isStale, isWellFormedSessionToken, sessionTokenOf } from './session.ts';

// RFC 9110, 11.1: the name of a scheme is case-insensitive.
const bearer = /^Bearer +(\S+) *$/i;
const touch_interval_ms = 60_000;
const user_agent_length_max = 400;

const refusals = {
  key: 'The personal API key in the Authorization header is unknown, expired or revoked.',
  service_key: 'The service key in the Authorization header is unknown, expired or revoked.',
  session: 'The session has ended: sign in again.',
  write_key:
    'This is a write key (slp_...), which only sends events by the paths of the SDKs. Send a ' +
    'personal API key (slk_...).',
};

/**
 * Finds the caller and their access to the path's target in one round trip. Throws 401 without a
 * valid key or session; a credential of the wrong form or with a wrong checksum is refused without
 * a query. Throws 400 if a request has both, and 403 if a session's cookie comes with a change from
 * another site, or a key from an address outside its ranges.
 */
export async function authenticate(
  context: HttpContext,
  findAccess: AccessFinder,
  request: FastifyRequest,
  target: Target,
): Promise<Found> {
  const shown = credentialOf(context, request);
  if (shown.kind === 'session') refuseCrossSite(context, request);
  const found = shown.isWellFormed
    ? await findAccess(
        { kind: shown.kind, hash: shown.hash ?? context.secrets.hash(shown.text) },
        target,
        isoInstant(context.clock.now()),
      )
    : undefined;
  if (found === undefined || (await isStale(context, found))) {
    const refusal = refusals[isWriteKey(shown.text) ? 'write_key' : shown.kind];
    const error = unauthenticated('authentication_failed', refusal);
    const noted = await judgeRefused(context, request, shown, found);
    throw noted === undefined ? error : notedAs(error, ...noted);
  }
  if (found.resource !== null && !isMeantFor(context, request, found.resource)) {
    request.caller = found;
    throw notedAs(
      unauthenticated('authentication_failed', `This token works at ${found.resource} alone.`),
      'key_refused',
      'other_resource',
    );
  }
  if (found.allowed_ip_ranges.length > 0 && !isInRanges(request.ip, found.allowed_ip_ranges)) {
    request.caller = found;
    throw wrongAddress(request.ip);
  }
  touch(context, found, request);
  return found;
}

/**
 * Returns the key in the `Authorization` header or the token in the session's cookie; throws 401
 * without one and 400 with both.
 */
function credentialOf(context: HttpContext, request: FastifyRequest): Shown {
  const { authorization } = request.headers;
  const token = sessionTokenOf(request);
  if (authorization !== undefined && token !== undefined) throw twoCredentials();
  if (token !== undefined)
    return { kind: 'session', text: token, isWellFormed: isWellFormedSessionToken(token) };
  const key = bearer.exec(authorization ?? '')?.[1];
  if (key === undefined)
    throw unauthenticated(
      'not_authenticated',
      'Send a personal API key in the header "Authorization: Bearer <key>", or sign in.',
    );
  if (isExchangedToken(key)) return exchanged(context, request, key);
  const kind = isServiceKey(key) ? 'service_key' : 'key';
  return { kind, text: key, isWellFormed: isWellFormedApiKey(key) };
}

/** Returns the key behind a token, on routes that accept tokens. */
function exchanged({ secrets, clock }: HttpContext, request: FastifyRequest, text: string): Shown {
  const found =
    request.routeOptions.config.takes_tokens === true
      ? openExchangedToken(secrets, text, clock.now())
      : undefined;
  return { kind: 'key', ...found, text, isWellFormed: found !== undefined };
}

/** Returns true if the request has a key or a session. */
export function showsCredential(request: FastifyRequest): boolean {
  return request.headers.authorization !== undefined || sessionTokenOf(request) !== undefined;
}

/**
 * Updates `last_used_at` of the credential and `last_seen_at` of the member, each at most once a
 * minute and without delaying the request.
 */
function touch(context: HttpContext, found: Found, request: FastifyRequest): void {
  const now = context.clock.now();
  const [moment, before] = [isoInstant(now), isoInstant(now - touch_interval_ms)];
  const isDue = (at: string | null) => at === null || now - Date.parse(at) >= touch_interval_ms;
  // Concurrent requests would each see the old instant; the condition lets one of them update it.
  const isOld = (column: Sql) => sql`(${column} IS NULL OR ${column} <= ${before}::timestamptz)`;
  const move = (what: string, moved: Sql) =>
    void context.db
      .run(moved)
      .catch((error: unknown) => context.log.warn({ err: error }, `${what} could not be moved`));
  const use = sql`last_used_at = ${moment}::timestamptz, last_used_ip = ${request.ip},
    last_used_user_agent = ${userAgentOf(request)}`;
  if (found.user_id === null) {
    // SKIP LOCKED: a long change may hold the key.
    if (isDue(found.last_used_at))
      move(
        'last_used_at',
        sql`UPDATE service_keys SET ${use} WHERE id = (SELECT id FROM service_keys
          WHERE id = ${found.key_id} AND ${isOld(sql`last_used_at`)}
          FOR NO KEY UPDATE SKIP LOCKED)`,
      );
    return;
  }
  if (isDue(found.last_used_at))
    move(
      'last_used_at',
      found.key_id !== null
        ? sql`UPDATE personal_api_keys SET ${use}
          WHERE id = ${found.key_id} AND ${isOld(sql`last_used_at`)}`
        : sql`UPDATE sessions SET last_used_at = ${moment}::timestamptz
          WHERE id = ${found.session_id} AND ${isOld(sql`last_used_at`)}`,
    );
  if (found.organization_id !== null && isDue(found.last_seen_at))
    move(
      'last_seen_at',
      // SKIP LOCKED: a long change may hold the membership, and requests would wait for it, each
      // with a connection.
      sql`UPDATE members SET last_seen_at = ${moment}::timestamptz WHERE id = (
        SELECT id FROM members WHERE user_id = ${found.user_id}
          AND organization_id = ${found.organization_id}::uuid AND ${isOld(sql`last_seen_at`)}
        FOR NO KEY UPDATE SKIP LOCKED)`,
    );
}

/** Returns the client's name for itself; at most 400 characters. */
export function userAgentOf(request: FastifyRequest): string {
  return (request.headers['user-agent'] ?? '').slice(0, user_agent_length_max);
}
