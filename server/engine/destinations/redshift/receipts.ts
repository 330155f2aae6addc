import type { Delivery } from '../../model/destination/destination.ts';
import type { Connection } from '../sql_tables/postgres_connection.ts';
import { targetOf } from './config.ts';
import type { RedshiftConfig } from './config.ts';
import { columnTypes, varchar_bytes_max } from './table.ts';

/** True when the delivery's receipt is there; false too where there is no table of receipts yet. */
export async function hasReceipt(
  connection: Connection,
  config: RedshiftConfig,
  delivery_id: string,
): Promise<boolean> {
  return (await findReceipt(connection, config, delivery_id)) !== undefined;
}

/** The text of the delivery's receipt, or undefined. */
export async function findReceipt(
  connection: Connection,
  config: RedshiftConfig,
  delivery_id: string,
): Promise<string | undefined> {
  if (!(await hasReceipts(connection, config))) return undefined;
  const rows = await connection.rows<{ manifest: string }>(
    `SELECT manifest FROM ${targetOf(config).receipts} WHERE delivery_id = $1 ORDER BY part`,
    [delivery_id],
  );
  return rows.length === 0 ? undefined : rows.map((row) => row.manifest).join('');
}

/** Is the table of receipts there? */
export async function hasReceipts(
  connection: Connection,
  config: RedshiftConfig,
): Promise<boolean> {
  return (await columnTypes(connection, targetOf(config).schema, 'sluice_receipts')) !== undefined;
}

/**
 * Writes the receipt of a delivery in the open transaction; where one is there (`is_repeat`) over
 * it, which needs the right DELETE.
 */
export async function writeReceipt(
  connection: Connection,
  config: RedshiftConfig,
  receipt: {
    delivery: Pick<Delivery, 'delivery_id' | 'run_id' | 'batch_export_id'>;
    records: number;
    text: string;
    is_repeat: boolean;
  },
): Promise<void> {
  const { receipts, name } = targetOf(config);
  const { delivery, records, text, is_repeat } = receipt;
  if (is_repeat)
    await connection.rows(`DELETE FROM ${receipts} WHERE delivery_id = $1`, [delivery.delivery_id]);
  for (const [part, manifest] of partsOf(text, varchar_bytes_max).entries()) {
    await connection.rows(
      `INSERT INTO ${receipts} (delivery_id, part, batch_export_id, run_id, table_name, records,
        manifest) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
      [
        delivery.delivery_id,
        part,
        delivery.batch_export_id,
        delivery.run_id,
        name,
        records,
        manifest,
      ],
    );
  }
}

/**
 * A text in pieces of at most so many bytes of UTF-8, cut between characters; together they are the
 * text.
 */
export function partsOf(text: string, bytes_max: number): string[] {
  const bytes = Buffer.from(text);
  const parts: string[] = [];
  for (let from = 0; from < bytes.length;) {
    let to = Math.min(from + bytes_max, bytes.length);
    // A byte that continues a character begins with the bits 10.
    while (to < bytes.length && ((bytes[to] ?? 0) & 0xc0) === 0x80) to -= 1;
    parts.push(bytes.toString('utf8', from, to));
    from = to;
  }
  return parts;
}
