import { hash } from 'node:crypto';
import type { DeliveredSlices, Seal } from '../../model/destination/destination.ts';
import type { FileFacts, FileStore } from './file_store.ts';
import { receiptsOfSlice } from './foreign_files.ts';

/**
 * The seals of deliveries in files: size and tag of each file and of the receipt. A file of another
 * size, or that another upload wrote, cannot be what was delivered.
 */
export async function sealFiles(
  store: FileStore,
  delivered: DeliveredSlices[],
): Promise<Map<string, Seal>> {
  const seals = new Map<string, Seal>();
  for (const { delivery, outcomes, manifest } of delivered) {
    const receipts = receiptsOfSlice(outcomes[0]?.name ?? '') ?? [];
    const wanted = outcomes.map(({ name, bytes, state }) => ({
      names: [name],
      bytes,
      mark: (state as { mark?: string } | undefined)?.mark,
    }));
    if (receipts.length > 0)
      wanted.push({ names: [...receipts], bytes: Buffer.byteLength(manifest), mark: undefined });
    const facts: (FileFacts | undefined)[] = [];
    for (const { names } of wanted) facts.push(await firstOf(store, names));
    const is_expected = facts.every((found, index) => {
      const { bytes, mark } = wanted[index]!;
      return found?.bytes === bytes && (mark === undefined || found.mark === mark);
    });
    const texts = facts.map((found) =>
      found === undefined ? 'gone' : `${found.bytes} ${found.tag}`,
    );
    seals.set(delivery.delivery_id, { text: hash('sha256', texts.join('\n')), is_expected });
  }
  return seals;
}

async function firstOf(store: FileStore, names: string[]): Promise<FileFacts | undefined> {
  for (const name of names) {
    const found = await store.describe(name);
    if (found !== undefined) return found;
  }
  return undefined;
}
