import { ownColumn } from './column.ts';
import type { Column } from './column.ts';
import { latestVersions } from './latest_versions.ts';
import type { Model } from './model.ts';

const columns: Column[] = [
  ownColumn('team_id', 'integer'),
  ownColumn('distinct_id', 'text'),
  ownColumn('person_id', 'uuid'),
  ownColumn('properties', 'json'),
  ownColumn('person_distinct_id_version', 'integer'),
  ownColumn('person_version', 'integer'),
  ownColumn('created_at', 'timestamp'),
  { name: 'is_deleted', type: 'boolean', nullable: false, expression: 'is_deleted = 1' },
  ownColumn('inserted_at', 'timestamp'),
];

/**
 * Persons, each under the distinct id that determines its `person_id`. A person merged into another
 * one counts as deleted.
 */
export const persons: Model = {
  name: 'persons',
  ...latestVersions('persons', 'person_version'),
  columns: { files: columns, tables: columns },
};
