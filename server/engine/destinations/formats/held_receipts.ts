import type { Readable } from 'node:stream';
import type { HeldReceipt, WantedReceipts } from '../../model/destination/held_receipt.ts';
import { constantFolder, parseDeliveryName, receiptsOfStem, stemOf } from './naming.ts';
import type { NamedDelivery } from './naming.ts';
import { readStoredText } from './file_store.ts';

/**
 * A place of files or objects. `listAll` lists the names below a folder, including nested folders.
 */
export type ReceiptStore = {
  read(name: string): Promise<Readable | undefined>;
  listAll(folder: string): AsyncIterable<string>;
};

/**
 * Yields the export's receipts below the prefix, and the names of slices without a receipt. Only
 * unknown receipts are read.
 */
export async function* heldReceipts(
  store: ReceiptStore,
  prefix: string,
  { batch_export_id, timezone, isKnown }: WantedReceipts,
): AsyncGenerator<HeldReceipt> {
  const receipts = new Map<string, string[]>();
  const slices = new Map<string, string[]>();
  for await (const name of store.listAll(constantFolder(prefix))) {
    const parsed = parseDeliveryName(name);
    if (parsed === undefined || isKnown(parsed.delivery)) continue;
    const names = parsed.is_receipt ? receipts : slices;
    names.set(parsed.stem, [...(names.get(parsed.stem) ?? []), name]);
  }
  for (const [stem, names] of receipts) {
    // If both names exist, an older release wrote the former one again: one is enough.
    const name = receiptsOfStem(stem).find((one) => names.includes(one))!;
    const text = await readStoredText(store, name);
    if (text !== undefined && isAt(stem, text, prefix, { batch_export_id, timezone }))
      yield { name, text };
  }
  for (const [stem, names] of slices)
    if (!receipts.has(stem)) for (const name of names) yield { name, text: undefined };
}

/** A receipt of the export in another place is from a time when it had another prefix. */
function isAt(
  stem: string,
  text: string,
  prefix: string,
  { batch_export_id, timezone }: Pick<WantedReceipts, 'batch_export_id' | 'timezone'>,
): boolean {
  try {
    const receipt = JSON.parse(text) as NamedDelivery & { batch_export_id?: unknown };
    return (
      receipt.batch_export_id === batch_export_id &&
      stemOf(prefix, { ...receipt, timezone }) === stem
    );
  } catch {
    return false;
  }
}
