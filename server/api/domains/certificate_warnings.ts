import type { Deps } from '../../deps.ts';
import { changesOf } from '../../platform/activity/changes.ts';
import { tellOfEach } from '../../platform/activity/tell_of_each.ts';
import { writeNotice } from './notices.ts';
import { takeCertificateWarning } from './proof/proof_store.ts';

/**
 * Warns of every verified domain whose identity provider's last certificate ends within 30, 7 or 1
 * days: an entry in the activity log and a mail to the administrators, once for each of the three,
 * whatever number of processes does this. Gives how many warnings there were.
 */
export function warnOfCertificates(deps: Deps, signal?: AbortSignal): Promise<number> {
  return tellOfEach(deps, signal, async (place) => {
    const now = deps.clock.now();
    const due = await takeCertificateWarning(place.tx, now);
    if (due === undefined) return undefined;
    const { id, organization_id, domain, saml_expires_at } = due;
    const is_expired = Date.parse(saml_expires_at) <= now;
    await writeNotice(place, deps, organization_id, {
      id,
      domain,
      kind: 'certificate',
      expires_at: saml_expires_at,
      is_expired,
    });
    const changes = changesOf(undefined, { saml_expires_at });
    return {
      chain: { organization_id },
      entry: { activity: 'warned', scope: 'domain', item_id: id, item_name: domain, changes },
    };
  });
}
