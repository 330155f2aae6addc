import sql from 'sql-template-tag';
import { isLive } from '../../destinations/lake/entries.ts';
import type { ListedManifest } from '../../destinations/lake/manifest_list.ts';
import type { TableFiles } from '../../model/destination/table_files.ts';
import type { MaintainedTable } from './maintained_table.ts';
import { listIn, manifestIn, readNamed } from './read_table.ts';

/** Number of files read at the same time. */
const side_by_side = 8;

/** Returns the manifest lists of all current snapshots of the table. */
export async function liveLists({ engine, table }: MaintainedTable): Promise<string[]> {
  const rows = await engine.db.rows<{ uri: string }>(sql`
    SELECT snapshot::jsonb ->> 'manifest-list' AS uri FROM lake_snapshots
    WHERE table_id = ${table.id}::uuid AND snapshot::jsonb ? 'manifest-list'`);
  return rows.map(({ uri }) => uri);
}

/**
 * Returns the manifests that lists name, by URI. A missing list is an error, unless `may_be_gone`.
 */
export async function manifestsIn(
  files: TableFiles,
  lists: readonly string[],
  may_be_gone = false,
): Promise<Map<string, ListedManifest>> {
  const found = new Map<string, ListedManifest>();
  await eachOf(lists, async (uri) => {
    const bytes = may_be_gone ? await files.read(uri) : await readNamed(files, uri);
    if (bytes !== undefined)
      for (const listed of listIn(uri, bytes)) found.set(listed.manifest_path, listed);
  });
  return found;
}

/** Returns the data and delete files that manifests show, by URI. */
export async function filesIn(
  files: TableFiles,
  manifests: Iterable<ListedManifest>,
  may_be_gone = false,
): Promise<Set<string>> {
  const found = new Set<string>();
  await eachOf([...manifests], async (listed) => {
    const uri = listed.manifest_path;
    const bytes = may_be_gone ? await files.read(uri) : await readNamed(files, uri);
    if (bytes === undefined) return;
    for (const entry of manifestIn(listed, bytes).entries) if (isLive(entry)) found.add(entry.path);
  });
  return found;
}

/** Runs the work for each item, several at a time; rejects with the first failure. */
export async function eachOf<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  let next = 0;
  const walk = async () => {
    while (next < items.length) {
      const item = items[next]!;
      next += 1;
      await work(item);
    }
  };
  await Promise.all(Array.from({ length: Math.min(side_by_side, items.length) }, walk));
}
