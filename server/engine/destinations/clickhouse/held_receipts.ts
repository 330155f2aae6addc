import type { DestinationDeps } from '../../destination/destination.ts';
import type { HeldReceipt, WantedReceipts } from '../../destination/held_receipt.ts';
import { heldReceipts } from '../../sql_tables/held_receipts.ts';
import type { ReceiptTable } from '../../sql_tables/held_receipts.ts';
import { targetOf } from './config.ts';
import type { ClickHouseConfig } from './config.ts';
import { connect } from './connection.ts';
import { withClickHouseErrors } from './faults.ts';
import { findReceipt } from './receipts.ts';
import { findTable } from './table.ts';

/** The receipts of an export that lie beside its table. */
export function heldClickHouseReceipts(
  config: ClickHouseConfig,
  deps: DestinationDeps,
  wanted: WantedReceipts,
): AsyncIterable<HeldReceipt> {
  const { receipts, name } = targetOf(config);
  const open = async (): Promise<ReceiptTable> => {
    const connection = await connect(config, deps);
    return {
      deliveries: async () =>
        (await findTable(connection, config, 'sluice_receipts')) === undefined
          ? []
          : connection.rows<{ delivery_id: string }>(
              `SELECT DISTINCT delivery_id FROM ${receipts} WHERE manifest != ''
                AND batch_export_id = {id:UUID} AND table_name = {name:String}`,
              { id: wanted.batch_export_id, name },
            ),
      find: async (delivery_id) =>
        (await findReceipt(connection, config, { delivery_id }))?.manifest,
      close: () => connection.close(),
    };
  };
  return heldReceipts(withClickHouseErrors, open, wanted);
}
