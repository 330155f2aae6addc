import { Type } from 'typebox';
import type { Static } from 'typebox';
import { nullable } from '../../platform/nullable.ts';
import { instant, uuid } from '../../platform/http/schemas.ts';
import { Project } from '../projects/schema.ts';

const { retention, retention_days } = Project.properties;

const Found = Type.Object(
  {
    rows: Type.Integer(),
    oldest: nullable(instant('Time of the first ingestion; null without rows.')),
    newest: nullable(instant('Time of the last ingestion; null without rows.')),
  },
  { title: 'RetentionFound' },
);

const Keeper = Type.Object(
  {
    kind: Type.Enum(['batch_export', 'plugin']),
    id: nullable(Type.String({ description: 'Of the export; null for a plugin.' })),
    name: Type.String(),
    from: nullable(instant('The first ingestion that it keeps; null: all.')),
  },
  { title: 'RetentionKeeper' },
);

const Removal = Type.Object(
  {
    id: uuid(),
    retention: Type.String({ description: 'The setting behind the removal.' }),
    removed_before: instant('It removes rows ingested before this time.'),
    events: nullable(Type.Integer({ description: 'Null before they were counted.' })),
    persons: nullable(Type.Integer({ description: 'Versions of persons; null as with `events`.' })),
    started_at: instant('When it was decided.'),
    ended_at: nullable(
      instant('Time when all these rows were removed; null while it is in progress.'),
    ),
  },
  { title: 'RetentionRemoval' },
);

/** The rows of a project that retention would remove, and its removals. */
export const Retention = Type.Object(
  {
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
  },
  { title: 'Retention' },
);

export type RetentionAnswer = Static<typeof Retention>;

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
