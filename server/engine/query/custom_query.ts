import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import type { Column } from '../model/models/column.ts';
import type { Model } from '../model/models/model.ts';
import { checkByEngine } from './gate/check_by_engine.ts';
import { resolveQuery } from './query.ts';
import type { ResolvedQuery } from './query.ts';
import { QueryError } from './query_error.ts';
import type { QueryBudget } from './query_budget.ts';
import type { QueryFault } from './query_error.ts';
import { querySettings } from './settings.ts';
import type { QueryLimits } from './settings.ts';
import type { QueryParameters } from './values/writer.ts';

/** Longest time of one question of a check, which reads no rows. */
const check_seconds_max = 10;

/** Most memory of a check, which takes over no rows what its constants take. */
const check_bytes_max = 64 * 1024 * 1024;

const bytes_per_mebibyte = 1024 * 1024;

/**
 * Returns the operator's limits of queries. The rows that a query may read also bound its result;
 * no query may take more memory than all together.
 */
export function queryLimits(
  set: { query_seconds_max: number; query_memory_mb_max: number; query_rows_max: number },
  budget: QueryBudget,
): QueryLimits {
  return {
    execution_seconds: set.query_seconds_max,
    memory_bytes: Math.min(set.query_memory_mb_max * bytes_per_mebibyte, budget.bytes_total),
    rows_to_read: set.query_rows_max,
    result_rows: set.query_rows_max,
  };
}

/** The store that is asked about queries, and what they may take of it. */
export type QueryStore = { clickhouse: ClickHouse; query_limits: QueryLimits };

/**
 * A query that is understood by the language and by the store, or everything that is wrong with it.
 */
export type CheckedQuery = { query: ResolvedQuery } | { faults: QueryFault[] };

/**
 * Reads a query for a model and has the store check it over no rows. Reads nothing of any project.
 * Rejects only when the store cannot be asked.
 */
export async function checkQuery(
  { clickhouse, query_limits }: QueryStore,
  text: string,
  model: Model['name'],
  signal: AbortSignal,
): Promise<CheckedQuery> {
  const memory_bytes = Math.min(query_limits.memory_bytes, check_bytes_max);
  try {
    const query = resolveQuery(text, { model });
    const execution_seconds = Math.min(query_limits.execution_seconds, check_seconds_max);
    await checkByEngine(
      {
        clickhouse,
        settings: querySettings({ ...query_limits, execution_seconds, memory_bytes }),
        signal,
      },
      query,
    );
    return { query };
  } catch (error) {
    if (error instanceof QueryError) return { faults: error.faults };
    throw error;
  }
}

/**
 * A resolved query as the API shows it: ClickHouse text and name of each column, the contents of
 * the placeholders in the texts, and the query as sent.
 */
export type QuerySchema = {
  fields: { expression: string; alias: string }[];
  values: QueryParameters;
  custom_query: string;
};

/** The `schema` of an export with this query. */
export function schemaOf({ fields, values, text }: ResolvedQuery): QuerySchema {
  return { fields, values, custom_query: text };
}

/**
 * The columns of an export with this query. Guarantee: one that is not marked as calculated is the
 * column of its name of the model's own table, one row of it for each row of the export, so that
 * destinations may take it for the model's key.
 */
export function columnsOfQuery({ columns, fields, is_row_wise }: ResolvedQuery): Column[] {
  // The printer names a column of a table `t<number>_<name>` and nothing else so; a row-wise query
  // has the one table of the model.
  return columns.map((column, index) => {
    const stored = /^t\d+_(\w+)$/.exec(fields[index]?.expression ?? '')?.[1];
    if (is_row_wise && stored === column.name) return column;
    const is_distinct_id = stored === 'distinct_id' && column.name === stored;
    return { ...column, is_calculated: true, ...(is_distinct_id ? { is_distinct_id } : {}) };
  });
}
