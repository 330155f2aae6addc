import { RetryableError } from '../../model/destination/errors.ts';
import type { Delivery } from '../../model/destination/destination.ts';
import type { Connection } from './connection.ts';

/** The receipt of a delivery: its number of rows, and the signed text. */
type Receipt = { records: number; manifest: string };

const now = 'CAST(CURRENT_TIMESTAMP AS TIMESTAMP_NTZ(6))';

/**
 * Records that an attempt is about to deliver: from now on, no attempt with an earlier claim may
 * show its rows.
 */
export async function claim(
  connection: Connection,
  delivery: Delivery,
  attempt_id: string,
): Promise<void> {
  const { receipts, name } = connection.target;
  await connection.rows(
    `INSERT INTO ${receipts} ("delivery_id", "attempt_id", "batch_export_id", "run_id",
      "table_name", "written_at") SELECT ?, ?, ?, ?, ?, ${now}`,
    [delivery.delivery_id, attempt_id, delivery.batch_export_id, delivery.run_id, name],
  );
}

/**
 * An attempt in the rows of its delivery; `is_delivered` if it has found the delivery complete, and
 * only writes its receipt again.
 */
type Attempt = { id: string; is_delivered: boolean };

/**
 * Call it in an open transaction, before rows are shown. Returns whether the delivery is already
 * complete; otherwise this attempt is the newest. Throws RetryableError `conflict` if another
 * attempt has begun since, or has shown the rows. Snowflake enforces no unique keys, so a lock
 * separates two attempts. The UPDATE rewrites all rows of the delivery, and an attempt that waits
 * for it then reads the other one's commit.
 */
export async function holdClaims(
  connection: Connection,
  delivery: Delivery,
  attempt: Attempt,
): Promise<{ is_shown: boolean }> {
  const { receipts } = connection.target;
  const ours = [delivery.delivery_id];
  await connection.rows(
    `UPDATE ${receipts} SET "delivery_id" = "delivery_id" WHERE "delivery_id" = ?`,
    ours,
  );
  const lines = await connection.rows<{ attempt_id: string; is_shown: boolean }>(
    `SELECT "attempt_id", "manifest" IS NOT NULL AS "is_shown" FROM ${receipts}
      WHERE "delivery_id" = ? ORDER BY "written_at" DESC, "attempt_id" DESC`,
    ours,
  );
  const shown = lines.find((line) => line.is_shown);
  if (attempt.is_delivered && shown !== undefined) return { is_shown: true };
  if ((shown ?? lines[0])?.attempt_id !== attempt.id)
    throw new RetryableError(
      'conflict',
      'Another attempt works on this delivery, or somebody removed its line in the table of ' +
        'receipts.',
    );
  return { is_shown: shown !== undefined };
}

/**
 * Replaces the rows of the delivery's attempts by the receipt: one row stays. The receipt of a
 * repeat replaces the earlier one.
 */
export async function writeReceipt(
  connection: Connection,
  delivery: Delivery,
  attempt_id: string,
  receipt: Receipt,
): Promise<void> {
  const { receipts, name } = connection.target;
  await connection.rows(`DELETE FROM ${receipts} WHERE "delivery_id" = ?`, [delivery.delivery_id]);
  await connection.rows(
    `INSERT INTO ${receipts} ("delivery_id", "attempt_id", "batch_export_id", "run_id",
      "table_name", "records", "manifest", "written_at")
      SELECT ?, ?, ?, ?, ?, CAST(? AS NUMBER(38, 0)), ?, ${now}`,
    [
      delivery.delivery_id,
      attempt_id,
      delivery.batch_export_id,
      delivery.run_id,
      name,
      String(receipt.records),
      receipt.manifest,
    ],
  );
}

/** Removes claims without a receipt; the table of receipts exists. */
export async function dropClaims(connection: Connection, delivery: Delivery): Promise<void> {
  await connection.rows(
    `DELETE FROM ${connection.target.receipts} WHERE "delivery_id" = ? AND "manifest" IS NULL`,
    [delivery.delivery_id],
  );
}
