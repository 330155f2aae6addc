import type { ColumnSet } from './column.ts';
import type { EventFilter } from './event_filter.ts';
import type { Rectangle } from '../ledger/rectangles.ts';
import type { Column } from './column.ts';

/** The column that identifies the rows of a model. */
export type ModelKey = 'uuid' | 'distinct_id' | 'session_id' | 'group_id';

/** ClickHouse text with its parameters (`{name:Type}`). */
export type QueryText = { text: string; parameters: Record<string, string | number | string[]> };

/** The names of all models; each is also a table of the query language. */
export const model_names = [
  'events',
  'persons',
  'person_distinct_ids',
  'sessions',
  'groups',
] as const;

export type ModelName = (typeof model_names)[number];

/** Returns true for models whose rows each run computes from events. */
export function isMadeOfEvents(model: ModelName): model is 'sessions' | 'groups' {
  return model === 'sessions' || model === 'groups';
}

/**
 * A model for exports: its rows for a selection, and the columns that destinations get unless a
 * query selects others.
 */
export type Model = {
  name: ModelName;
  /**
   * Returns a subquery of exactly the selected rows of one project that pass the filter. Only
   * events are filtered. The same selection always returns the same rows, once its insertions have
   * settled.
   */
  relation(teamId: number, selection: Rectangle[], filter: EventFilter): QueryText;
  /**
   * Returns the selected rows before later versions replace earlier ones, and the aggregate that
   * counts the rows of `relation` for any part. One query can so count many parts of a selection.
   */
  versions(
    teamId: number,
    selection: Rectangle[],
    filter: EventFilter,
  ): QueryText & { records: string };
  /**
   * Returns a subquery of the changes under a condition on `team_id` and `inserted_at`; empty for
   * conditions without rows of the model.
   */
  changes(condition: string): string;
  /** The ORDER BY list of the delivery order, which is total. */
  order: string;
  /** The column that identifies a row permanently. */
  key: ModelKey;
  columns: Record<ColumnSet, Column[]>;
  /** Query settings of `relation`; none if absent. */
  settings?: Record<string, string | number>;
  /** The words of `relation` that are neither models nor their columns. */
  words?: { tables: string[]; columns: string[]; functions: string[] };
  /** True if event time selects rows of this model; false if only insertion time does. */
  has_event_time: boolean;
};
