import type { Deps } from '../../deps.ts';
import { appendActivity, server_actor } from '../../platform/activity/chain.ts';
import { writeNotice } from './notices.ts';
import { takeCertificateWarning } from './proof/proof_store.ts';
import type { WarnedDomain } from './proof/proof_store.ts';

/**
 * Warns of every verified domain whose identity provider's last certificate ends within 30, 7 or 1
 * days: an entry in the activity log and a mail to the administrators, once for each of the three,
 * whatever number of processes does this. Gives how many warnings there were.
 */
export async function warnOfCertificates(deps: Deps, signal?: AbortSignal): Promise<number> {
  let warned = 0;
  while (signal?.aborted !== true && (await warnOfOne(deps))) warned += 1;
  return warned;
}

async function warnOfOne(deps: Deps): Promise<boolean> {
  const now = deps.clock.now();
  const mails = await deps.db.transaction(async (tx) => {
    const due = await takeCertificateWarning(tx, now);
    if (due === undefined) return undefined;
    await appendActivity(
      tx,
      deps.secrets,
      { organization_id: due.organization_id },
      server_actor,
      warningEntry(due),
    );
    const { id, organization_id, domain, saml_expires_at: expires_at } = due;
    return writeNotice(tx, deps, organization_id, {
      id,
      domain,
      kind: 'certificate',
      expires_at,
      is_expired: Date.parse(expires_at) <= now,
    });
  });
  if (mails === undefined) return false;
  void deps.outbox.send(mails);
  return true;
}

/** Nothing changes; what the warning is about stands where a change would. */
function warningEntry({ id, domain, saml_expires_at }: WarnedDomain) {
  const change = {
    field: 'saml_expires_at',
    action: 'created' as const,
    before: null,
    after: saml_expires_at,
  };
  return { activity: 'warned', scope: 'domain', item_id: id, item_name: domain, changes: [change] };
}
