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

/** Longest time of one query of a check, which reads no rows. */
const check_seconds_max = 10;

/** Most memory of a check, which processes its constants without rows. */
const check_bytes_max = 64 * 1024 * 1024;

const bytes_per_mebibyte = 1024 * 1024;

/**
 * Returns the operator's limits of queries. The limit of read rows also bounds the result; no query
 * may take more memory than all together.
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

/** The store that checks queries, and their limits there. */
export type QueryStore = { clickhouse: ClickHouse; query_limits: QueryLimits };

/** A query that the language and the store accept, or all of its faults. */
export type CheckedQuery = { query: ResolvedQuery } | { faults: QueryFault[] };

/**
 * Reads a query for a model, and the store checks it over no rows. Reads no data of any project.
 * Rejects only if the store cannot be asked.
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

/** Returns the `schema` of an export with this query. */
export function schemaOf({ fields, values, text }: ResolvedQuery): QuerySchema {
  return { fields, values, custom_query: text };
}

/**
 * Returns the columns of an export with this query. Guarantee: a column that is not marked as
 * calculated equals the column of its name in the model's own table. The export has one row for
 * each row of that table. So destinations may use it as the model's key.
 */
export function columnsOfQuery({ columns, fields, is_row_wise }: ResolvedQuery): Column[] {
  // Only a table's columns are printed as `t<number>_<name>`, and the only table of a row-wise
  // query is the model's.
  return columns.map((column, index) => {
    const stored = /^t\d+_(\w+)$/.exec(fields[index]?.expression ?? '')?.[1];
    if (is_row_wise && stored === column.name) return column;
    const is_distinct_id = stored === 'distinct_id' && column.name === stored;
    return { ...column, is_calculated: true, ...(is_distinct_id ? { is_distinct_id } : {}) };
  });
}
