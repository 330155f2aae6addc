import { Type } from 'typebox';
import type { Static } from 'typebox';
import { nullable } from '../../platform/nullable.ts';
import { instant, text, titled, uuid, whole } from '../../platform/http/schemas.ts';
import { Project } from '../projects/schema.ts';

const { retention, retention_days } = Project.properties;

const Found = titled('RetentionFound', {
  rows: Type.Integer(),
  oldest: nullable(instant('Time of the first ingestion; null without rows.')),
  newest: nullable(instant('Time of the last ingestion; null without rows.')),
});

const Keeper = titled('RetentionKeeper', {
  kind: Type.Enum(['batch_export', 'plugin']),
  id: nullable(text('Of the export; null for a plugin.')),
  name: Type.String(),
  from: nullable(instant('The first ingestion that it keeps; null: all.')),
});

const Removal = titled('RetentionRemoval', {
  id: uuid(),
  retention: text('The setting behind the removal.'),
  removed_before: instant('It removes rows ingested before this time.'),
  events: nullable(whole('Null before they were counted.')),
  persons: nullable(whole('Versions of persons; null as with `events`.')),
  started_at: instant('When it was decided.'),
  ended_at: nullable(
    instant('Time when all these rows were removed; null while it is in progress.'),
  ),
});

/** The rows of a project that retention would remove, and its removals. */
export const Retention = titled('Retention', {
  retention,
  retention_days,
  removes_before: nullable(
    instant('Rows ingested before this time may be removed; null if all are kept forever.'),
  ),
  events: Found,
  persons: Found,
  kept_by: Type.Array(Keeper, {
    description:
      'Exports that keep rows beyond their retention, because they still have to deliver ' +
      'them, or may have to.',
  }),
  removals: Type.Array(Removal, { description: 'The latest 20, newest first.' }),
});

/** The answer of `retention/`. */
export type RetentionAnswer = Static<typeof Retention>;

/** A removal as SELECT returns it. */
export type RemovalRow = Static<typeof Removal>;

/** The query parameters: a setting to try. */
export const RetentionQuery = Type.Object({
  retention: Type.Optional(
    Type.Enum([...retention.enum], { description: 'Default: the setting of the project.' }),
  ),
  retention_days: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 36_500,
      description: 'Default: the setting of the project.',
    }),
  ),
});
