import { Type } from 'typebox';
import type { Static } from 'typebox';
import { nullable } from '../../platform/nullable.ts';
import { instant, text } from '../../platform/http/schemas.ts';

/** The kinds of objects that a configuration describes, parents first. */
export const kind_names = [
  'organization',
  'project',
  'write_key',
  'schema_column',
  'ingestion_rule',
  'planned_event',
  'connection',
  'batch_export',
  'notice_target',
  'plugin',
  'plugin_config',
  'domain',
  'member',
  'invite',
] as const;

/** The name of a kind, also in the activity log. */
export type KindName = (typeof kind_names)[number];

/**
 * The configuration that manages an object. Every object that a configuration can describe has this
 * field.
 */
export const ManagedBy = nullable(
  Type.Object(
    {
      key: text('Its key in the configuration, unique in its collection.'),
      source: text('The name of the configuration.'),
      commit: nullable(text('The commit of the last apply.')),
      applied_at: instant('Time of the last apply.'),
    },
    { description: 'The configuration that manages it, or null.' },
  ),
);

/** The manager of a record, as SELECT returns it. */
export type ManagedRow = Static<typeof ManagedBy>;
