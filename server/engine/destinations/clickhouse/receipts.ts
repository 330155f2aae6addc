import { Readable } from 'node:stream';
import type { Delivery } from '../../model/destination/destination.ts';
import type { Connection } from './connection.ts';

/**
 * A row of the table of receipts. An empty manifest means that a stage is about to be shown, a
 * manifest that its rows are there.
 */
type ReceiptLine = { stage_id: string; records: number; manifest: string };

/** Finds the valid one of the receipts of the delivery `id`. */
export const newest_receipt =
  "WHERE delivery_id = {id:UUID} AND manifest != '' ORDER BY written_at DESC LIMIT 1";

/**
 * Finds the newest receipt of a delivery, with the stage of its rows; undefined if the delivery was
 * not completed.
 */
export async function findReceipt(
  connection: Connection,
  delivery: Pick<Delivery, 'delivery_id'>,
): Promise<ReceiptLine | undefined> {
  const [line] = await connection.rows<ReceiptLine>(
    `SELECT stage_id, records, manifest FROM ${connection.target.receipts} ${newest_receipt}`,
    { id: delivery.delivery_id },
  );
  return line;
}

/** Lists the stages that attempts of the delivery were about to show. */
export async function listIntendedStages(
  connection: Connection,
  delivery: Delivery,
): Promise<string[]> {
  const found = await connection.rows<{ stage_id: string }>(
    `SELECT DISTINCT stage_id FROM ${connection.target.receipts} WHERE delivery_id = {id:UUID}
      AND manifest = '' ORDER BY stage_id`,
    { id: delivery.delivery_id },
  );
  return found.map((row) => row.stage_id);
}

/** Adds a row; it is one block and so is written completely or not at all. */
export async function writeReceipt(
  connection: Connection,
  delivery: Delivery,
  line: ReceiptLine,
): Promise<void> {
  const { receipts, name } = connection.target;
  const { delivery_id, batch_export_id, run_id } = delivery;
  const row = JSON.stringify({ delivery_id, batch_export_id, run_id, table_name: name, ...line });
  const columns = 'delivery_id, stage_id, batch_export_id, run_id, table_name, records, manifest';
  await connection.insert(
    `INSERT INTO ${receipts} (${columns}) FORMAT JSONEachRow`,
    Readable.from([Buffer.from(`${row}\n`)]),
  );
}
