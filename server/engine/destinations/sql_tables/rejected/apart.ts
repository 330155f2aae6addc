import type { Readable } from 'node:stream';
import type { Delivery, Slice } from '../../../model/destination/destination.ts';
import { RetryableError } from '../../../model/destination/errors.ts';
import type { RejectedRow } from '../../../model/destination/rejected_rows.ts';
import type { Dialect } from '../dialect.ts';
import { openAside } from './aside.ts';
import type { Aside } from './aside.ts';
import { rejectedTable } from './rejected_table.ts';
import type { RejectedTable } from './set_aside.ts';

/**
 * A temporary table of the session that refuses each row that the target would refuse, so that
 * nothing is refused when its rows are shown.
 */
export type ApartStage = {
  /** Creates it empty, and gives its quoted name. */
  create(): Promise<string>;
  /** Inserts all rows or none. */
  insert(table: string, slice: Slice, bytes: Readable): Promise<void>;
};

/**
 * The rows of a delivery where transactions have no savepoints: each piece goes into a temporary
 * table by a transaction of its own, and what is refused waits in memory. Both come into the tables
 * by the transaction that writes the receipt.
 */
export type Apart = {
  aside: Aside;
  /** The table whose rows are to be shown; undefined where none came. */
  table(): string | undefined;
  /** Adds and removes rejected rows in the open transaction. */
  show(): Promise<void>;
};

/** Opens them; `prepare` prepares the tables for a delivery that is there already. */
export function openApart(
  dialect: Dialect,
  delivery: Delivery,
  stage: ApartStage,
  prepare: () => Promise<void>,
): Apart {
  let name: string | undefined;
  const { table, show } = openPending(dialect, delivery);
  const insert = async (slice: Slice, bytes: Readable) => {
    name ??= await stage.create();
    await stage.insert(name, slice, bytes);
  };
  return {
    aside: openAside({ table, insert, delivery }, prepare),
    table: () => name,
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
