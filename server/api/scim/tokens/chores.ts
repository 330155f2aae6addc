import type { Deps } from '../../../deps.ts';
import { changesOf } from '../../../platform/activity/changes.ts';
import { tellOfEach } from '../../../platform/activity/tell_of_each.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { tellOwners } from '../../organizations/store.ts';
import { tokenEnded, tokenExpires } from '../told.ts';
import { takeEndedToken, takeTokenWarning } from './store.ts';
import type { ToldToken } from './store.ts';

/**
 * Deletes the tokens whose creator is no longer an active owner, with an entry in the activity log
 * and a mail to the owners. With any number of processes, this happens once for each token. The
 * server has refused them since the creator lost the right. Returns their number.
 */
export function endTokens(deps: Deps, signal?: AbortSignal): Promise<number> {
  return tellOfTokens(deps, signal, takeEndedToken, 'ended', ({ domain, maker, ...token }) =>
    tokenEnded(domain, token, maker),
  );
}

/**
 * Warns the owners 14 days and 1 day before a token expires, by an entry in the activity log and a
 * mail, once each. Returns the number of warnings.
 */
export function warnOfTokens(deps: Deps, signal?: AbortSignal): Promise<number> {
  const take = (tx: Transaction) => takeTokenWarning(tx, deps.clock.now());
  return tellOfTokens(deps, signal, take, 'warned', ({ domain, ...token }) =>
    tokenExpires(domain, token),
  );
}

function tellOfTokens(
  deps: Deps,
  signal: AbortSignal | undefined,
  take: (tx: Transaction) => Promise<ToldToken | undefined>,
  activity: 'ended' | 'warned',
  saidOf: (token: ToldToken) => Parameters<typeof tellOwners>[3],
): Promise<number> {
  return tellOfEach(deps, signal, async (place) => {
    const due = await take(place.tx);
    if (due === undefined) return undefined;
    const { id: item_id, name: item_name, organization_id, domain, maker, expires_at } = due;
    await tellOwners(deps, place, organization_id, saidOf(due));
    const changes = changesOf(undefined, { domain, created_by: maker, expires_at });
    return {
      chain: { organization_id },
      entry: { activity, scope: 'scim_token', item_id, item_name, changes },
    };
  });
}
