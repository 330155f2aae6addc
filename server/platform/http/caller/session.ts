import type { FastifyReply, FastifyRequest } from 'fastify';
import sql from 'sql-template-tag';
import { isoInstant } from '../../clock.ts';
import type { Found } from './access.ts';
import { randomBase62 } from './api_key.ts';
import { basePath } from '../base_path.ts';
import type { HttpContext } from '../context.ts';

/** Longest life of a session after sign-in, even if it is used: 30 days. */
export const session_lifetime_ms = 30 * 24 * 3_600_000;
/** Longest idle time of a session: 7 days. */
export const session_idle_ms = 7 * 24 * 3_600_000;
/** Age at which the next use replaces a token: a day. */
const token_lifetime_ms = 24 * 3_600_000;
/**
 * Time during which the previous token is still valid beside the new one; a later use would be a
 * thief's.
 */
const token_overlap_ms = 60_000;

const well_formed = /^sls_[0-9A-Za-z]{43}$/;

/** Creates a session's token: `sls_` and 43 base-62 characters of 256 random bits. */
export function createSessionToken(): string {
  return `sls_${randomBase62()}`;
}

/** Returns true if the text can be a session's token. */
export function isWellFormedSessionToken(text: string): boolean {
  return well_formed.test(text);
}

/** Returns true if browsers use https. Cookies are then restricted to https. */
export function isSecure(public_url: string): boolean {
  return public_url.startsWith('https:');
}

/**
 * Returns the name of one of our cookies. Over https, its prefix makes browsers restrict it to this
 * host and to https, so that no other host of the domain can set it.
 */
export function cookieName(public_url: string, name: 'session' | 'sign_in' | 'device'): string {
  return `${isSecure(public_url) ? '__Host-' : ''}sluice_${name}`;
}

/**
 * Returns the token in the request's cookie. Over https, the name without the prefix is ignored:
 * any other host of the domain could set it, and so sign a browser in to a wrong account.
 */
export function sessionTokenOf(request: FastifyRequest): string | undefined {
  return request.cookies[cookieName(request.server.context.config.public_url, 'session')];
}

/**
 * Stores the token in the browser's cookie: unreadable for scripts, not sent from other sites
 * except for plain links, and restricted to https if the server's address uses it. The answer may
 * not be cached.
 */
export function setSessionCookie(
  context: Pick<HttpContext, 'config'>,
  reply: FastifyReply,
  token: string,
  expires_at_ms: number,
): void {
  const { public_url } = context.config;
  void reply.header('cache-control', 'no-store');
  void reply.setCookie(cookieName(public_url, 'session'), token, {
    ...attributes,
    secure: isSecure(public_url),
    expires: new Date(expires_at_ms),
  });
}

/**
 * Signs the browser out: removes its cookie and clears its stored data of this server. The word
 * "cookies" in that header would sign people out of all other hosts of the domain. Below a path,
 * other applications share the origin, so their stored data stays.
 */
export function clearSessionCookie(
  context: Pick<HttpContext, 'config'>,
  reply: FastifyReply,
): void {
  const { public_url } = context.config;
  void reply
    .header('clear-site-data', basePath(context) === '' ? '"cache", "storage"' : '"cache"')
    .clearCookie(cookieName(public_url, 'session'), {
      ...attributes,
      secure: isSecure(public_url),
    });
}

/** Time for which a check of a person's own factor is valid for sensitive actions: 10 minutes. */
const recent_factor_ms = 10 * 60_000;

/** Returns true if the session's person showed their own factor within the last ten minutes. */
export function isFactorRecent(
  { clock }: Pick<HttpContext, 'clock'>,
  { own_factor_at }: Pick<Found, 'own_factor_at'>,
): boolean {
  return own_factor_at !== null && clock.now() - Date.parse(own_factor_at) <= recent_factor_ms;
}

const attributes = { path: '/', httpOnly: true, sameSite: 'lax' } as const;

/**
 * Returns true for a session that is no longer accepted. It was idle for too long, is older than an
 * organization of its person allows, or was shown with a token that was replaced earlier. The
 * latter means that two parties hold it, so the session ends for both.
 */
export async function isStale(
  context: Pick<HttpContext, 'db' | 'clock'>,
  found: Found,
): Promise<boolean> {
  if (found.session_id === null) return false;
  const now = context.clock.now();
  if (isOver(found, now)) return true;
  if (
    !found.is_previous_token ||
    now - Date.parse(found.token_created_at ?? '') <= token_overlap_ms
  )
    return false;
  await context.db.run(sql`DELETE FROM sessions WHERE id = ${found.session_id}`);
  return true;
}

function isOver(found: Found, now: number): boolean {
  const { last_used_at, session_created_at, session_hours_max, idle_minutes_max } = found;
  const idle_ms = Math.min(session_idle_ms, (idle_minutes_max ?? Infinity) * 60_000);
  const lifetime_ms = (session_hours_max ?? Infinity) * 3_600_000;
  return (
    (last_used_at !== null && now - Date.parse(last_used_at) > idle_ms) ||
    (session_created_at !== null && now - Date.parse(session_created_at) > lifetime_ms)
  );
}

/**
 * Replaces a token that is a day old and sends the new one to the browser with this answer. Only
 * one of concurrent requests replaces it.
 */
export async function rotateToken(
  context: HttpContext,
  reply: FastifyReply,
  found: Found,
): Promise<void> {
  const now = context.clock.now();
  if (
    found.session_id === null ||
    found.is_previous_token ||
    now - Date.parse(found.token_created_at ?? '') < token_lifetime_ms
  )
    return;
  const token = createSessionToken();
  const row = await context.db.row<{ expires_at: string }>(sql`
    UPDATE sessions SET previous_token_hash = token_hash,
      token_hash = ${context.secrets.hash(token)},
      token_created_at = ${isoInstant(now)}::timestamptz
    WHERE id = ${found.session_id} AND token_created_at = ${found.token_created_at}::timestamptz
      RETURNING expires_at`);
  if (row !== undefined) setSessionCookie(context, reply, token, Date.parse(row.expires_at));
}
