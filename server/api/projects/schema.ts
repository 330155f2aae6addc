import { Type } from 'typebox';
import type { Static } from 'typebox';
import { ManagedBy } from '../configuration/schema.ts';

/** A project as every answer shows it. */
export const Project = Type.Object(
  {
    id: Type.Integer({ description: 'The id in paths, and `team_id` in exports.' }),
    uuid: Type.String({ format: 'uuid' }),
    organization: Type.String({
      format: 'uuid',
      description: 'The organization that it belongs to.',
    }),
    name: Type.String(),
    api_token: Type.String({
      description: 'The public token under which events are sent; it gives no right to read.',
    }),
    timezone: Type.String({ description: 'The zone in which days and weeks of new exports turn.' }),
    created_at: Type.String({ format: 'date-time' }),
    updated_at: Type.String({ format: 'date-time' }),
    managed_by: ManagedBy,
  },
  { title: 'Project' },
);

/** A project row as SELECT gives it. */
export type ProjectRow = Static<typeof Project>;

const name = Type.String({
  trim: true,
  minLength: 1,
  maxLength: 200,
  description: 'Name for people; white space around it is removed.',
});
const timezone = Type.Optional(
  Type.String({
    trim: true,
    minLength: 1,
    maxLength: 64,
    description: 'Name in the IANA time zone database, such as `Europe/Berlin`; default `UTC`.',
  }),
);

/** Body of POST. */
export const ProjectCreate = Type.Object({
  name,
  timezone,
  organization: Type.Optional(
    Type.String({
      format: 'uuid',
      description:
        'Where the project is made; default the oldest organization in which the caller is at ' +
        'least administrator.',
    }),
  ),
});
/** Body of PUT: what may be left out keeps its value. A project stays in its organization. */
export const ProjectPut = Type.Object({ name, timezone });
/** Body of PATCH: only what is sent is changed. */
export const ProjectPatch = Type.Object({ name: Type.Optional(name), timezone });

/** The fields that a PATCH or PUT brought. */
export type ProjectChanges = Static<typeof ProjectPatch>;
