import type { Rectangle } from '../ledger/rectangles.ts';
import { selectionCondition } from './selection.ts';

const is_projects = 'team_id = {team_id:Int64}';
const inserted = (sides: Rectangle[]) =>
  selectionCondition(sides, { event: undefined, inserted: 'inserted_at' });

/** Returns a ClickHouse condition for the project's rows inserted in the selection. */
export function within(selection: Rectangle[]): string {
  return `${is_projects} AND ${inserted(selection)}`;
}

/** Returns a ClickHouse condition for the project's rows inserted before the selection ends. */
export function asOf(selection: Rectangle[]): string {
  if (selection.length === 0) return '0';
  const inserted_to = Math.max(...selection.map((side) => side.inserted_to));
  const all_time = { event_from: -Infinity, event_to: Infinity, inserted_from: -Infinity };
  return within([{ ...all_time, inserted_to }]);
}

/**
 * Returns a subquery of the ids whose events or removals meet a condition, each with its project
 * and insertion.
 */
export function changedIds(
  id: 'session_id' | 'group_id',
  removals: string,
  condition: string,
): string {
  const of = (table: string) =>
    `SELECT team_id, ${id}, inserted_at FROM ${table} WHERE ${condition}
      AND ${id} != ''`;
  return `(${of('events')} UNION ALL ${of(removals)})`;
}
