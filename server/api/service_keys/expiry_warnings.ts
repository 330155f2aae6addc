import type { Deps } from '../../deps.ts';
import { appendActivity, server_actor } from '../../platform/activity/chain.ts';
import { changesOf } from '../../platform/activity/changes.ts';
import { withoutLinks } from '../../platform/mail/plain_text.ts';
import { tellOwners } from '../organizations/store.ts';
import { takeServiceKeyWarning } from './store.ts';
import type { ExpiringServiceKey } from './store.ts';

/**
 * Warns the owners of an organization 14 days and 1 day before one of its service keys expires: a
 * mail, and an entry in the activity log, once for each of the two, whatever number of processes
 * does this. Gives how many warnings there were.
 */
export async function warnOfServiceKeys(deps: Deps, signal?: AbortSignal): Promise<number> {
  let warned = 0;
  while (signal?.aborted !== true && (await warnOfOne(deps))) warned += 1;
  return warned;
}

async function warnOfOne(deps: Deps): Promise<boolean> {
  const effects: (() => Promise<unknown>)[] = [];
  const due = await deps.db.transaction(async (tx) => {
    const key = await takeServiceKeyWarning(tx, deps.clock.now());
    if (key === undefined) return undefined;
    const afterwards = (effect: () => Promise<unknown>) => void effects.push(effect);
    await tellOwners(deps, { tx, afterwards }, key.organization_id, said(key));
    const { id, name, organization_id, expires_at } = key;
    await appendActivity(tx, deps.secrets, { organization_id }, server_actor, {
      activity: 'warned',
      scope: 'service_key',
      item_id: id,
      item_name: name,
      changes: changesOf(undefined, { expires_at }),
    });
    return key;
  });
  for (const effect of effects) await effect();
  return due !== undefined;
}

function said({ name, mask_value, expires_at, last_used_at }: ExpiringServiceKey) {
  const used =
    last_used_at === null ? 'It was never used.' : `It was last used at ${last_used_at}.`;
  return {
    heading: 'A service key of your organization expires soon',
    paragraphs: [
      `The service key “${withoutLinks(name)}” (${mask_value}) expires at ${expires_at}. ${used}`,
      'Requests with it are refused from then on. If a program needs it, rotate the key on the ' +
        'page of API keys: you get a new one, and the old one keeps working for the time that ' +
        'you choose, up to its end.',
    ],
  };
}
