import type { ColumnSet } from '../../model/models/column.ts';
import { NonRetryableError } from '../../model/destination/errors.ts';
import { columnsOfQuery } from '../../query/custom_query.ts';
import type { QueryStore } from '../../query/custom_query.ts';
import { eventFilterOf } from '../../model/models/event_filter.ts';
import { fromStored, isHistory } from '../../model/ledger/rectangles.ts';
import type { Rectangle, StoredRectangle } from '../../model/ledger/rectangles.ts';
import type { Column } from '../../model/models/column.ts';
import {
  typed_settings,
  typedRelation,
  withTypedColumns,
} from '../../model/schema/typed_relation.ts';
import type { TypedColumn } from '../../model/schema/typed_relation.ts';
import { models } from '../../model/models/index.ts';
import { ForeignNodeError, gateRelation } from '../../query/gate/check_by_engine.ts';
import { queryRelation, resolveQuery } from '../../query/query.ts';
import type { ResolvedQuery } from '../../query/query.ts';
import { QueryError } from '../../query/query_error.ts';
import { querySettings } from '../../query/settings.ts';
import type { QueryParameters } from '../../query/values/writer.ts';
import type { ModelKey, ModelName, QueryText } from '../../model/models/model.ts';

/**
 * The rows that a run reads: one project's rows of one model within its selection, or a query's
 * result on them.
 */
export type Source = {
  team_id: number;
  model: ModelName;
  selection: StoredRectangle[];
  custom_query: string | null;
  /** The typed columns; absent or null: properties are JSON. */
  typed_columns?: TypedColumn[] | null;
  /** Its `include_events` and `exclude_events` select the events. */
  destination_config: Record<string, unknown> | null;
  /** ISO 8601; the value of `now()` in a query. */
  data_interval_end: string;
};

/**
 * A source in ClickHouse's terms: `FROM <text>` returns its rows, and `ORDER BY <order>` puts them
 * in their total order.
 */
export type SourceQuery = {
  team_id: number;
  text: string;
  parameters: QueryParameters;
  order: string;
  /**
   * The model's key, if the relation has it and `inserted_at` for each row. Without it, the rows
   * cannot be cut into slices or told apart.
   */
  key: ModelKey | undefined;
  /** Sent with every question: they enforce the limits of a query. */
  settings: Record<string, string | number>;
  query: ResolvedQuery | undefined;
};

/**
 * Returns the columns of an export: its query's, or the model's own in the set of its destination.
 * Tables have JSON for lists and maps. Throws `query_failed` for a query that is no longer
 * understood.
 */
export function columnsOf(
  source: Pick<Source, 'model' | 'custom_query' | 'typed_columns'>,
  columnSet: ColumnSet,
): Column[] {
  if (source.custom_query !== null) {
    const columns = columnsOfQuery(understood(source.custom_query, source.model));
    return columnSet === 'files' ? columns : columns.map(withoutNesting);
  }
  const own = models[source.model].columns[columnSet];
  const typed = source.typed_columns ?? undefined;
  return typed === undefined ? own : withTypedColumns(own, typed);
}

function withoutNesting({ nested, ...column }: Column): Column {
  return nested === undefined
    ? column
    : { ...column, expression: `toJSONString(${column.expression})` };
}

/**
 * Opens a source for reading. Guarantee: the same source returns the same rows in the same order at
 * any time; the text of a query has passed the last check of the gate. Throws `query_failed` for a
 * query that is no longer understood.
 */
export async function openSourceQuery(store: QueryStore, source: Source): Promise<SourceQuery> {
  const { relation, order, key, settings: own = {} } = models[source.model];
  const selection = fromStored(source.selection);
  const event_filter = eventFilterOf(source.destination_config);
  const typed = source.typed_columns ?? undefined;
  if (source.custom_query === null) {
    const rows = relation(source.team_id, selection, event_filter);
    const state = standing(source.model, rows, selection);
    return {
      team_id: source.team_id,
      ...(typed === undefined ? state : typedRelation(state, typed)),
      order,
      key,
      settings: typed === undefined ? own : { ...own, ...typed_settings },
      query: undefined,
    };
  }
  const query = understood(source.custom_query, source.model);
  const printed = queryRelation(query, {
    team_id: source.team_id,
    selection,
    event_filter,
    data_interval_end: Date.parse(source.data_interval_end),
  });
  const settings = querySettings(store.query_limits);
  await gateRelation({ clickhouse: store.clickhouse, settings }, printed).catch(
    (error: unknown) => {
      throw error instanceof ForeignNodeError
        ? new NonRetryableError('query_failed', error.message, { cause: error })
        : error;
    },
  );
  const { text, parameters } = printed;
  return {
    team_id: source.team_id,
    text,
    parameters,
    order: printed.order,
    key: query.is_row_wise ? key : undefined,
    settings,
    query,
  };
}

/** A history is a state: rows deleted before its end are not part of it. */
function standing(model: ModelName, { text, ...rows }: QueryText, selection: Rectangle[]) {
  const hasDeleted = models[model].columns.tables.some(({ name }) => name === 'is_deleted');
  if (!hasDeleted || !isHistory(selection)) return { text, ...rows };
  return { text: `(SELECT * FROM ${text} WHERE NOT is_deleted)`, ...rows };
}

function understood(text: string, model: Source['model']): ResolvedQuery {
  try {
    return resolveQuery(text, { model });
  } catch (error) {
    if (!(error instanceof QueryError)) throw error;
    throw new NonRetryableError('query_failed', `The query is no longer valid: ${error.message}`, {
      cause: error,
    });
  }
}
