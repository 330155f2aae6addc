import type { Rectangle } from '../ledger/rectangles.ts';
import type { Model } from './model.ts';
import { selectionCondition, teamParameter } from './selection.ts';

/**
 * Selects rows of a table of versions: for each distinct_id, the latest version inserted in the
 * selection. The table keeps all versions, so a later one does not change the result.
 */
export function latestVersions(
  table: 'persons' | 'person_distinct_ids',
  version: string,
): Pick<Model, 'changes' | 'has_event_time' | 'key' | 'order' | 'relation' | 'versions'> {
  const selected = (selection: Rectangle[]) =>
    `SELECT * FROM ${table} WHERE team_id = {team_id:Int64}
    AND ${selectionCondition(selection, { event: undefined, inserted: 'inserted_at' })}`;
  return {
    has_event_time: false,
    changes: (condition) => `(SELECT team_id FROM ${table} WHERE ${condition})`,
    key: 'distinct_id',
    order: 'inserted_at, distinct_id',
    relation: (teamId, selection) => ({
      text:
        `(${selected(selection)} ORDER BY distinct_id, ${version} DESC LIMIT 1 BY ` +
        'distinct_id)',
      parameters: teamParameter(teamId),
    }),
    versions: (teamId, selection) => ({
      text: `(${selected(selection)})`,
      parameters: teamParameter(teamId),
      records: 'uniqExact(distinct_id)',
    }),
  };
}
