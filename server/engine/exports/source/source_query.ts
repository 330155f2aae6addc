import type { ColumnSet } from '../../model/models/column.ts';
import { NonRetryableError } from '../../model/destination/errors.ts';
import { columnsOfQuery } from '../../query/custom_query.ts';
import type { QueryStore } from '../../query/custom_query.ts';
import { eventFilterOf } from '../../model/models/event_filter.ts';
import { fromStored } from '../../model/ledger/rectangles.ts';
import type { StoredRectangle } from '../../model/ledger/rectangles.ts';
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
import type { ModelKey, ModelName } from '../../model/models/model.ts';

/**
 * The rows that a run reads: one project's rows of one model within its selection, or a query's
 * result on them.
 */
export type Source = {
  team_id: number;
  model: ModelName;
  selection: StoredRectangle[];
  custom_query: string | null;
  /** The columns that properties have of their own; left out or null: properties are JSON. */
  typed_columns?: TypedColumn[] | null;
  /** Says in `include_events` and `exclude_events` which events are read. */
  destination_config: Record<string, unknown> | null;
  /** ISO 8601; what `now()` is in a query. */
  data_interval_end: string;
};

/**
 * A source as ClickHouse is asked for it: `FROM <text>` gives its rows and `ORDER BY <order>` puts
 * them in their one order.
 */
export type SourceQuery = {
  team_id: number;
  text: string;
  parameters: QueryParameters;
  order: string;
  /**
   * Has the relation `inserted_at` and this column, the model's key, for each row? Without it the
   * rows cannot be cut into slices or told apart.
   */
  key: ModelKey | undefined;
  /** Go with every question: for a query they are what keeps it within its limits. */
  settings: Record<string, string | number>;
  query: ResolvedQuery | undefined;
};

/**
 * The columns of an export: those of its query, or the model's own in the set of its destination.
 * Throws `query_failed` for a query that is not understood any more.
 */
export function columnsOf(
  source: Pick<Source, 'model' | 'custom_query' | 'typed_columns'>,
  columnSet: ColumnSet,
): Column[] {
  if (source.custom_query !== null)
    return columnsOfQuery(understood(source.custom_query, source.model));
  const own = models[source.model].columns[columnSet];
  const typed = source.typed_columns ?? undefined;
  return typed === undefined ? own : withTypedColumns(own, typed);
}

/**
 * Makes a source readable. Guarantee: the same source gives the same rows in the same order
 * whenever it is asked; the text of a query has passed the last gate. Throws `query_failed` for a
 * query that is not understood any more.
 */
export async function openSourceQuery(store: QueryStore, source: Source): Promise<SourceQuery> {
  const { relation, order, key, settings: own = {} } = models[source.model];
  const selection = fromStored(source.selection);
  const event_filter = eventFilterOf(source.destination_config);
  const typed = source.typed_columns ?? undefined;
  if (source.custom_query === null) {
    const rows = relation(source.team_id, selection, event_filter);
    return {
      team_id: source.team_id,
      ...(typed === undefined ? rows : typedRelation(rows, typed)),
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
