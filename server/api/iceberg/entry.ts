import type { LakeTable } from '../../engine/model/lake_catalog/tables.ts';

/** Returns the activity entry for a change of a table. */
export const entryOf = (activity: string, { id, levels, name }: LakeTable) => ({
  activity,
  scope: 'lake_table',
  item_id: id,
  item_name: [...levels, name].join('.'),
  changes: [],
});
