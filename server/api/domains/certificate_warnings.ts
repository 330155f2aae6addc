import type { Deps } from '../../deps.ts';
import { changesOf } from '../../platform/activity/changes.ts';
import { tellOfEach } from '../../platform/activity/tell_of_each.ts';
import { writeNotice } from './notices.ts';
import { takeCertificateWarning } from './proof/proof_store.ts';

/**
 * Warns 30, 7 and 1 days before the last certificate of a verified domain's identity provider
 * expires, by an entry in the activity log and mails to administrators. With any number of
 * processes, each warning is sent once. Returns the number of warnings.
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
