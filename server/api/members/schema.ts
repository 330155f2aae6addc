import { Type } from 'typebox';
import type { Static } from 'typebox';
import { nullable } from '../../platform/nullable.ts';
import { flag, instant, titled, uuid, whole } from '../../platform/http/schemas.ts';
import { ManagedBy } from '../managed/schema.ts';
import { User } from '../users/schema.ts';

/** The level of a member: 1 member, 8 administrator, 15 owner. */
export const Level = Type.Enum([1, 8, 15], { description: '1 member, 8 administrator, 15 owner.' });
export type Level = Static<typeof Level>;

/** A member of an organization in answers. */
export const Member = titled('Member', {
  id: uuid('Id of the membership; paths name members by `user.uuid`.'),
  user: User,
  level: Level,
  joined_at: instant(),
  updated_at: instant('When the level was last changed.'),
  is_2fa_enabled: flag(
    'Whether the person has set up a second factor: codes of an app, or a passkey.',
  ),
  has_social_auth: flag('Whether the person signs in through another provider.'),
  last_seen_at: nullable(
    instant(
      'Time of the last request of the person to this organization, in a session or with a ' +
        'key; precise to the minute. Null: not since the server began to record it.',
    ),
  ),
  managed_by: ManagedBy,
  directory_token_count: whole(
    'Tokens of directories (SCIM) that the person created here. They end when the person ' +
      'is no longer an owner.',
  ),
});
/** A member row as SELECT returns it. */
export type MemberRow = Static<typeof Member>;

/** Body of PUT. */
export const MemberPut = Type.Object({ level: Level });
/** Body of PATCH: only the sent fields change. */
export const MemberPatch = Type.Object({ level: Type.Optional(Level) });
