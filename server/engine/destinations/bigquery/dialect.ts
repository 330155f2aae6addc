import type { DestinationDeps } from '../../model/destination/destination.ts';
import type { Dialect } from '../sql_tables/dialect.ts';
import { receipts_table } from '../sql_tables/receipts.ts';
import { createTable, findTable, openDataset } from './api.ts';
import type { Dataset } from './api.ts';
import { quoted, targetOf } from './config.ts';
import type { BigQueryConfig } from './config.ts';
import { bigQueryError } from './faults.ts';
import { queryRows, runStatement } from './jobs.ts';
import { newReceipts, newTable, requireColumns, textOf, typeOf, whole_types } from './table.ts';

type TextRow = Record<string, string | null>;

/** BigQuery's dialect, for a dataset. It has no sessions. */
export function bigQueryDialect(dataset: Dataset): Dialect {
  const { config } = dataset;
  const target = targetOf(config);
  return {
    target,
    quoted,
    slot: (at) => `@p${at}`,
    rows: async <Row>(statement: string, values: unknown[] = []) => {
      const parameters = Object.fromEntries(
        values.map((value, index) => [
          `p${index + 1}`,
          typeof value === 'number' ? value : String(value),
        ]),
      );
      if (statement.startsWith('SELECT'))
        return (await Array.fromAsync(queryRows(dataset, statement, parameters))) as Row[];
      await runStatement(dataset, statement, parameters);
      return [];
    },
    explained: (error) => bigQueryError(error, config),
    findColumns: async (table) => (await findTable(dataset, table))?.schema?.fields ?? undefined,
    createTable: (layout) =>
      createTable(dataset, target.table, newTable(layout, config.use_json_type === true)),
    checkTable: async (layout) => {
      requireColumns(dataset, layout, await findTable(dataset, target.table));
      return undefined;
    },
    typed: {
      typeOf: (column) => typeOf(column, config.use_json_type === true),
      knows_if_not_exists: true,
      run: (statement) => runStatement(dataset, statement),
      whole_types,
    },
    receipts: { create: () => createTable(dataset, receipts_table, newReceipts()) },
    textOf,
    openTexts: async (query) =>
      async function* rows() {
        for await (const row of queryRows<TextRow>(dataset, query)) yield Object.values(row);
      },
    // The outbound guard owns the connections, which stay open.
    close: async () => undefined,
  };
}

/** Finds the dataset and opens its dialect. */
export async function openBigQuery(
  config: BigQueryConfig,
  deps: DestinationDeps,
): Promise<Dialect> {
  return bigQueryDialect(await openDataset(config, deps));
}
