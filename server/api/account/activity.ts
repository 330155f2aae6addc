import { changesOf } from '../../platform/activity/changes.ts';
import type { Change } from '../../platform/activity/changes.ts';
import type { Entry } from '../../platform/http/write.ts';
import type { AccountRow } from '../users/schema.ts';
import type { Identity } from '../users/store.ts';

type Person = Pick<Identity, 'uuid' | 'email'>;

/**
 * Returns the activity entry for an action of a person on their account, in the chain of their own
 * log.
 */
export function accountEntry(activity: string, { uuid, email }: Person, changes: Change[]): Entry {
  return {
    activity,
    scope: 'user',
    item_id: uuid,
    item_name: email,
    changes,
    chain: { user_uuid: uuid },
  };
}

/** Returns the differences between two states of an account, without its organizations. */
export function accountChanges(
  before: AccountRow | undefined,
  after: AccountRow | undefined,
): Change[] {
  return changesOf(before, after, ['updated_at', 'organizations']);
}
