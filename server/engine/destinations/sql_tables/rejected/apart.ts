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
 * A temporary table of the session that refuses each row that the target would refuse, so that
 * nothing is refused when its rows are shown.
 */
export type ApartStage = {
  /** Its quoted name. */
  table: string;
  /** Inserts all rows of a part, or none. */
  send: Send;
};

/**
 * The rows of a delivery where transactions have no savepoints: each piece goes into a temporary
 * table by a transaction of its own, and what is refused waits in memory. Both come into the tables
 * by the transaction that writes the receipt.
 */
export type Apart = {
  /**
   * Writes a slice: of a delivery that sets rows aside into the temporary table, of one that is
   * there rows that are delivered again; any other slice goes to `staged`.
   */
  write(
    slice: Slice,
    bytes: Readable,
    staged: (slice: Slice, bytes: Readable) => Promise<Json>,
  ): Promise<Json>;
  /** Those rows of a slice that are set aside now. */
  rejectedOf(number: number): RejectedRow[];
  /** The table whose rows are to be shown, and their number; undefined where none came. */
  rows(): { table: string; records: number } | undefined;
  /** Adds and removes rejected rows in the open transaction. */
  show(): Promise<void>;
};

/**
 * Opens them. `prepare` prepares the tables for a delivery that is there already, `openStage`
 * creates the temporary table, empty.
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

/** The error of an attempt that finds rows shown by another one since it began. */
export function takenOver(): RetryableError {
  return new RetryableError(
    'conflict',
    'Another attempt has shown rows of this delivery; it is looked at again.',
  );
}
