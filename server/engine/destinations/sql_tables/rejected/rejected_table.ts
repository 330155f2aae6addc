import type { Delivery } from '../../../model/destination/destination.ts';
import { NonRetryableError } from '../../../model/destination/errors.ts';
import { recordText } from '../../../model/destination/rejected_rows.ts';
import type { RejectedRow } from '../../../model/destination/rejected_rows.ts';
import type { Dialect } from '../dialect.ts';
import { partsOf } from '../receipts.ts';
import { rejectedName } from '../target.ts';
import type { KnownRejected } from './known_rejected.ts';
import type { HeldRejection, RejectedTable } from './set_aside.ts';

/** Most characters and rows of one statement, but always at least one row. */
const statement_characters = 500_000;
const statement_rows = 1_000;

const columns = [
  'delivery_id',
  'number',
  'batch_export_id',
  'run_id',
  'slice',
  'code',
  'reason',
  'record',
  'rejected_at',
];

/** Refuses a table of this name that was not created for rejected rows. */
export function requireRejectedTable(table: string, found: { name: string }[]): void {
  const names = new Set(found.map(({ name }) => name));
  if (columns.every((name) => names.has(name))) return;
  throw new NonRetryableError(
    'table_unsuitable',
    `Refused rows go to the table ${table}, and that is a table of yours. Rename it, export to ` +
      'another table, or set rejected_rows to "stop".',
  );
}

/** Returns the rejected rows beside the table of a session. */
export function knownRejected(dialect: Dialect): KnownRejected | undefined {
  if (dialect.rejected === undefined) return undefined;
  return {
    name: rejectedName(dialect.target.name),
    list: (delivery_id) => listRejected(dialect, delivery_id),
  };
}

/** Lists the rejected rows of a delivery; empty if no such table exists. */
async function listRejected(dialect: Dialect, delivery_id: string): Promise<HeldRejection[]> {
  const { target, quoted, slot, rejected, text_bytes_max } = dialect;
  if (rejected === undefined) return [];
  if ((await dialect.findColumns(rejectedName(target.table))) === undefined) return [];
  const order = text_bytes_max === undefined ? ['number'] : ['number', 'part'];
  const found = await dialect.rows<Omit<HeldRejection, 'number'> & { number: number | string }>(
    `SELECT ${['number', 'code', 'reason'].map(quoted).join(', ')},
      ${rejected.record ?? quoted('record')} AS ${quoted('record')} FROM ${rejected.quoted}
      WHERE ${quoted('delivery_id')} = ${slot(1)} ORDER BY ${order.map(quoted).join(', ')}`,
    [delivery_id],
  );
  return [...Map.groupBy(found, ({ number }) => Number(number))].map(([number, parts]) => ({
    ...parts[0]!,
    number,
    record: parts.map(({ record }) => record).join(''),
  }));
}

/** Returns the rejected rows of a delivery, in the open transaction. */
export function rejectedTable(dialect: Dialect, delivery: Delivery): RejectedTable {
  const { rows, quoted, slot, rejected } = dialect;
  const { delivery_id } = delivery;
  return {
    within: async (work) => {
      await rows('SAVEPOINT sluice_rows');
      try {
        const result = await work();
        if (rejected?.check_now !== undefined) await rows(rejected.check_now);
        await rows('RELEASE SAVEPOINT sluice_rows');
        return result;
      } catch (error) {
        // A deadlock may have ended the transaction, and the savepoint with it.
        await rows('ROLLBACK TO SAVEPOINT sluice_rows').catch(() => {
          throw error;
        });
        await rows('RELEASE SAVEPOINT sluice_rows');
        throw error;
      }
    },
    add: (slice, first, refused) => addRejected(dialect, delivery, { slice, first, refused }),
    list: () => listRejected(dialect, delivery_id),
    remove: async (numbers) => {
      if (numbers.length === 0) return;
      await rows(
        `DELETE FROM ${rejected!.quoted} WHERE ${quoted('delivery_id')} = ${slot(1)}
          AND ${quoted('number')} IN (${numbers.join(', ')})`,
        [delivery_id],
      );
    },
    explained: dialect.explained,
  };
}

async function addRejected(
  dialect: Dialect,
  { delivery_id, batch_export_id, run_id, columns: own }: Delivery,
  { slice, first, refused }: { slice: number; first: number; refused: RejectedRow[] },
): Promise<void> {
  const lines = refused.flatMap(({ code, reason, values }, index) => {
    const texts = partsOf(recordText(own, values), dialect.text_bytes_max);
    return texts.map((record, part) => ({
      delivery_id,
      number: first + index,
      ...(dialect.text_bytes_max === undefined ? {} : { part }),
      batch_export_id,
      run_id,
      slice,
      code,
      reason,
      record,
    }));
  });
  let [from, characters] = [0, 0];
  for (const [at, { record }] of lines.entries()) {
    characters += record.length;
    const isFull = characters >= statement_characters || at + 1 - from >= statement_rows;
    if (!isFull && at + 1 < lines.length) continue;
    await insertLines(dialect, lines.slice(from, at + 1));
    [from, characters] = [at + 1, 0];
  }
}

async function insertLines(
  { rows, quoted, slot, rejected }: Dialect,
  lines: Record<string, unknown>[],
): Promise<void> {
  const names = Object.keys(lines[0]!);
  const tuples = lines.map(
    (_line, row) =>
      `(${names.map((_name, column) => slot(row * names.length + column + 1)).join(', ')})`,
  );
  await rows(
    `INSERT INTO ${rejected!.quoted} (${names.map(quoted).join(', ')}) VALUES ${tuples.join(', ')}`,
    lines.flatMap((line) => Object.values(line)),
  );
}
