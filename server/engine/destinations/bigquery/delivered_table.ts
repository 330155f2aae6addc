import type { ValueRow } from '../../model/destination/content_source.ts';
import type { DestinationDeps } from '../../model/destination/destination.ts';
import type { DeliveredTable, TableOfReceipts } from '../sql_tables/delivered_table.ts';
import { isMerged } from '../sql_tables/layout.ts';
import { findTable, openDataset } from './api.ts';
import type { Dataset } from './api.ts';
import { findReceipt } from './commit.ts';
import { receipts_table, targetOf } from './config.ts';
import type { BigQueryConfig } from './config.ts';
import { queryRows } from './jobs.ts';
import { deliveriesQuery, exportDeliveriesQuery, textsQuery } from './statements.ts';
import { requireColumns } from './table.ts';

/** Opens the table, and that of the receipts, to be read again. */
export async function openBigQueryTable(
  config: BigQueryConfig,
  deps: DestinationDeps,
): Promise<DeliveredTable> {
  const dataset = await openDataset(config, deps);
  const { table, name } = targetOf(config);
  return {
    name,
    receipts: receiptsOf(dataset),
    openRows: async (delivery) => {
      const found = await findTable(dataset, table);
      if (found === undefined) return undefined;
      const query = textsQuery(config, table, delivery.columns, {
        json_columns: requireColumns(dataset, delivery, found),
        ...(isMerged(delivery) ? { team_id: delivery.team_id } : {}),
      });
      return () => rowsOf(dataset, query);
    },
    // There is no session.
    close: async () => undefined,
  };
}

function receiptsOf(dataset: Dataset): TableOfReceipts {
  const { config } = dataset;
  const table_name = targetOf(config).name;
  return {
    name: `${config.dataset_id}.${receipts_table}`,
    isThere: async () => (await findTable(dataset, receipts_table)) !== undefined,
    find: (id) => findReceipt(dataset, id),
    ofExport: (batch_export_id) =>
      Array.fromAsync(
        queryRows<{ delivery_id: string }>(dataset, exportDeliveriesQuery(config), {
          batch_export_id,
          table_name,
        }),
      ),
    ofAll: (limit) =>
      Array.fromAsync(
        queryRows<{ delivery_id: string }>(dataset, deliveriesQuery(config, limit), {
          table_name,
        }),
      ),
  };
}

async function* rowsOf(dataset: Dataset, query: string): AsyncGenerator<ValueRow> {
  for await (const row of queryRows<Record<string, string | null>>(dataset, query))
    yield Object.values(row);
}
