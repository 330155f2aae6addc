import type { Column } from './column.ts';
import { latestVersions } from './latest_versions.ts';
import type { Model } from './model.ts';

const columns: Column[] = [
  { name: 'team_id', type: 'integer', nullable: false, expression: 'team_id' },
  { name: 'distinct_id', type: 'text', nullable: false, expression: 'distinct_id' },
  { name: 'person_id', type: 'uuid', nullable: false, expression: 'person_id' },
  { name: 'properties', type: 'json', nullable: false, expression: 'properties' },
  {
    name: 'person_distinct_id_version',
    type: 'integer',
    nullable: false,
    expression: 'person_distinct_id_version',
  },
  { name: 'person_version', type: 'integer', nullable: false, expression: 'person_version' },
  { name: 'created_at', type: 'timestamp', nullable: false, expression: 'created_at' },
  { name: 'is_deleted', type: 'boolean', nullable: false, expression: 'is_deleted = 1' },
  { name: 'inserted_at', type: 'timestamp', nullable: false, expression: 'inserted_at' },
];

/**
 * Persons, each under the distinct id that its `person_id` follows from; one that became a part of
 * another is deleted.
 */
export const persons: Model = {
  name: 'persons',
  ...latestVersions('persons', 'person_version'),
  columns: { files: columns, tables: columns },
};
