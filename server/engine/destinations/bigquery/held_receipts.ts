import type { DestinationDeps } from '../../destination/destination.ts';
import type { HeldReceipt, WantedReceipts } from '../../destination/held_receipt.ts';
import { heldReceipts } from '../../sql_tables/held_receipts.ts';
import type { ReceiptTable } from '../../sql_tables/held_receipts.ts';
import { findTable, openDataset } from './api.ts';
import { findReceipt } from './commit.ts';
import { receipts_table, targetOf } from './config.ts';
import type { BigQueryConfig } from './config.ts';
import { withBigQueryErrors } from './faults.ts';
import { queryRows } from './jobs.ts';
import { exportDeliveriesQuery } from './statements.ts';

/** The receipts of an export that lie beside its table. */
export function heldBigQueryReceipts(
  config: BigQueryConfig,
  deps: DestinationDeps,
  wanted: WantedReceipts,
): AsyncIterable<HeldReceipt> {
  const open = async (): Promise<ReceiptTable> => {
    const dataset = await openDataset(config, deps);
    return {
      deliveries: async () => {
        if ((await findTable(dataset, receipts_table)) === undefined) return [];
        const rows = queryRows<{ delivery_id: string }>(dataset, exportDeliveriesQuery(config), {
          batch_export_id: wanted.batch_export_id,
          table_name: targetOf(config).name,
        });
        return Array.fromAsync(rows);
      },
      find: (id) => findReceipt(dataset, id),
      close: async () => undefined,
    };
  };
  const withErrors = <Result>(work: () => Promise<Result>) =>
    withBigQueryErrors(config, deps.signal, work);
  return heldReceipts(withErrors, open, wanted);
}
