import type { FastifyRequest } from 'fastify';
import sql from 'sql-template-tag';
import { isoInstant } from '../clock.ts';
import type { AccessFinder, Found, Target } from './access.ts';
import { isWellFormedApiKey } from './api_key.ts';
import type { HttpContext } from './context.ts';
import { unauthenticated } from './errors.ts';

const bearer = /^Bearer +(\S+) *$/;
const touch_interval_ms = 60_000;

/** The key in the `Authorization` header; throws 401 without one. */
function keyOf(request: FastifyRequest): string {
  const match = bearer.exec(request.headers.authorization ?? '');
  if (match === null) throw unauthenticated('not_authenticated', 'Send a personal API key in the header "Authorization: Bearer <key>".');
  return match[1]!;
}

/**
 * Who asks and what the path's target is to them, in one round trip. Throws 401 without a valid key; a key of the wrong form or with a wrong checksum is
 * refused without a look at the database.
 */
export async function authenticate(context: HttpContext, findAccess: AccessFinder, request: FastifyRequest, target: Target): Promise<Found> {
  const key = keyOf(request);
  const found = isWellFormedApiKey(key) ? await findAccess(context.secrets.hash(key), target, isoInstant(context.clock.now())) : undefined;
  if (found === undefined) throw unauthenticated('authentication_failed', 'The personal API key in the Authorization header is unknown, expired or revoked.');
  touch(context, found);
  return found;
}

/** Moves `last_used_at`, at most once a minute and not in the request's way. */
function touch(context: HttpContext, found: Found): void {
  const now = context.clock.now();
  if (found.last_used_at !== null && now - Date.parse(found.last_used_at) < touch_interval_ms) return;
  // Requests that arrive together would each see the old instant; the condition lets one of them move it.
  const moved = sql`
    UPDATE personal_api_keys SET last_used_at = ${isoInstant(now)}::timestamptz
    WHERE id = ${found.key_id} AND (last_used_at IS NULL OR last_used_at <= ${isoInstant(now - touch_interval_ms)}::timestamptz)`;
  context.db.run(moved).catch((error: unknown) => context.log.warn({ err: error }, 'last_used_at of a key could not be moved'));
}
