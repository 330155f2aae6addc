import type { DestinationDeps } from '../../destination/destination.ts';
import type { HeldReceipt, WantedReceipts } from '../../destination/held_receipt.ts';
import { heldReceipts } from '../../sql_tables/held_receipts.ts';
import type { ReceiptTable } from '../../sql_tables/held_receipts.ts';
import { connect } from '../../sql_tables/postgres_connection.ts';
import { withPostgresErrors } from '../../sql_tables/postgres_faults.ts';
import { accessOf, targetOf } from './config.ts';
import type { PostgresConfig } from './config.ts';
import { tableExists } from './table.ts';

/** The receipts of an export that lie beside its table. */
export function heldPostgresReceipts(
  config: PostgresConfig,
  deps: DestinationDeps,
  wanted: WantedReceipts,
): AsyncIterable<HeldReceipt> {
  const { receipts, name } = targetOf(config);
  const open = async (): Promise<ReceiptTable> => {
    const connection = await connect(accessOf(config), deps);
    return {
      deliveries: async () =>
        (await tableExists(connection, receipts))
          ? connection.rows<{ delivery_id: string }>(
              `SELECT delivery_id FROM ${receipts} WHERE batch_export_id = $1 AND table_name = $2`,
              [wanted.batch_export_id, name],
            )
          : [],
      find: async (id) => {
        const [row] = await connection.rows<{ manifest: string }>(
          `SELECT manifest FROM ${receipts} WHERE delivery_id = $1`,
          [id],
        );
        return row?.manifest;
      },
      close: () => connection.close(),
    };
  };
  return heldReceipts(withPostgresErrors, open, wanted);
}
