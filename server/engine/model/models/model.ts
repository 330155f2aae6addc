import type { ColumnSet } from './column.ts';
import type { EventFilter } from './event_filter.ts';
import type { Rectangle } from '../ledger/rectangles.ts';
import type { Column } from './column.ts';

/** The column by which rows of a model are told apart. */
export type ModelKey = 'uuid' | 'distinct_id' | 'session_id' | 'group_id';

/** ClickHouse text with the parameters that it names (`{name:Type}`). */
export type QueryText = { text: string; parameters: Record<string, string | number | string[]> };

/** The names of what can be exported; each is a table of the query language as well. */
export const model_names = [
  'events',
  'persons',
  'person_distinct_ids',
  'sessions',
  'groups',
] as const;

/** One of them. */
export type ModelName = (typeof model_names)[number];

/** Models whose rows are made of events at each run. */
export function isMadeOfEvents(model: ModelName): model is 'sessions' | 'groups' {
  return model === 'sessions' || model === 'groups';
}

/**
 * A model for exports: its rows for a selection, and the columns that destinations get unless a
 * query says otherwise.
 */
export type Model = {
  name: ModelName;
  /**
   * A subquery that gives exactly the selected rows of one project that pass the filter, which is
   * about events alone. The same selection gives the same rows whenever it is asked, once its
   * insertions have settled.
   */
  relation(teamId: number, selection: Rectangle[], filter: EventFilter): QueryText;
  /**
   * The selected rows before later versions replace earlier ones in it, and the aggregate that says
   * how many rows `relation` has for any part of them: so many parts of a selection are counted in
   * one question.
   */
  versions(
    teamId: number,
    selection: Rectangle[],
    filter: EventFilter,
  ): QueryText & { records: string };
  /**
   * Subquery of what has changed under a condition on `team_id` and `inserted_at`; empty where no
   * row of the model is.
   */
  changes(condition: string): string;
  /** ORDER BY list that puts rows in the one order in which they are delivered. */
  order: string;
  /** The column that names a row for good. */
  key: ModelKey;
  columns: Record<ColumnSet, Column[]>;
  /** Settings with which `relation` is asked; none where it is left out. */
  settings?: Record<string, string | number>;
  /** The words of `relation` that are neither models nor their columns. */
  words?: { tables: string[]; columns: string[]; functions: string[] };
  /** Does event time select rows of this model, or only the time of insertion? */
  has_event_time: boolean;
};
