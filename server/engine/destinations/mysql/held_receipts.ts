import type { DestinationDeps } from '../../destination/destination.ts';
import type { HeldReceipt, WantedReceipts } from '../../destination/held_receipt.ts';
import { heldReceipts } from '../../sql_tables/held_receipts.ts';
import type { ReceiptTable } from '../../sql_tables/held_receipts.ts';
import { targetOf } from './config.ts';
import type { MySqlConfig } from './config.ts';
import { connect } from './connection.ts';
import { withMySqlErrors } from './faults.ts';
import { tableExists } from './table.ts';

/** The receipts of an export that lie beside its table. */
export function heldMySqlReceipts(
  config: MySqlConfig,
  deps: DestinationDeps,
  wanted: WantedReceipts,
): AsyncIterable<HeldReceipt> {
  const { receipts, name } = targetOf(config);
  const open = async (): Promise<ReceiptTable> => {
    const connection = await connect(config, deps);
    return {
      deliveries: async () =>
        (await tableExists(connection, config, 'sluice_receipts'))
          ? connection.rows<{ delivery_id: string }>(
              `SELECT delivery_id FROM ${receipts} WHERE batch_export_id = ? AND table_name = ?`,
              [wanted.batch_export_id, name],
            )
          : [],
      find: async (id) => {
        const [row] = await connection.rows<{ manifest: string }>(
          `SELECT manifest FROM ${receipts} WHERE delivery_id = ?`,
          [id],
        );
        return row?.manifest;
      },
      close: () => connection.close(),
    };
  };
  return heldReceipts(withMySqlErrors, open, wanted);
}
