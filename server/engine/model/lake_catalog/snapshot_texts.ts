/** The snapshots of a table and their log, each as the inside of a JSON list. */
export type SnapshotTexts = { snapshots: string; log: string };

const characters_max = 32 * 1024 * 1024;

/** Adds to the inside of a JSON list. */
export function appended(list: string, added: readonly string[]): string {
  return [list, ...added].filter((text) => text !== '').join(',');
}

/**
 * Remembers the texts of the latest commits of this process, by the URI of their metadata file: the
 * next commit then reads no snapshot again. A file that no transaction has named is never asked
 * for. Bounded to 32 Mi characters; the oldest go first.
 */
export function openTextCache() {
  const known = new Map<string, SnapshotTexts>();
  let characters = 0;
  const sizeOf = ({ snapshots, log }: SnapshotTexts) => snapshots.length + log.length;
  const drop = (uri: string) => {
    const texts = known.get(uri);
    if (texts !== undefined) characters -= sizeOf(texts);
    known.delete(uri);
  };
  return {
    find: (uri: string) => known.get(uri),
    /** Keeps the texts of a file in the place of the file before it. */
    keep(uri: string, texts: SnapshotTexts, before: string) {
      drop(before);
      known.set(uri, texts);
      characters += sizeOf(texts);
      for (const [oldest] of known) if (characters > characters_max) drop(oldest);
    },
  };
}
