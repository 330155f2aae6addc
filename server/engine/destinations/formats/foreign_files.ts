import type { AccountedNames, Difference } from '../../model/destination/difference.ts';
import { orUnreadable, readStoredText } from './file_store.ts';
import type { FileStore } from './file_store.ts';
import { folderPart, parseDeliveryName, receiptsOfStem } from './naming.ts';

/**
 * Finds the files in the folders that are not among the names. Omits files that the receipt of
 * another export names.
 */
export async function findForeignFiles(
  store: FileStore,
  { names, folders }: AccountedNames,
): Promise<Difference[]> {
  const differences: Difference[] = [];
  for (const folder of folders)
    differences.push(...(await orUnreadable(folder, () => findAdded(store, folder, names))));
  return differences;
}

/**
 * Returns the names that belong to deliveries, from the names of their slices: these and their
 * receipts; and the folders of `looked_at`.
 */
export function accountedNames(slices: Iterable<string>, looked_at: Iterable<string>) {
  const names = new Set<string>();
  for (const name of slices)
    for (const one of [name, ...(receiptsOfSlice(name) ?? [])]) names.add(one);
  const folders = new Set<string>();
  for (const name of looked_at)
    for (const one of [name, ...(receiptsOfSlice(name) ?? [])]) folders.add(folderPart(one));
  return { names, folders } satisfies AccountedNames;
}

/** Returns the possible names of the receipt of a slice's delivery. */
export function receiptsOfSlice(slice: string): [string, string] | undefined {
  const stem = parseDeliveryName(slice)?.stem;
  return stem === undefined ? undefined : receiptsOfStem(stem);
}

async function findAdded(
  store: FileStore,
  folder: string,
  expected: ReadonlySet<string>,
): Promise<Difference[]> {
  const differences: Difference[] = [];
  const accounted = new Map<string, Set<string>>();
  for await (const name of store.list(folder)) {
    if (expected.has(name) || (await isOfAnother(store, name, expected, accounted))) continue;
    differences.push({ kind: 'added', name, detail: 'No receipt names it.' });
  }
  return differences;
}

/** Returns true for a file that the receipt of another export names, and for such a receipt. */
async function isOfAnother(
  store: FileStore,
  name: string,
  expected: ReadonlySet<string>,
  accounted: Map<string, Set<string>>,
): Promise<boolean> {
  const stem = parseDeliveryName(name)?.stem;
  if (stem === undefined) return false;
  const receipts = receiptsOfStem(stem);
  if (expected.has(receipts[0])) return false;
  let names = accounted.get(stem);
  if (names === undefined) {
    names = new Set();
    for (const receipt of receipts) {
      const text = await readStoredText(store, receipt);
      if (text !== undefined) for (const one of [receipt, ...namesOf(text)]) names.add(one);
    }
    accounted.set(stem, names);
  }
  return names.has(name);
}

function namesOf(text: string): string[] {
  try {
    const { slices } = JSON.parse(text) as { slices?: { name?: unknown }[] };
    return (slices ?? []).flatMap((slice) => (typeof slice.name === 'string' ? [slice.name] : []));
  } catch {
    return [];
  }
}
