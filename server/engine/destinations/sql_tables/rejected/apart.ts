import type { Readable } from 'node:stream';
import type { Delivery, Json, Slice } from '../../../model/destination/destination.ts';
import { RetryableError } from '../../../model/destination/errors.ts';
import type { RejectedRow } from '../../../model/destination/rejected_rows.ts';
import type { Dialect } from '../dialect.ts';
import type { Standing } from '../staged_sink.ts';
import { openAside } from './aside.ts';
import { rejectedTable } from './rejected_table.ts';
import type { RejectedTable, Send } from './set_aside.ts';

/**
 * A temporary table of the session that refuses the same rows as the target, so that nothing is
 * refused when its rows are shown.
 */
export type ApartStage = {
  /** Its quoted name. */
  table: string;
  /** Inserts all rows of a part, or none. */
  send: Send;
};

/**
 * Separates a delivery's refused rows if transactions have no savepoints: each piece goes into a
 * temporary table by its own transaction, and refused rows wait in memory. The transaction that
 * writes the receipt moves both into the tables.
 */
export type Apart = {
  /**
   * Writes a slice: to the temporary table if the delivery sets rows aside, or rows to deliver
   * again of an existing delivery; any other slice goes to `staged`.
   */
  write(
    slice: Slice,
    bytes: Readable,
    staged: (slice: Slice, bytes: Readable) => Promise<Json>,
  ): Promise<Json>;
  /** Returns the rows of a slice that are now set aside. */
  rejectedOf(number: number): RejectedRow[];
  /**
   * Returns the table whose rows are to be shown, and their number; undefined if there are none.
   */
  rows(): { table: string; records: number } | undefined;
  /** Adds and removes rejected rows in the open transaction. */
  show(): Promise<void>;
};

/**
 * Opens the separation. `prepare` prepares the tables of an existing delivery, `openStage` creates
 * the empty temporary table.
 */
export function openApart(
  { dialect, delivery, standing }: { dialect: Dialect; delivery: Delivery; standing: Standing },
  prepare: () => Promise<void>,
  openStage: () => Promise<ApartStage>,
): Apart {
  let stage: ApartStage | undefined;
  let records = 0;
  const { table, show } = openPending(dialect, delivery);
  const send: Send = async (number, lines) => {
    stage ??= await openStage();
    const insert = await stage.send(number, lines);
    return async (from, to) => {
      await insert(from, to);
      records += to - from;
    };
  };
  const aside = openAside({ table, send, delivery }, prepare);
  return {
    write: async (slice, bytes, staged) => {
      if (!standing.is_delivered && delivery.rejects === undefined) return staged(slice, bytes);
      await (standing.is_delivered ? aside.readAgain(slice, bytes) : aside.insert(slice, bytes));
      return null;
    },
    rejectedOf: aside.rejectedOf,
    rows: () => (stage === undefined ? undefined : { table: stage.table, records }),
    show,
  };
}

function openPending(
  dialect: Dialect,
  delivery: Delivery,
): { table: RejectedTable; show(): Promise<void> } {
  const shown = rejectedTable(dialect, delivery);
  const added: [slice: number, first: number, refused: RejectedRow[]][] = [];
  const removed = new Set<number>();
  const table: RejectedTable = {
    ...shown,
    within: (work) => work(),
    add: async (...lines) => void added.push(lines),
    remove: async (numbers) => numbers.forEach((number) => removed.add(number)),
  };
  return {
    table,
    show: async () => {
      if (removed.size > 0) {
        const there = new Set((await shown.list()).map(({ number }) => number));
        if (!removed.isSubsetOf(there)) throw takenOver();
        await shown.remove([...removed]);
      }
      for (const lines of added) await shown.add(...lines);
    },
  };
}

/** Returns the error of an attempt if another one has shown rows since it began. */
export function takenOver(): RetryableError {
  return new RetryableError(
    'conflict',
    'Another attempt published rows of this delivery. Sluice checks it again.',
  );
}
