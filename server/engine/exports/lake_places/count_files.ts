import sql from 'sql-template-tag';
import { parseExactJson } from '../../../platform/json/exact_json.ts';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { isLive, openManifest } from '../../destinations/lake/entries.ts';
import { readManifestList } from '../../destinations/lake/manifest_list.ts';
import { LakeRefused } from '../../model/lake_catalog/refusal.ts';
import type { LakeTable } from '../../model/lake_catalog/tables.ts';
import type { Engine } from '../engine.ts';
import { openLakePlace } from './open_place.ts';

/** The content code of a manifest that lists data files, not deletes. */
const data = 0;
/** A table whose manifests were never merged has one for each commit. */
const manifests_max = 1_000;
const at_once = 8;

/** The data files of the current snapshot, or the reason why they could not be counted. */
export type CountedFiles = {
  snapshot: string | null;
  manifests: number | null;
  data_files: number | null;
  bytes: number | null;
  smallest_bytes: number | null;
  median_bytes: number | null;
  largest_bytes: number | null;
  fault: string | null;
};

const uncounted = {
  manifests: null,
  data_files: null,
  bytes: null,
  smallest_bytes: null,
  median_bytes: null,
  largest_bytes: null,
};

/** Counts the data files that readers of the table see, from the manifests in its storage. */
export async function countFiles(
  engine: Engine,
  db: Queryable,
  table: LakeTable,
): Promise<CountedFiles> {
  const current = table.metadata['current-snapshot-id'];
  const row =
    current === undefined
      ? undefined
      : await db.row<{ snapshot: string }>(sql`SELECT snapshot FROM lake_snapshots
          WHERE table_id = ${table.id}::uuid AND snapshot_id = ${String(current)}::bigint`);
  if (row === undefined) return { snapshot: null, manifests: 0, ...sizesOf([]), fault: null };
  const snapshot = String(current);
  try {
    const { 'manifest-list': list } = parseExactJson(row.snapshot) as { 'manifest-list': string };
    const { readFile } = await openLakePlace(engine, db, table.team_id, table.storage_id);
    return { snapshot, ...(await count(list, readFile)) };
  } catch (error) {
    if (!(error instanceof LakeRefused))
      engine.log.warn(
        { err: error, table_id: table.id },
        'the manifests of a table are unreadable',
      );
    const fault =
      error instanceof LakeRefused
        ? error.message
        : 'Sluice could not read the manifests of the table from its storage.';
    return { snapshot, ...uncounted, fault };
  }
}

async function count(
  list: string,
  readFile: (uri: string) => Promise<Buffer | undefined>,
): Promise<Omit<CountedFiles, 'snapshot'>> {
  const read = async (uri: string) => {
    const bytes = await readFile(uri);
    if (bytes === undefined) throw new Error(`The file ${uri} is gone.`);
    return bytes;
  };
  const listed = readManifestList(await read(list)).filter(({ content }) => content === data);
  const manifests = listed.length;
  if (manifests > manifests_max) {
    const fault = `The table has ${manifests} manifests: too many to read for a page.`;
    return { ...uncounted, manifests, fault };
  }
  const sizes: number[] = [];
  const readOn = async (): Promise<void> => {
    for (let one = listed.pop(); one !== undefined; one = listed.pop()) {
      const { entries } = openManifest(await read(one.manifest_path), one);
      sizes.push(...entries.filter(isLive).map(({ bytes }) => bytes));
    }
  };
  await Promise.all(Array.from({ length: at_once }, readOn));
  return { manifests, ...sizesOf(sizes), fault: null };
}

function sizesOf(sizes: number[]) {
  const sorted = sizes.toSorted((one, other) => one - other);
  return {
    data_files: sorted.length,
    bytes: sorted.reduce((sum, size) => sum + size, 0),
    smallest_bytes: sorted[0] ?? null,
    median_bytes: sorted[Math.floor((sorted.length - 1) / 2)] ?? null,
    largest_bytes: sorted.at(-1) ?? null,
  };
}
