import type { ClickHouse } from '../../../server/platform/clickhouse/client.ts';

/**
 * Inserts rows of events as one batch. Columns of groups stay empty for rows without a group, as
 * ingestion leaves them, because computing them is a third of the store's work for a row.
 */
export async function insertRows(
  clickhouse: ClickHouse,
  values: { event: string }[],
): Promise<void> {
  const hasGroups = values.some(({ event }) => event === '$groupidentify');
  await clickhouse.insert({
    table: 'events',
    values,
    format: 'JSONEachRow',
    ...(hasGroups || values.length === 0 ? {} : withoutGroups(Object.keys(values[0]!))),
  });
}

function withoutGroups(columns: string[]) {
  const names: [string, ...string[]] = ['group_id', 'group_at', 'group_number', 'group_set'];
  names.push(...columns);
  return {
    columns: names,
    clickhouse_settings: {
      insert_allow_materialized_columns: 1,
      input_format_defaults_for_omitted_fields: 0,
    } as const,
  };
}
