import { entryWriter } from '../../platform/http/records.ts';
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
export const inviteEntry = entryWriter(
  'invite',
  ({ target_email }: InviteRow) => target_email,
  not_its_own,
);
