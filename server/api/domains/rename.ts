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
 * Throws where the domain cannot get the name that the changes wish for: 409 while people must sign
 * in by it or a directory is attached, 403 for whom a directory deactivated, and 400 `unique` for a
 * name that somebody holds. Changes that keep the name are passed.
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
 * Gives a domain another name, under the caller's lock. The name is claimed as a new domain's is:
 * its proof starts with a new challenge. Whoever the provider of the old name let in has to sign in
 * again, and other organizations no longer accept it: their word was about the old name.
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
