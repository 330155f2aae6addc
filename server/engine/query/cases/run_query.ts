import type { ClickHouse } from '../../../platform/clickhouse/client.ts';
import { describeRelation, gateRelation } from '../check_relation.ts';
import { queryRelation, resolveQuery } from '../query.ts';
import type { QueryRelation, QueryRun, ResolvedQuery } from '../query.ts';
import { querySettings } from '../settings.ts';

/** Bounds that keep a test short. */
export const settings = querySettings({ execution_seconds: 5, memory_bytes: 500_000_000, rows_to_read: 100_000_000, result_rows: 1_000_000 });

/** A query that came through every check, ready to be read. */
export type CheckedQuery = { query: ResolvedQuery; relation: QueryRelation };

/** Reads, prints, gates and describes a query as the engine of exports does. Throws what these throw. */
export async function checkQuery(clickhouse: ClickHouse, text: string, model: 'events' | 'persons', run: QueryRun): Promise<CheckedQuery> {
  const query = resolveQuery(text, { model });
  const relation = queryRelation(query, run);
  await gateRelation({ clickhouse, settings }, relation);
  await describeRelation({ clickhouse, settings }, query, relation);
  return { query, relation };
}

/** The rows of a checked query in its own order, as arrays of JSON values. */
export async function readRows(clickhouse: ClickHouse, { query, relation }: CheckedQuery): Promise<unknown[][]> {
  const columns = query.columns.map(({ expression }) => expression).join(', ');
  return readSql(clickhouse, `SELECT ${columns} FROM ${relation.text} ORDER BY ${relation.order}`, relation.parameters);
}

/** The rows of ClickHouse text under the settings of queries. */
export async function readSql(clickhouse: ClickHouse, text: string, parameters: QueryRelation['parameters'] = {}): Promise<unknown[][]> {
  const result = await clickhouse.query({
    query: text,
    format: 'JSONCompactEachRow',
    query_params: parameters,
    clickhouse_settings: settings,
    use_multipart_params_auto: true,
  });
  return result.json<unknown[]>();
}
