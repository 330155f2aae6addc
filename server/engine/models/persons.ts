import type { Column } from './column.ts';
import type { Rectangle } from '../ledger/rectangles.ts';
import type { Model } from './model.ts';
import { selectionCondition, teamParameter } from './selection.ts';

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

function selectedVersions(selection: Rectangle[]): string {
  return `SELECT * FROM persons WHERE team_id = {team_id:Int64}
    AND ${selectionCondition(selection, { event: undefined, inserted: 'inserted_at' })}`;
}

/**
 * Persons as of the selection's end: of each distinct_id the latest version whose insertion lies in
 * the selection. All versions are kept in the table, so a version that comes later changes nothing
 * here.
 */
export const persons: Model = {
  name: 'persons',
  has_event_time: false,
  key: 'distinct_id',
  order: 'inserted_at, distinct_id',
  relation: (teamId, selection) => ({
    text:
      `(${selectedVersions(selection)} ORDER BY distinct_id, person_version DESC LIMIT 1 BY ` +
      'distinct_id)',
    parameters: teamParameter(teamId),
  }),
  versions: (teamId, selection) => ({
    text: `(${selectedVersions(selection)})`,
    parameters: teamParameter(teamId),
    records: 'uniqExact(distinct_id)',
  }),
  columns: { files: columns, tables: columns },
};
