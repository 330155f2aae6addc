import { randomInt } from 'node:crypto';
import type { ClickHouse } from '../../server/platform/clickhouse/client.ts';
import { checkByEngine, gateRelation } from '../../server/engine/query/gate/check_by_engine.ts';
import { queryRelation, resolveQuery } from '../../server/engine/query/query.ts';
import type { QueryRelation, QueryRun, ResolvedQuery } from '../../server/engine/query/query.ts';
import { querySettings } from '../../server/engine/query/settings.ts';
import type { ModelName } from '../../server/engine/model/models/model.ts';

/** Bounds that no query of these tests meets, on a busy machine either. */
export const settings = querySettings({
  execution_seconds: 30,
  memory_bytes: 500_000_000,
  rows_to_read: 100_000_000,
  result_rows: 1_000_000,
});

/** A query, with its form for one run. */
export type CheckedQuery = { query: ResolvedQuery; relation: QueryRelation };

/** Reads and prints a query for a run. Throws a `QueryError`. */
export function printQuery(text: string, model: ModelName, run: QueryRun): CheckedQuery {
  const query = resolveQuery(text, { model });
  return { query, relation: queryRelation(query, run) };
}

/** Reads, prints and checks a query as it is when it is stored and run. Throws what these throw. */
export async function checkQuery(
  clickhouse: ClickHouse,
  text: string,
  model: ModelName,
  run: QueryRun,
): Promise<CheckedQuery> {
  const printed = printQuery(text, model, run);
  await checkByEngine({ clickhouse, settings }, printed.query);
  await gateRelation({ clickhouse, settings }, printed.relation);
  return printed;
}

/** True once in so many calls. At which it begins differs from run to run. */
export function inTurn(turns: number): () => boolean {
  let turn = randomInt(turns);
  return () => {
    turn += 1;
    return turn % turns === 0;
  };
}

/**
 * Checks one of so many queries, in turn, and prints the others alone: a check is six questions to
 * the store.
 */
export function checkInTurn(turns: number): typeof checkQuery {
  const isChecked = inTurn(turns);
  return async (...given) => {
    if (isChecked()) return checkQuery(...given);
    const [, ...printed] = given;
    return printQuery(...printed);
  };
}

/** The rows of a checked query in its own order, as arrays of JSON values. */
export async function readRows(
  clickhouse: ClickHouse,
  { query, relation }: CheckedQuery,
): Promise<unknown[][]> {
  const columns = query.columns.map(({ expression }) => expression).join(', ');
  return readSql(
    clickhouse,
    `SELECT ${columns} FROM ${relation.text} ORDER BY ${relation.order}`,
    relation.parameters,
  );
}

/** The rows of ClickHouse text under the settings of queries. */
export async function readSql(
  clickhouse: ClickHouse,
  text: string,
  parameters: QueryRelation['parameters'] = {},
): Promise<unknown[][]> {
  const result = await clickhouse.query({
    query: text,
    format: 'JSONCompactEachRow',
    query_params: parameters,
    clickhouse_settings: settings,
    use_multipart_params_auto: true,
  });
  return result.json<unknown[]>();
}

/**
 * Does the same for every item, a few at a time, because a short query mostly waits for its
 * transport.
 */
export async function forEachOf<Item>(
  items: Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = items.values();
  const take = async () => {
    for (const item of waiting) await work(item);
  };
  await Promise.all(Array.from({ length: 8 }, take));
}
