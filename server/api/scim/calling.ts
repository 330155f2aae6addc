import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { notedAs, throttled, unauthenticated } from '../../platform/http/errors.ts';
import type { ApiError } from '../../platform/http/errors.ts';
import { inWriteTurn } from '../../platform/http/limits/owner_turns.ts';
import { write } from '../../platform/http/write.ts';
import type { Afterwards, RecordActivity } from '../../platform/http/write.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { isUuid } from '../../platform/uuid.ts';
import { ScimRefused } from './refusal.ts';
import { findHome } from './store.ts';
import { isToken } from './tokens/token.ts';
import { findCalling, holdCalling, touchToken } from './tokens/store.ts';
import type { CallingDirectory } from './tokens/store.ts';

// RFC 9110, 11.1: the name of a scheme ignores letter case.
const bearer = /^Bearer +(\S+) *$/i;
const touch_interval_ms = 60_000;

declare module 'fastify' {
  interface FastifyRequest {
    /** The calling directory, on the routes of SCIM. */
    directory: CallingDirectory;
  }
}

/** Returns the address of this server for the directory of a domain. */
export function baseUrl({ public_url }: Deps['config'], domain_id: string): string {
  return `${public_url}/scim/v2/${domain_id}`;
}

/** Returns the stored form of a token. */
export function hashOf(secrets: Deps['secrets'], token: string): Buffer {
  return secrets.hash(`scim token ${token}`);
}

/**
 * Checks every request of SCIM: 401, 429, 403. Wrong tokens count against the client's address,
 * like wrong keys.
 */
export async function admitDirectory(
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { limiter } = request.server;
  const { domain_id = '' } = request.params as { domain_id?: string };
  const token = bearer.exec(request.headers.authorization ?? '')?.[1] ?? '';
  const found =
    isToken(token) && isUuid(domain_id)
      ? await findCalling(deps.db, domain_id, hashOf(deps.secrets, token), deps.clock.now())
      : undefined;
  if (found === undefined) {
    const wait_seconds = limiter.takeRefused(request.ip);
    if (wait_seconds !== undefined)
      throw notedAs(throttled(wait_seconds), 'locked_out', 'refused_keys');
    const organization_id = isUuid(domain_id) ? await findHome(deps.db, domain_id) : undefined;
    const reason = isToken(token) ? 'unknown' : token === '' ? 'missing' : 'malformed';
    throw notedAs(wrongToken(), 'scim_token_refused', reason, organization_id);
  }
  request.concerned = { organization_id: found.organization.id };
  const budget = limiter.take(`scim:${found.domain_id}`);
  if (budget !== undefined) {
    reply.header('ratelimit-policy', budget.policy).header('ratelimit', budget.remaining);
    if (budget.wait_seconds !== undefined) throw throttled(budget.wait_seconds);
  }
  refuseUnverified(found);
  request.directory = found;
  touch(deps, found);
}

/** A change by a directory, with everything that it reads and returns. */
export type Place = {
  deps: Deps;
  request: FastifyRequest;
  tx: Transaction;
  record: RecordActivity;
  afterwards: Afterwards;
  directory: CallingDirectory;
};

/**
 * Runs a change by a directory: like `write`, under the organization's lock, so that changes of one
 * organization are serialized. If the token has ended or the domain has lapsed while it waited, it
 * changes nothing.
 */
export function change<Answer>(
  deps: Deps,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  status: 200 | 201 | 204,
  work: (place: Place) => Promise<Answer>,
): Promise<Answer | FastifyReply> {
  return inWriteTurn(request.directory.organization.id, () =>
    write(request, reply, status, async (tx, record, afterwards) => {
      const directory = await holdCalling(tx, request.directory, deps.clock.now());
      if (directory === undefined) throw wrongToken();
      refuseUnverified(directory);
      return work({ deps, request, tx, record, afterwards, directory });
    }),
  );
}

function refuseUnverified({ domain, is_verified }: CallingDirectory): void {
  if (is_verified) return;
  throw new ScimRefused(
    403,
    undefined,
    `The domain ${domain} is not verified now, so its directory cannot change anything: ` +
      'restore the TXT record and start the check (the page of the domain says how).',
  );
}

function wrongToken(): ApiError {
  return unauthenticated(
    'authentication_failed',
    'Send the token of the directory in the header "Authorization: Bearer slc_...", to the ' +
      'base URL of its domain. This token is unknown, was revoked, has expired, or ended ' +
      'because its creator is no longer an owner. Ask an owner to create a new one.',
  );
}

function touch({ db, clock, log }: Deps, { token_id, last_used_at }: CallingDirectory): void {
  const now = clock.now();
  const before = now - touch_interval_ms;
  if (last_used_at !== null && Date.parse(last_used_at) > before) return;
  touchToken(db, token_id, now, before).catch((error: unknown) =>
    log.warn({ err: error }, 'last_used_at of a directory could not be updated'),
  );
}
