import type { Deps } from '../../../deps.ts';
import { appendActivity, server_actor } from '../../../platform/activity/chain.ts';
import { changesOf } from '../../../platform/activity/changes.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { tellOwners } from '../../organizations/store.ts';
import { tokenEnded, tokenExpires } from '../told.ts';
import { takeEndedToken, takeTokenWarning } from './store.ts';
import type { ToldToken } from './store.ts';

type Said = Parameters<typeof tellOwners>[3];

/**
 * Deletes the tokens whose maker is no active owner any more, with an entry in the activity log and
 * a mail to the owners; once for each, whatever number of processes does this. They were refused
 * since the maker lost the right. Gives how many there were.
 */
export function endTokens(deps: Deps, signal?: AbortSignal): Promise<number> {
  return tellOfEach(deps, signal, takeEndedToken, 'ended', ({ domain, maker, ...token }) =>
    tokenEnded(domain, token, maker),
  );
}

/**
 * Warns the owners of every token 14 days and 1 day before it expires, by an entry in the activity
 * log and a mail; once for each of the two. Gives how many warnings there were.
 */
export function warnOfTokens(deps: Deps, signal?: AbortSignal): Promise<number> {
  const take = (tx: Transaction) => takeTokenWarning(tx, deps.clock.now());
  return tellOfEach(deps, signal, take, 'warned', ({ domain, ...token }) =>
    tokenExpires(domain, token),
  );
}

async function tellOfEach(
  deps: Deps,
  signal: AbortSignal | undefined,
  take: (tx: Transaction) => Promise<ToldToken | undefined>,
  activity: 'ended' | 'warned',
  saidOf: (token: ToldToken) => Said,
): Promise<number> {
  let told = 0;
  while (signal?.aborted !== true && (await tellOfOne(deps, take, activity, saidOf))) told += 1;
  return told;
}

async function tellOfOne(
  deps: Deps,
  take: (tx: Transaction) => Promise<ToldToken | undefined>,
  activity: 'ended' | 'warned',
  saidOf: (token: ToldToken) => Said,
): Promise<boolean> {
  const effects: (() => Promise<unknown>)[] = [];
  const is_told = await deps.db.transaction(async (tx) => {
    const due = await take(tx);
    if (due === undefined) return false;
    const { id: item_id, name: item_name, organization_id, domain, maker, expires_at } = due;
    const changes = changesOf(undefined, { domain, created_by: maker, expires_at });
    const entry = { activity, scope: 'scim_token', item_id, item_name, changes };
    await appendActivity(tx, deps.secrets, { organization_id }, server_actor, entry);
    const place = { tx, afterwards: (effect: () => Promise<unknown>) => void effects.push(effect) };
    await tellOwners(deps, place, organization_id, saidOf(due));
    return true;
  });
  for (const effect of effects) await effect();
  return is_told;
}
