import type { Delivery } from '../../model/destination/destination.ts';
import { NonRetryableError } from '../../model/destination/errors.ts';
import type { Dialect } from './dialect.ts';
import { receiptsOf } from './receipts.ts';

/**
 * The steps by which a generation replaces a table's rows, in the transaction that shows it. No
 * other session can show rows in this table meanwhile. For any other delivery, they do nothing.
 */
export type Replacing = {
  /**
   * Finds the replaced deliveries. Throws `superseded` if the table has a later generation, and
   * `table_shared` if it has rows of another export, which would be lost.
   */
  find(): Promise<void>;
  /** Deletes all rows of the table. */
  clear(): Promise<void>;
  /** Removes the receipts that `find` has found: their rows are no longer in the table. */
  removeReceipts(): Promise<void>;
};

/** Opens the steps of a delivery. */
export function openReplacing(dialect: Dialect, delivery: Delivery): Replacing {
  let replaced: string[] = [];
  const { generation } = delivery;
  return {
    find: async () => {
      if (generation !== undefined)
        replaced = await findReplaced(dialect, { ...delivery, generation });
    },
    clear: async () => {
      if (generation !== undefined) await dialect.rows(`DELETE FROM ${dialect.target.quoted}`);
    },
    removeReceipts: () => removeReceipts(dialect, replaced),
  };
}

/** Returns true if the delivery replaces all rows of its table. */
export function isGeneration({ generation }: Pick<Delivery, 'generation'>): boolean {
  return generation !== undefined;
}

/** Returns the error of a run that is older than the table's generation. */
export function supersededError(): NonRetryableError {
  return new NonRetryableError(
    'superseded',
    'A later run has written the whole table, or is about to. Nothing of this one is needed.',
  );
}

const generation_pattern = /"generation":"([^"]+)"/;

async function findReplaced(
  dialect: Dialect,
  { delivery_id, batch_export_id, generation }: Delivery & { generation: string },
): Promise<string[]> {
  const { target, quoted, slot, rows, receipts } = dialect;
  const own = await receiptsOf(dialect).ofExport(batch_export_id);
  const all = await receiptsOf(dialect).ofAll(own.length + 1);
  const known = new Set(own.map((one) => one.delivery_id));
  if (all.some((one) => !known.has(one.delivery_id)))
    throw new NonRetryableError(
      'table_shared',
      `The table ${target.name} has rows of another export, and replacing it would delete them. ` +
        'Export to another table. If these rows may go, delete the lines of this table in ' +
        `${target.receipts} first.`,
    );
  const counts = receipts.condition === undefined ? '' : ` AND ${receipts.condition}`;
  // A receipt may be long, and receipts without a generation need not be read.
  const generations = await rows<{ manifest: string }>(
    `SELECT ${quoted('manifest')}\nFROM ${target.receipts}\n` +
      `WHERE ${quoted('table_name')} = ${slot(1)}${counts} ` +
      `AND ${quoted('manifest')} LIKE '%"generation":"%'`,
    [target.name],
  );
  for (const { manifest } of generations)
    if ((generation_pattern.exec(manifest)?.[1] ?? '') > generation) throw supersededError();
  return [...known].filter((id) => id !== delivery_id);
}

const ids_per_statement = 500;

async function removeReceipts(
  { target, quoted, slot, rows }: Dialect,
  delivery_ids: string[],
): Promise<void> {
  for (let from = 0; from < delivery_ids.length; from += ids_per_statement) {
    const some = delivery_ids.slice(from, from + ids_per_statement);
    const slots = some.map((_, index) => slot(index + 1)).join(', ');
    await rows(`DELETE FROM ${target.receipts} WHERE ${quoted('delivery_id')} IN (${slots})`, some);
  }
}
