import { hash } from 'node:crypto';
import type { DeliveredSlices, Seal } from '../../model/destination/destination.ts';
import type { FileFacts, FileStore } from './file_store.ts';
import { receiptsOfSlice } from './foreign_files.ts';
import { folderPart } from './naming.ts';

/** With fewer files in a folder, each is requested separately. */
const listed_files_min = 4;
/** A list is abandoned if a folder has this many times more files than needed. */
const others_max = 20;
const page = 1_000;

/** The facts that a sink stores with a file of an upload in parts. */
type Upload = { mark?: string; parts?: { number: number; etag: string }[] };
type Wanted = { names: string[]; bytes: number; upload: Upload };

/**
 * Returns the seals of deliveries in files: size and tag of each file and of the receipt. A file of
 * another size, or from another upload, cannot be the delivered one. Where the list shows neither
 * the mark of the upload nor the ETag of its parts, `isExpected` reads the mark.
 */
export async function sealFiles(
  store: FileStore,
  delivered: DeliveredSlices[],
): Promise<Map<string, Seal>> {
  const all = delivered.map((one) => ({
    id: one.delivery.delivery_id,
    wanted: wantedOf(one, store),
  }));
  const listed = await listWanted(
    store,
    all.flatMap(({ wanted }) => wanted.map(({ names }) => names[0]!)),
  );
  const seals = new Map<string, Seal>();
  for (const { id, wanted } of all) {
    const facts: (FileFacts | undefined)[] = [];
    for (const { names } of wanted) facts.push(await firstOf(store, names, listed));
    const texts = facts.map((found) =>
      found === undefined ? 'gone' : `${found.bytes} ${found.tag}`,
    );
    const isExpected = async () => {
      for (const [index, { names, bytes, upload }] of wanted.entries()) {
        const found = facts[index];
        if (found?.bytes !== bytes) return false;
        const { mark } = upload;
        if (mark === undefined || found.mark === mark || isOfParts(found, upload)) continue;
        if ((await firstOf(store, names))?.mark !== mark) return false;
      }
      return true;
    };
    seals.set(id, { text: hash('sha256', texts.join('\n')), isExpected });
  }
  return seals;
}

/**
 * Returns true if the store's ETag proves that the object has the bytes of these parts: the MD5 of
 * their MD5s and their number. An object that was copied or encrypted with a key may have another.
 */
function isOfParts({ etag }: FileFacts, { parts = [] }: Upload): boolean {
  const digests = parts.map((part) => unquoted(part.etag));
  if (parts.length === 0 || !digests.every((one) => /^[0-9a-f]{32}$/.test(one))) return false;
  const whole = hash('md5', Buffer.from(digests.join(''), 'hex'));
  return unquoted(etag ?? '') === `${whole}-${parts.length}`;
}

const unquoted = (etag: string) => etag.replaceAll('"', '').toLowerCase();

/** Returns the files of a delivery, and its receipt, which may have one of two names. */
function wantedOf({ outcomes, manifest }: DeliveredSlices, { has_receipts }: FileStore): Wanted[] {
  const receipts = has_receipts === false ? [] : (receiptsOfSlice(outcomes[0]?.name ?? '') ?? []);
  const wanted: Wanted[] = outcomes.map(({ name, bytes, state }) => ({
    names: [name],
    bytes,
    upload: (state as Upload | undefined) ?? {},
  }));
  if (receipts.length > 0)
    wanted.push({ names: [...receipts], bytes: Buffer.byteLength(manifest), upload: {} });
  return wanted;
}

/**
 * Lists the folders with many of the files; files that it does not find are requested separately.
 */
async function listWanted(store: FileStore, names: string[]): Promise<Map<string, FileFacts>> {
  const found = new Map<string, FileFacts>();
  if (store.listFacts === undefined) return found;
  for (const [folder, of_folder] of Map.groupBy(names, folderPart)) {
    if (of_folder.length < listed_files_min) continue;
    const left = new Set(of_folder);
    const sorted = of_folder.toSorted();
    const [first, last] = [sorted[0]!, sorted.at(-1)!];
    let others = 0;
    for await (const { name, ...facts } of store.listFacts(folder, first.slice(0, -1))) {
      if (left.delete(name)) found.set(name, facts);
      else others += 1;
      const is_vain = others > page + others_max * of_folder.length;
      if (left.size === 0 || name > last || is_vain) break;
    }
  }
  return found;
}

async function firstOf(
  store: FileStore,
  names: string[],
  listed?: ReadonlyMap<string, FileFacts>,
): Promise<FileFacts | undefined> {
  for (const name of names) {
    const found = listed?.get(name) ?? (await store.describe(name));
    if (found !== undefined) return found;
  }
  return undefined;
}
