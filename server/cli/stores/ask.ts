import type { ClickHouse } from '../../platform/clickhouse/client.ts';

/** Queries the analytics store with low priority. */
export async function ask<Row>(clickhouse: ClickHouse, query: string): Promise<Row[]> {
  return clickhouse.rows<Row>({
    query,
    clickhouse_settings: { max_query_size: '16777216', max_threads: 2 },
  });
}

/** Returns whether the table exists. */
export async function hasTable(clickhouse: ClickHouse, table: string): Promise<boolean> {
  const found = await clickhouse.rows({
    query: `SELECT 1 FROM system.tables WHERE database = currentDatabase()
      AND name = {table:String}`,
    query_params: { table },
  });
  return found.length > 0;
}

/** Returns the stored columns of a table, in their order. */
export async function storedColumns(clickhouse: ClickHouse, table: string): Promise<string[]> {
  const rows = await ask<{ name: string }>(
    clickhouse,
    `SELECT name FROM system.columns WHERE database = currentDatabase() AND table = '${table}'
      AND default_kind NOT IN ('ALIAS', 'MATERIALIZED', 'EPHEMERAL') ORDER BY position`,
  );
  return rows.map(({ name }) => name);
}
