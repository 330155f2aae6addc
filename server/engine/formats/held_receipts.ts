import type { Readable } from 'node:stream';
import type { HeldReceipt, WantedReceipts } from '../destination/held_receipt.ts';
import { constantFolder, isDeliveryName, manifestName, manifestOfSlice } from './naming.ts';
import type { NamedDelivery } from './naming.ts';
import { readStoredText } from './verify_files.ts';

/** A place of files or objects. `listAll` gives the names below a folder, also in folders of it. */
export type ReceiptStore = {
  read(name: string): Promise<Readable | undefined>;
  listAll(folder: string): AsyncIterable<string>;
};

/**
 * The receipts below the prefix that the export would find there under their names, and the names
 * of slices that no receipt stands beside. Only receipts that are not known are read.
 */
export async function* heldReceipts(
  store: ReceiptStore,
  prefix: string,
  { batch_export_id, isKnown }: WantedReceipts,
): AsyncGenerator<HeldReceipt> {
  const manifests = new Set<string>();
  const slices = new Map<string, string[]>();
  for await (const name of store.listAll(constantFolder(prefix))) {
    const delivery = /-([0-9a-f]{12})(?:-\d{4,}\.|_manifest\.json$)/.exec(name)?.[1];
    if (!isDeliveryName(name) || delivery === undefined || isKnown(delivery)) continue;
    if (name.endsWith('_manifest.json')) manifests.add(name);
    else {
      const manifest = manifestOfSlice(name);
      slices.set(manifest, [...(slices.get(manifest) ?? []), name]);
    }
  }
  for (const name of manifests) {
    const text = await readStoredText(store, name);
    if (text !== undefined && isAt(name, text, prefix, batch_export_id)) yield { name, text };
  }
  for (const [manifest, names] of slices)
    if (!manifests.has(manifest)) for (const name of names) yield { name, text: undefined };
}

/** A receipt of the export that lies elsewhere is of a time when it had another prefix. */
function isAt(name: string, text: string, prefix: string, exportId: string): boolean {
  try {
    const receipt = JSON.parse(text) as NamedDelivery & { batch_export_id?: unknown };
    return receipt.batch_export_id === exportId && manifestName(prefix, receipt) === name;
  } catch {
    return false;
  }
}
