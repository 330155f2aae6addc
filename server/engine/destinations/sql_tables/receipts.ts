import type { Delivery } from '../../model/destination/destination.ts';
import type { Dialect } from './dialect.ts';
import { receiptKeptError } from './staged_sink.ts';

/** The name of the table of receipts, beside the target. */
export const receipts_table = 'sluice_receipts';

type DeliveryId = { delivery_id: string };

/** The current receipts beside a table. */
export type TableOfReceipts = {
  /** Its name for users. */
  name: string;
  /**
   * Returns false before the first delivery, or if somebody removed it; no other member is called
   * then.
   */
  isThere(): Promise<boolean>;
  /** Returns the signed text of a delivery's receipt. */
  find(delivery_id: string): Promise<string | undefined>;
  /** Lists the deliveries of an export to this very table. */
  ofExport(batch_export_id: string): Promise<DeliveryId[]>;
  /** Lists deliveries to this very table up to the limit, from any export. */
  ofAll(limit: number): Promise<DeliveryId[]>;
  /** Finds a delivery of another export to this very table. */
  ofAnother(batch_export_id: string): Promise<DeliveryId | undefined>;
};

/** Returns the receipts beside the table of a session. */
export function receiptsOf(dialect: Dialect): TableOfReceipts {
  const { target, slot, rows, receipts } = dialect;
  const [id, of_export, name] = ['delivery_id', 'batch_export_id', 'table_name'].map(
    dialect.quoted,
  );
  const counts = receipts.condition === undefined ? '' : ` AND ${receipts.condition}`;
  const deliveries = `SELECT DISTINCT ${id}\nFROM ${target.receipts}`;
  return {
    name: target.receipts,
    isThere: async () => (await dialect.findColumns(receipts_table)) !== undefined,
    find: (delivery_id) => readReceipt(dialect, delivery_id),
    ofExport: (batch_export_id) =>
      rows(`${deliveries}\nWHERE ${of_export} = ${slot(1)} AND ${name} = ${slot(2)}${counts}`, [
        batch_export_id,
        target.name,
      ]),
    ofAll: (limit) =>
      rows(`${deliveries}\nWHERE ${name} = ${slot(1)}${counts}\nLIMIT ${limit}`, [target.name]),
    ofAnother: async (batch_export_id) => {
      const [other] = await rows<DeliveryId>(
        `${deliveries}\nWHERE ${of_export} <> ${slot(1)} AND ${name} = ${slot(2)}` +
          `${counts}\nLIMIT 1`,
        [batch_export_id, target.name],
      );
      return other;
    },
  };
}

async function readReceipt(dialect: Dialect, delivery_id: string): Promise<string | undefined> {
  const { target, quoted, slot, receipts } = dialect;
  const counts = receipts.condition === undefined ? '' : ` AND ${receipts.condition}`;
  const order = receipts.order === undefined ? '' : `\n${receipts.order}`;
  const parts = await dialect.rows<{ manifest: string }>(
    `SELECT ${quoted('manifest')}\nFROM ${target.receipts}\n` +
      `WHERE ${quoted('delivery_id')} = ${slot(1)}${counts}${order}`,
    [delivery_id],
  );
  return parts.length === 0 ? undefined : parts.map(({ manifest }) => manifest).join('');
}

/**
 * Finds the text of a delivery's receipt: rows and receipt are shown at once, so the table has both
 * or neither. Also undefined if the table of receipts does not exist yet.
 */
export async function findReceipt(
  dialect: Dialect,
  delivery_id: string,
): Promise<string | undefined> {
  if ((await dialect.findColumns(receipts_table)) === undefined) return undefined;
  return readReceipt(dialect, delivery_id);
}

/**
 * Writes the receipt in the open transaction, which only needs the right to INSERT. A repeat
 * (`is_repeat`: `findReceipt` has found one) replaces the earlier receipt, so that the place has
 * the newest run's signature. A user who may not replace it gets an error that says so.
 */
export async function writeReceipt(
  dialect: Dialect,
  delivery: Pick<Delivery, 'delivery_id' | 'batch_export_id' | 'run_id'>,
  { records, text, is_repeat }: { records: number; text: string; is_repeat: boolean },
): Promise<void> {
  const { target, quoted, slot, rows, text_bytes_max } = dialect;
  const { delivery_id, batch_export_id, run_id } = delivery;
  const isOurs = (at: number) => `WHERE ${quoted('delivery_id')} = ${slot(at)}`;
  if (is_repeat && text_bytes_max === undefined)
    return replaceReceipt(dialect, isOurs(4), [run_id, records, text, delivery_id]);
  if (is_repeat) await rows(`DELETE FROM ${target.receipts} ${isOurs(1)}`, [delivery_id]);
  for (const [part, manifest] of partsOf(text, text_bytes_max).entries()) {
    const line: Record<string, unknown> = {
      delivery_id,
      ...(text_bytes_max === undefined ? {} : { part }),
      batch_export_id,
      run_id,
      table_name: target.name,
      records,
      manifest,
    };
    const names = Object.keys(line);
    await rows(
      `INSERT INTO ${target.receipts} (${names.map(quoted).join(', ')})
        VALUES (${names.map((_, index) => slot(index + 1)).join(', ')})`,
      Object.values(line),
    );
  }
}

async function replaceReceipt(dialect: Dialect, where: string, values: unknown[]): Promise<void> {
  const { target, quoted, slot, receipts } = dialect;
  const sets = ['run_id', 'records', 'manifest'].map(
    (name, index) => `${quoted(name)} = ${slot(index + 1)}`,
  );
  try {
    await dialect.rows(`UPDATE ${target.receipts}\nSET ${sets.join(', ')}\n${where}`, values);
  } catch (error) {
    if (receipts.isDenied?.(error) !== true) throw error;
    throw receiptKeptError(target.receipts, error);
  }
}

/** Splits a text into pieces of at most this many bytes of UTF-8, between characters. */
export function partsOf(text: string, bytes_max = Infinity): string[] {
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
