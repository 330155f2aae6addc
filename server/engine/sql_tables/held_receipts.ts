import type { HeldReceipt, WantedReceipts } from '../destination/held_receipt.ts';

/** A table of receipts, opened to be read. */
export type ReceiptTable = {
  /** The deliveries of the export to this very table; none where there are no receipts. */
  deliveries(): Promise<{ delivery_id: string }[]>;
  /** The receipt of one of them, as it was signed. */
  find(delivery_id: string): Promise<string | undefined>;
  close(): Promise<void>;
};

/** The receipts of a table that are not known, one after the other. */
export async function* heldReceipts(
  withErrors: <Result>(work: () => Promise<Result>) => Promise<Result>,
  open: () => Promise<ReceiptTable>,
  { isKnown }: WantedReceipts,
): AsyncGenerator<HeldReceipt> {
  const table = await withErrors(open);
  try {
    for (const { delivery_id } of await withErrors(() => table.deliveries())) {
      if (isKnown(delivery_id.slice(-12))) continue;
      const text = await withErrors(() => table.find(delivery_id));
      if (text !== undefined) yield { name: `receipt ${delivery_id}`, text };
    }
  } finally {
    await table.close();
  }
}
