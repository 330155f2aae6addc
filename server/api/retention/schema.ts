import { Type } from 'typebox';
import type { Static } from 'typebox';
import { nullable } from '../../platform/nullable.ts';
import { instant, uuid } from '../../platform/http/schemas.ts';
import { Project } from '../projects/schema.ts';

const { retention, retention_days } = Project.properties;

const Found = Type.Object(
  {
    rows: Type.Integer(),
    oldest: nullable(instant('When the first of them was taken in; null without one.')),
    newest: nullable(instant('When the last of them was taken in; null without one.')),
  },
  { title: 'RetentionFound' },
);

const Keeper = Type.Object(
  {
    kind: Type.Enum(['batch_export', 'plugin']),
    id: nullable(Type.String({ description: 'Of the export; null for a plugin.' })),
    name: Type.String(),
    from: nullable(instant('The first insertion that it keeps; null: from the beginning.')),
  },
  { title: 'RetentionKeeper' },
);

const Removal = Type.Object(
  {
    id: uuid(),
    retention: Type.String({ description: 'The setting that it followed.' }),
    removed_before: instant('Everything that it removes was taken in before.'),
    events: nullable(Type.Integer({ description: 'Null until they were counted.' })),
    persons: nullable(Type.Integer({ description: 'Versions of persons; null as with `events`.' })),
    started_at: instant('When it was decided.'),
    ended_at: nullable(instant('When none of these rows was left; null while it is under way.')),
  },
  { title: 'RetentionRemoval' },
);

/** The rows of a project that retention removes, and has removed. */
export const Retention = Type.Object(
  {
    retention,
    retention_days,
    removes_before: nullable(
      instant('Rows that were taken in before may go; null where they are kept for ever.'),
    ),
    events: Found,
    persons: Found,
    kept_by: Type.Array(Keeper, {
      description: 'Who keeps rows that are old enough to go: they want them, or may.',
    }),
    removals: Type.Array(Removal, { description: 'The latest 20, newest first.' }),
  },
  { title: 'Retention' },
);

/** The answer of `retention/`. */
export type RetentionAnswer = Static<typeof Retention>;

/** A removal as SELECT gives it. */
export type RemovalRow = Static<typeof Removal>;

/** The query parameters: a setting to try. */
export const RetentionQuery = Type.Object({
  retention: Type.Optional(
    Type.Enum([...retention.enum], { description: 'Default: the one of the project.' }),
  ),
  retention_days: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 36_500,
      description: 'Default: those of the project.',
    }),
  ),
});
