import type { Delivery, Manifest, SliceOutcome } from '../../destination.ts';
import type { Connection } from '../../sql_tables/postgres_connection.ts';
import { targetOf } from './config.ts';
import type { PostgresConfig } from './config.ts';
import { tableExists } from './table.ts';

/** True when the table holds the delivery: rows and receipt came in one transaction. */
export async function hasReceipt(connection: Connection, config: PostgresConfig, { delivery_id }: Delivery): Promise<boolean> {
  const { receipts } = targetOf(config);
  if (!(await tableExists(connection, receipts))) return false;
  const found = await connection.rows(`SELECT 1 FROM ${receipts} WHERE delivery_id = $1`, [delivery_id]);
  return found.length > 0;
}

/** Writes the receipt in the open transaction. That of a repeat replaces the earlier one, so that the place holds what the newest run signed. */
export async function writeReceipt(
  connection: Connection,
  config: PostgresConfig,
  delivery: Delivery,
  { outcomes, manifest }: { outcomes: SliceOutcome[]; manifest: Manifest },
): Promise<void> {
  const { receipts, name } = targetOf(config);
  const records = outcomes.reduce((sum, outcome) => sum + outcome.records, 0);
  await connection.rows(
    `INSERT INTO ${receipts} (delivery_id, batch_export_id, run_id, table_name, records, manifest) VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (delivery_id) DO UPDATE SET run_id = EXCLUDED.run_id, records = EXCLUDED.records, manifest = EXCLUDED.manifest`,
    [delivery.delivery_id, delivery.batch_export_id, delivery.run_id, name, records, manifest.text],
  );
}
