import { randomInt } from 'node:crypto';
import type { ClickHouse } from '../../server/platform/clickhouse/client.ts';
import { checkByEngine, gateRelation } from '../../server/engine/query/gate/check_by_engine.ts';
import { queryRelation, resolveQuery } from '../../server/engine/query/query.ts';
import type { QueryRelation, QueryRun, ResolvedQuery } from '../../server/engine/query/query.ts';
import { querySettings } from '../../server/engine/query/settings.ts';
import type { ModelName } from '../../server/engine/model/models/model.ts';

/** Limits that no query of these tests reaches, even on a busy machine. */
export const settings = querySettings({
  execution_seconds: 30,
  memory_bytes: 500_000_000,
  rows_to_read: 100_000_000,
  result_rows: 1_000_000,
});

/** A query, with its form for one run. */
export type CheckedQuery = { query: ResolvedQuery; relation: QueryRelation };

/** Parses and prints a query for a run. Throws a `QueryError`. */
export function printQuery(text: string, model: ModelName, run: QueryRun): CheckedQuery {
  const query = resolveQuery(text, { model });
  return { query, relation: queryRelation(query, run) };
}

/** Parses, prints and checks a query like one that is stored and run. Throws their errors. */
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

/** Returns true once in this many calls; the first one differs from run to run. */
export function inTurn(turns: number): () => boolean {
  let turn = randomInt(turns);
  return () => {
    turn += 1;
    return turn % turns === 0;
  };
}

/**
 * Checks one of this many queries, in turn, and only prints the others: a check sends the store six
 * queries.
 */
export function checkInTurn(turns: number): typeof checkQuery {
  const isChecked = inTurn(turns);
  return async (...given) => {
    if (isChecked()) return checkQuery(...given);
    const [, ...printed] = given;
    return printQuery(...printed);
  };
}

/** Returns the rows of a checked query in its own order, as arrays of JSON values. */
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

/** Returns the rows of ClickHouse text under the settings of queries. */
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
 * Calls the function for every item, a few at a time, because a short query mostly waits for its
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
