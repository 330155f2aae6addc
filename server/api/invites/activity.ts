import { changesOf } from '../../platform/activity/changes.ts';
import type { Entry } from '../../platform/http/write.ts';
import type { InviteRow } from './schema.ts';

/**
 * Fields that the log omits: ids, the inviter (the entry's author), and fields that change with
 * time and mailing.
 */
const not_its_own = [
  'id',
  'created_by',
  'created_at',
  'updated_at',
  'is_expired',
  'emailing_attempt_made',
  'managed_by',
];

/** Returns the activity entry for a change of one invite, without the link. */
export function inviteEntry(
  activity: string,
  before: InviteRow | undefined,
  after: InviteRow | undefined,
): Entry {
  const { id, target_email } = (after ?? before)!;
  return {
    activity,
    scope: 'invite',
    item_id: id,
    item_name: target_email,
    changes: changesOf(before, after, not_its_own),
  };
}
