import type { Readable } from 'node:stream';
import type { Delivery, Slice } from '../../../model/destination/destination.ts';
import type { RejectedRow } from '../../../model/destination/rejected_rows.ts';
import { openHeldRejections } from './held_rejections.ts';
import type { HeldRejections } from './held_rejections.ts';
import { insertApart } from './set_aside.ts';
import type { Parting } from './set_aside.ts';
import { leaveAside } from '../staged_sink.ts';

/** The rows of one attempt at a delivery that its table refuses, or has refused before. */
export type Aside = {
  /** Writes a slice directly to the table, without the rows that it refuses. */
  insert(slice: Slice, bytes: Readable): Promise<void>;
  /** Reads the rows of an existing delivery and discards them, except those that were set aside. */
  readAgain(slice: Slice, bytes: Readable): Promise<void>;
  /** Removes rows with these keys that were set aside when the delivery was shown. */
  erase(keys: string[]): Promise<void>;
  /** Returns the rows of a slice that are now set aside. */
  rejectedOf(number: number): RejectedRow[];
};

/** Opens them; `prepare` prepares the table in the transaction that shows the delivery. */
export function openAside(parting: Parting, prepare: () => Promise<void>): Aside {
  const { table } = parting;
  const rejected = new Map<number, RejectedRow[]>();
  let looked: Promise<HeldRejections | undefined> | undefined;
  const held = () =>
    (looked ??= openHeldRejections(parting).then(async (found) => {
      // The following statements are one transaction with the receipt.
      if (found !== undefined) await prepare();
      return found;
    }));
  return {
    insert: async (slice, bytes) => {
      const before = rejected.values().reduce((sum, { length }) => sum + length, 0);
      const found = await insertApart(parting, slice, bytes, before);
      await table.add(slice.number, before + 1, found);
      rejected.set(slice.number, found);
    },
    readAgain: async (slice, bytes) => {
      const found = await held();
      if (found === undefined) return leaveAside(bytes);
      rejected.set(slice.number, await found.sift(slice, bytes));
    },
    erase: async (keys) => (await held())?.erase(keys),
    rejectedOf: (number) => rejected.get(number) ?? [],
  };
}

/** Removes the erased rows of an existing delivery, in the open transaction. */
export async function eraseRows(
  { delivery, erase }: { delivery: Delivery; erase?(keys: string[]): Promise<void> },
  aside: Aside | undefined,
): Promise<void> {
  if (delivery.erased === undefined || erase === undefined) return;
  for await (const keys of delivery.erased.keys()) {
    await erase(keys);
    await aside?.erase(keys);
  }
}
