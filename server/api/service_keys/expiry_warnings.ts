import type { Deps } from '../../deps.ts';
import { changesOf } from '../../platform/activity/changes.ts';
import { tellOfEach } from '../../platform/activity/tell_of_each.ts';
import { withoutLinks } from '../../platform/mail/plain_text.ts';
import { tellOwners } from '../organizations/store.ts';
import { takeServiceKeyWarning } from './store.ts';
import type { ExpiringServiceKey } from './store.ts';

/**
 * Warns the owners of an organization 14 days and 1 day before one of its service keys expires, by
 * a mail and an entry in the activity log. With any number of processes, each warning is sent once.
 * Returns the number of warnings.
 */
export function warnOfServiceKeys(deps: Deps, signal?: AbortSignal): Promise<number> {
  return tellOfEach(deps, signal, async (place) => {
    const key = await takeServiceKeyWarning(place.tx, deps.clock.now());
    if (key === undefined) return undefined;
    const { id: item_id, name: item_name, organization_id, expires_at } = key;
    await tellOwners(deps, place, organization_id, said(key));
    const changes = changesOf(undefined, { expires_at });
    return {
      chain: { organization_id },
      entry: { activity: 'warned', scope: 'service_key', item_id, item_name, changes },
    };
  });
}

function said({ name, mask_value, expires_at, last_used_at }: ExpiringServiceKey) {
  const used =
    last_used_at === null ? 'It was never used.' : `It was last used at ${last_used_at}.`;
  return {
    heading: 'A service key of your organization expires soon',
    paragraphs: [
      `The service key “${withoutLinks(name)}” (${mask_value}) expires at ${expires_at}. ${used}`,
      'After that, requests with it are refused. If a program needs it, rotate the key on ' +
        'the page of API keys: you get a new one, and the old one keeps working for a time ' +
        'that you choose, but not beyond its end.',
    ],
  };
}
