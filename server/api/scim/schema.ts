import { Type } from 'typebox';
import type { Static } from 'typebox';
import { nullable } from '../../platform/nullable.ts';
import { instant, uuid } from '../../platform/http/schemas.ts';

const Level = nullable(
  Type.Enum([1, 8], {
    description:
      'The level that its people have at least: 1 member, 8 administrator; null: it says nothing.',
  }),
);

/** A group that a directory has pushed, as every answer shows it. */
export const Group = Type.Object(
  {
    id: uuid(),
    display_name: Type.String(),
    level: Level,
    member_count: Type.Integer(),
  },
  { title: 'DirectoryGroup' },
);
/** A group's row as SELECT gives it. */
export type GroupRow = Static<typeof Group>;

/** What the directory of a domain is and does, as every answer shows it. */
export const Directory = Type.Object(
  {
    is_on: Type.Boolean({ description: 'Whether it has a token. It works on a verified domain.' }),
    base_url: Type.String({ description: 'What the directory is told as its SCIM base URL.' }),
    mask_value: nullable(Type.String({ description: 'First and last characters of the token.' })),
    token_created_at: nullable(instant()),
    last_used_at: nullable(instant('Exact to the minute; null: not yet.')),
    active_people: Type.Integer({ description: 'Members whom the directory sees.' }),
    deactivated_people: Type.Integer({
      description: 'People whom it has taken out and may bring back.',
    }),
    group_count: Type.Integer(),
    groups: Type.Array(Group, { description: 'The first 1,000 by name.' }),
  },
  { title: 'Directory' },
);
/** A directory as GET answers it. */
export type DirectoryRow = Static<typeof Directory>;

/** The answer that created a token. */
export const NewToken = Type.Object(
  {
    ...Directory.properties,
    token: Type.Optional(
      Type.String({
        description: 'The token (`slc_...`), here alone; `validate_only` creates and shows none.',
      }),
    ),
  },
  { title: 'DirectoryToken' },
);
/** A directory with its new token. */
export type NewTokenRow = Static<typeof NewToken>;

/** Body of PUT of a group. */
export const GroupPut = Type.Object({ level: Level });
/** Body of PATCH of a group: only what is sent is changed. */
export const GroupPatch = Type.Object({ level: Type.Optional(Level) });
