import type { DestinationDeps } from '../../destination/destination.ts';
import type { HeldReceipt, WantedReceipts } from '../../destination/held_receipt.ts';
import { heldReceipts } from '../../sql_tables/held_receipts.ts';
import type { ReceiptTable } from '../../sql_tables/held_receipts.ts';
import { targetOf } from './config.ts';
import type { SnowflakeConfig } from './config.ts';
import { connect } from './connection.ts';
import { withSnowflakeErrors } from './faults.ts';
import { findReceipt, hasReceipts } from './receipts.ts';

/** The receipts of an export that lie beside its table. */
export function heldSnowflakeReceipts(
  config: SnowflakeConfig,
  deps: DestinationDeps,
  wanted: WantedReceipts,
): AsyncIterable<HeldReceipt> {
  const { receipts, name } = targetOf(config);
  const open = async (): Promise<ReceiptTable> => {
    const connection = await connect(config, deps);
    return {
      deliveries: async () =>
        (await hasReceipts(connection, config))
          ? connection.rows<{ delivery_id: string }>(
              `SELECT "delivery_id" FROM ${receipts} WHERE "batch_export_id" = ?
                AND "table_name" = ? AND "manifest" IS NOT NULL`,
              [wanted.batch_export_id, name],
            )
          : [],
      find: (id) => findReceipt(connection, config, id),
      close: () => connection.close(),
    };
  };
  return heldReceipts(withSnowflakeErrors, open, wanted);
}
