import { lastPart } from '../../formats/naming.ts';
import { decodedPath } from './actions.ts';
import type { Add, State } from './actions.ts';

/** Tags of a file that has the rows of others, and the mark of files that an erasure emptied. */
const [parts_tag, sha256_tag, erased_tag] = ['sluice.parts', 'sluice.sha256', 'sluice.erased'];
const emptied = 'sluice-erased/';

/** A file that has the rows of others; an erasure has removed `erased` of them. */
export type Successor = { add: Add; sha256: string; erased: number };

/**
 * Returns the short name of a slice: the end of its delivery's id and its number; undefined for
 * others.
 */
export function partOf(name: string): string | undefined {
  const [, delivery, number] =
    /-([0-9a-f]{12})(?:-p\d)?-(\d{4,})\.parquet$/.exec(lastPart(name)) ?? [];
  return number === undefined ? undefined : `${delivery}-${number}`;
}

/** Returns the slices whose rows a file has: its own, or those in its tags. */
export function partsOfFile({ path, tags }: Pick<Add, 'path' | 'tags'>): string[] {
  const tagged = tags?.[parts_tag];
  if (tagged !== undefined) return tagged.split(' ').filter((part) => part !== '');
  const own = partOf(decodedPath(path));
  return own === undefined ? [] : [own];
}

/** Returns the number of rows of these files that erasures removed. */
export function erasedIn(files: readonly Pick<Add, 'tags'>[]): number {
  return files.reduce((sum, { tags }) => sum + Number(tags?.[erased_tag] ?? 0), 0);
}

/** Returns the tags of a file that has the rows of these slices. */
export function tagsOf(parts: readonly string[], sha256: string, erased: number) {
  return {
    [parts_tag]: parts.join(' '),
    [sha256_tag]: sha256,
    ...(erased > 0 ? { [erased_tag]: String(erased) } : {}),
  };
}

/** Returns the name of the application that marks a slice without remaining rows. */
export function emptiedId(part: string): string {
  return emptied + part;
}

/** Returns true if a file has, or had, rows of this delivery that were in another one. */
export function hasParts({ adds, txns }: State, delivery_end: string): boolean {
  const sign = `${delivery_end}-`;
  for (const { tags } of adds.values()) if (tags?.[parts_tag]?.includes(sign)) return true;
  for (const id of txns.keys()) if (id.startsWith(emptied + sign)) return true;
  return false;
}

/**
 * Returns the files that now have the rows of slices, by slice; null: an erasure removed all rows.
 */
export function successorsIn({ adds, txns }: State): Map<string, Successor | null> {
  const found = new Map<string, Successor | null>();
  for (const add of adds.values())
    if (add.tags?.[parts_tag] !== undefined)
      for (const part of partsOfFile(add))
        found.set(part, { add, sha256: add.tags[sha256_tag] ?? '', erased: erasedIn([add]) });
  for (const id of txns.keys())
    if (id.startsWith(emptied)) found.set(id.slice(emptied.length), null);
  return found;
}
