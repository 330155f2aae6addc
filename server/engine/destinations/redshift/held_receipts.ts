import type { DestinationDeps } from '../../destination/destination.ts';
import type { HeldReceipt, WantedReceipts } from '../../destination/held_receipt.ts';
import { heldReceipts } from '../../sql_tables/held_receipts.ts';
import type { ReceiptTable } from '../../sql_tables/held_receipts.ts';
import { connect } from '../../sql_tables/postgres_connection.ts';
import { accessOf, targetOf } from './config.ts';
import type { RedshiftConfig } from './config.ts';
import { withRedshiftErrors } from './faults.ts';
import { findReceipt, hasReceipts } from './receipts.ts';

/** The receipts of an export that lie beside its table. */
export function heldRedshiftReceipts(
  config: RedshiftConfig,
  deps: DestinationDeps,
  wanted: WantedReceipts,
): AsyncIterable<HeldReceipt> {
  const { receipts, name } = targetOf(config);
  const open = async (): Promise<ReceiptTable> => {
    const connection = await connect(accessOf(config), deps);
    return {
      deliveries: async () =>
        (await hasReceipts(connection, config))
          ? connection.rows<{ delivery_id: string }>(
              `SELECT DISTINCT delivery_id FROM ${receipts}
                WHERE batch_export_id = $1 AND table_name = $2`,
              [wanted.batch_export_id, name],
            )
          : [],
      find: (id) => findReceipt(connection, config, id),
      close: () => connection.close(),
    };
  };
  return heldReceipts(withRedshiftErrors, open, wanted);
}
