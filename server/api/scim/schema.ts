import { Type } from 'typebox';
import type { Static } from 'typebox';
import { lineOfText } from '../../platform/line_of_text.ts';
import { nullable } from '../../platform/nullable.ts';
import { flag, instant, text, titled, uuid, whole } from '../../platform/http/schemas.ts';
import { User } from '../users/schema.ts';

const Level = nullable(
  Type.Enum([1, 8], {
    description: 'Minimum level of its people: 1 member, 8 administrator; null: no minimum.',
  }),
);

/** A group that a directory has pushed, in answers. */
export const Group = titled('DirectoryGroup', {
  id: uuid(),
  display_name: Type.String(),
  level: Level,
  member_count: Type.Integer(),
});
/** A group as SELECT returns it. */
export type GroupRow = Static<typeof Group>;

/** The state and activity of a domain's directory, in answers. */
export const Directory = titled('Directory', {
  is_on: flag('Whether it was switched on. It works on a verified domain, with a token.'),
  base_url: text('The SCIM base URL to enter in the directory.'),
  may_manage_owners: flag('Whether it may deactivate, delete and reactivate owners.'),
  token_count: whole('Tokens that work.'),
  last_used_at: nullable(instant('Precise to the minute; null: not used yet.')),
  active_people: whole('Members whom the directory sees.'),
  deactivated_people: whole('People whom it has deactivated and may reactivate.'),
  group_count: Type.Integer(),
  groups: Type.Array(Group, { description: 'The first 1,000 by name.' }),
});
/** A directory as GET returns it. */
export type DirectoryRow = Static<typeof Directory>;

/** Body of PUT of a directory. */
export const DirectoryPut = Type.Object({
  may_manage_owners: Directory.properties.may_manage_owners,
});
/** Body of PATCH of a directory: only the sent fields change. */
export const DirectoryPatch = Type.Object({
  may_manage_owners: Type.Optional(Directory.properties.may_manage_owners),
});

/**
 * A token of a directory in lists and records; the token itself is not stored. It ends when
 * `created_by` is no longer an owner; null: an old token without a known creator.
 */
export const Token = titled('DirectoryToken', {
  id: uuid(),
  name: text('Where it is used.'),
  mask_value: text('First and last characters of the token.'),
  created_by: nullable(User),
  created_at: instant(),
  expires_at: instant('After this time it is refused.'),
  last_used_at: nullable(instant('Precise to the minute; null: not used yet.')),
});
/** A token as SELECT returns it. */
export type TokenRow = Static<typeof Token>;

/** The answer that creates a token. */
export const NewToken = titled('NewDirectoryToken', {
  ...Token.properties,
  base_url: Directory.properties.base_url,
  token: Type.Optional(
    text('The token (`slc_...`), shown only here. `validate_only` neither creates nor shows one.'),
  ),
});
/** A new token with its secret. */
export type NewTokenRow = Static<typeof NewToken>;

/** Body of POST of a token. */
export const TokenCreate = Type.Object({
  name: lineOfText(100, 'Where it is used; white space around it is removed.'),
  expires_at: Type.Optional(
    instant('In the future, in 2 years (731 days) at the latest; default: in 365 days.'),
  ),
});

/** Body of PUT of a group. */
export const GroupPut = Type.Object({ level: Level });
/** Body of PATCH of a group: only the sent fields change. */
export const GroupPatch = Type.Object({ level: Type.Optional(Level) });
