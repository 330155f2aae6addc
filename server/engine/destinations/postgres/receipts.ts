import { receiptKeptError } from '../sql_tables/staged_sink.ts';
import type { Delivery, Manifest } from '../../model/destination/destination.ts';
import type { Connection } from '../sql_tables/postgres_connection.ts';
import { targetOf } from './config.ts';
import type { PostgresConfig } from './config.ts';
import { tableExists } from './table.ts';

/** True when the table holds the delivery: rows and receipt came in one transaction. */
export async function hasReceipt(
  connection: Connection,
  config: PostgresConfig,
  { delivery_id }: Delivery,
): Promise<boolean> {
  const { receipts } = targetOf(config);
  if (!(await tableExists(connection, receipts))) return false;
  const found = await connection.rows(`SELECT 1 FROM ${receipts} WHERE delivery_id = $1`, [
    delivery_id,
  ]);
  return found.length > 0;
}

/**
 * Writes the receipt in the open transaction, for which INSERT suffices. That of a repeat
 * (`is_repeat`: `hasReceipt` has found one) replaces the earlier one, so that the place holds what
 * the newest run signed; who may not UPDATE is told so.
 */
export async function writeReceipt(
  connection: Connection,
  config: PostgresConfig,
  delivery: Delivery,
  { records, manifest, is_repeat }: { records: number; manifest: Manifest; is_repeat: boolean },
): Promise<void> {
  const { receipts, name } = targetOf(config);
  if (is_repeat)
    return replaceReceipt(connection, receipts, [
      delivery.delivery_id,
      delivery.run_id,
      records,
      manifest.text,
    ]);
  await connection.rows(
    `INSERT INTO ${receipts} (delivery_id, batch_export_id, run_id, table_name, records, manifest)
      VALUES ($1, $2, $3, $4, $5, $6)`,
    [delivery.delivery_id, delivery.batch_export_id, delivery.run_id, name, records, manifest.text],
  );
}

async function replaceReceipt(
  connection: Connection,
  receipts: string,
  values: unknown[],
): Promise<void> {
  try {
    await connection.rows(
      `UPDATE ${receipts} SET run_id = $2, records = $3, manifest = $4 WHERE delivery_id = $1`,
      values,
    );
  } catch (error) {
    if ((error as { code?: string }).code !== '42501') throw error;
    throw receiptKeptError(receipts, error);
  }
}
