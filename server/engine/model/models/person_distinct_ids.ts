import { ownColumn } from './column.ts';
import type { Column } from './column.ts';
import { latestVersions } from './latest_versions.ts';
import type { Model } from './model.ts';

const columns: Column[] = [
  ownColumn('team_id', 'integer'),
  ownColumn('distinct_id', 'text'),
  ownColumn('person_id', 'uuid'),
  ownColumn('version', 'integer'),
  { name: 'is_deleted', type: 'boolean', nullable: false, expression: 'is_deleted = 1' },
  ownColumn('inserted_at', 'timestamp'),
];

/** The owners of distinct ids. `person_id` is the id of a person that is not deleted. */
export const person_distinct_ids: Model = {
  name: 'person_distinct_ids',
  ...latestVersions('person_distinct_ids', 'version'),
  columns: { files: columns, tables: columns },
};
