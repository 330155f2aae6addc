import type { FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { conflict } from '../../platform/http/errors.ts';
import type { Afterwards } from '../../platform/http/write.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { refuseDeactivated } from '../deactivation/store.ts';
import { claimDomain, refuseHeld } from './claim.ts';
import type { AnchorChanges, DomainRow } from './schema.ts';
import { forgetProvider, hasDirectory, moveClaim } from './store.ts';

/**
 * Throws if the domain cannot get the new name: 409 while people must sign in through it or a
 * directory is attached, and 400 `unique` for a taken name. Throws 403 for a caller whom a
 * directory has deactivated. Accepts changes that keep the name.
 */
export async function refuseRename(
  tx: Transaction,
  request: FastifyRequest,
  before: DomainRow,
  { domain, sso_enforcement = before.sso_enforcement }: AnchorChanges,
): Promise<void> {
  if (domain === undefined || domain === before.domain) return;
  await refuseDeactivated(tx, request.caller.user_id, 'claim domains');
  if (sso_enforcement !== '')
    throw conflict(
      `People of ${before.domain} must sign in through its provider: set \`sso_enforcement\` to ` +
        'an empty text first, then change the name.',
    );
  if (await hasDirectory(tx, before.id))
    throw conflict(
      `A directory is attached to ${before.domain}: switch it off first (DELETE of the domain's ` +
        '`scim/`), then change the name.',
    );
  await refuseHeld(tx, request.access.organization_id, domain);
}

/**
 * Changes the name of a domain, under the caller's lock. The new name needs a proof with a new
 * challenge, like a new domain. People who signed in through the old name's provider must sign in
 * again, and other organizations no longer accept it, because their decision was about the old
 * name.
 */
export async function renameDomain(
  tx: Transaction,
  deps: Deps,
  { organization_id, id, domain }: { organization_id: string; id: string; domain: string },
  afterwards: Afterwards,
): Promise<void> {
  await forgetProvider(tx, id);
  await moveClaim(tx, await claimDomain(tx, deps, organization_id, domain, afterwards), id);
}
