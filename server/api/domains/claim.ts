import type { Deps } from '../../deps.ts';
import { appendActivity, server_actor } from '../../platform/activity/chain.ts';
import { invalid } from '../../platform/http/errors.ts';
import type { Afterwards } from '../../platform/http/write.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { writeNotice } from './notices.ts';
import { domainEntry, firstReason } from './proof/proof.ts';
import { deleteDomain, insertDomain, lockHolder } from './store.ts';
import type { Holder } from './store.ts';

/**
 * Claims the name for the organization and returns the id of the domain. Throws 400 `unique` if the
 * organization has it already, or another organization holds it: verified, or still being checked.
 * Deletes an expired claim of another organization, and informs its log and administrators. Of
 * concurrent claims one succeeds.
 */
export async function claimDomain(
  tx: Transaction,
  deps: Deps,
  organization_id: string,
  domain: string,
  afterwards: Afterwards,
): Promise<string> {
  const holder = await refuseHeld(tx, organization_id, domain);
  if (holder !== undefined) await replace(tx, deps, holder, afterwards);
  const id = await insertDomain(tx, {
    organization_id,
    domain,
    reason: firstReason(domain),
    created_at: deps.clock.now(),
  });
  // Another request was faster, perhaps of the same organization; its claim is visible now.
  return id ?? claimDomain(tx, deps, organization_id, domain, afterwards);
}

/**
 * Throws the 400 for a name that cannot be claimed. Otherwise returns the locked claim of another
 * organization that would be replaced.
 */
export async function refuseHeld(
  tx: Transaction,
  organization_id: string,
  domain: string,
): Promise<Holder | undefined> {
  const holder = await lockHolder(tx, domain);
  if (holder?.organization_id === organization_id)
    throw invalid('domain', 'unique', 'The organization has this domain already: check that one.');
  if (holder?.is_held === true) throw heldByAnother();
  return holder;
}

async function replace(
  tx: Transaction,
  deps: Deps,
  { organization_id, is_held: _free, ...row }: Holder,
  afterwards: Afterwards,
): Promise<void> {
  await deleteDomain(tx, row.id);
  await appendActivity(
    tx,
    deps.secrets,
    { organization_id },
    server_actor,
    domainEntry('deleted', row, undefined),
  );
  const notice = { kind: 'replaced', id: row.id, domain: row.domain } as const;
  await writeNotice({ tx, afterwards }, deps, organization_id, notice);
}

function heldByAnother() {
  return invalid(
    'domain',
    'unique',
    'Another organization of this server has claimed this domain. If it is yours, tell the ' +
      'operator of the server.',
  );
}
