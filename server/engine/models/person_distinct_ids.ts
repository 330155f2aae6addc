import type { Column } from './column.ts';
import { latestVersions } from './latest_versions.ts';
import type { Model } from './model.ts';

const columns: Column[] = [
  { name: 'team_id', type: 'integer', nullable: false, expression: 'team_id' },
  { name: 'distinct_id', type: 'text', nullable: false, expression: 'distinct_id' },
  { name: 'person_id', type: 'uuid', nullable: false, expression: 'person_id' },
  { name: 'version', type: 'integer', nullable: false, expression: 'version' },
  { name: 'is_deleted', type: 'boolean', nullable: false, expression: 'is_deleted = 1' },
  { name: 'inserted_at', type: 'timestamp', nullable: false, expression: 'inserted_at' },
];

/** Which person distinct ids belong to. `person_id` is that of a person which is not deleted. */
export const person_distinct_ids: Model = {
  name: 'person_distinct_ids',
  ...latestVersions('person_distinct_ids', 'version'),
  columns: { files: columns, tables: columns },
};
