import { randomUUID } from 'node:crypto';
import { entry_status, manifestBytes, openManifest } from './entries.ts';
import type { Entry } from './entries.ts';
import { readManifestList } from './manifest_list.ts';
import type { ListedManifest } from './manifest_list.ts';
import {
  addedManifests,
  hasFiles,
  listAdded,
  listRewritten,
  manifestListOf,
  snapshotOf,
  withoutFiles,
} from './snapshot_change.ts';
import type {
  AddedManifest,
  RemovedFile,
  SnapshotChange,
  StoredManifest,
} from './snapshot_change.ts';
import { tracksRows } from './table_metadata.ts';
import type { Snapshot, TableMetadata, TableState } from './table_metadata.ts';

/** The small files of a table, by their full URIs. */
export type MetaFiles = {
  read(uri: string): Promise<Buffer>;
  /** Writes a new file and resolves once it is safe. */
  put(uri: string, content: Buffer): Promise<void>;
};

/** Thrown if files to remove from a table are not there: another writer came first. */
export class FilesGoneError extends Error {
  readonly paths: readonly string[];

  constructor(paths: readonly string[]) {
    super(`The table no longer has ${paths.length} of the files that were to be replaced.`);
    this.name = 'FilesGoneError';
    this.paths = paths;
  }
}

/**
 * Returns the name of a manifest with its row ids: a table that was upgraded meanwhile may have got
 * some.
 */
const nameOf = ({ manifest_path, first_row_id }: ListedManifest) =>
  `${manifest_path} ${first_row_id}`;

/** A manifest after the change: unchanged, or rewritten. */
type Kept = { entries: Entry[]; stored: StoredManifest } | undefined;

/**
 * Opens a snapshot of a change. `prepare` stores everything that does not depend on other commits,
 * and the manifests that the change rewrites. `store` stores the rest for the table's state at that
 * time, and returns the snapshot to commit. It may be called for several states, and reuses files
 * of an earlier one. Throws `FilesGoneError` unless each removed file is live exactly there.
 */
export function openSnapshot(files: MetaFiles, change: SnapshotChange) {
  const { snapshot_id, removed } = change;
  let added: Promise<[AddedManifest, StoredManifest][]> | undefined;
  const rewritten = new Map<string, Promise<Kept>>();
  const isRemoved = (path: string) => removed === 'all' || removed.has(path);
  const storeAdded = (metadata: TableMetadata) =>
    (added ??= storeAddedFiles(files, metadata, change));
  const keptOf = (metadata: TableMetadata, listed: ListedManifest): Promise<Kept> => {
    const key = nameOf(listed);
    const known = rewritten.get(key);
    if (known !== undefined) return known;
    const kept = rewriteManifest(files, metadata, listed, { isRemoved, snapshot_id });
    rewritten.set(key, kept);
    return kept;
  };
  const earlierOf = async (table: TableState) => {
    const list = table.parent?.['manifest-list'];
    const found = list === undefined ? [] : readManifestList(await files.read(list));
    const live = found.filter(hasFiles);
    const manifests: ListedManifest[] = [];
    const gone: (RemovedFile & { path: string })[] = [];
    const isTouched = ({ content }: ListedManifest) =>
      removed === 'all' || (content === 0 && gone.length < removed.size);
    for (const listed of live) {
      const kept = isTouched(listed) ? await keptOf(table.metadata, listed) : undefined;
      if (kept === undefined) {
        manifests.push(listed);
        continue;
      }
      manifests.push(
        listRewritten(table, snapshot_id, { listed, entries: kept.entries }, kept.stored),
      );
      if (listed.content === 0)
        gone.push(
          ...kept.entries
            .filter(({ status }) => status === entry_status.deleted)
            .map((entry) => ({ ...entry, spec_id: listed.partition_spec_id })),
        );
    }
    if (removed !== 'all') requireAll(removed, gone);
    return { manifests, gone };
  };
  return {
    prepare: async (table: TableState): Promise<void> => {
      await storeAdded(table.metadata);
      if (removed === 'all' || removed.size > 0) await earlierOf(table);
    },
    store: async (table: TableState, now: number): Promise<Snapshot> => {
      const earlier = await earlierOf(table);
      const listed = (await storeAdded(table.metadata)).map(([one, stored]) =>
        listAdded(table, snapshot_id, one, stored),
      );
      const { location } = table.metadata;
      const path = `${location}/metadata/snap-${snapshot_id}-0-${randomUUID()}.avro`;
      const list = manifestListOf(table, snapshot_id, [...listed, ...earlier.manifests]);
      await files.put(path, list.bytes);
      return snapshotOf(table, change, earlier.gone, { path, rows: list.rows }, now);
    },
  };
}

function storeAddedFiles(
  files: MetaFiles,
  metadata: TableMetadata,
  change: SnapshotChange,
): Promise<[AddedManifest, StoredManifest][]> {
  return Promise.all(
    addedManifests(metadata, change).map(async (one, number) => {
      const stored = await storeManifest(files, metadata, `m${number}`, one.bytes);
      return [one, stored] as [AddedManifest, StoredManifest];
    }),
  );
}

/** Stores the manifest without the removed files; undefined if it has none of them. */
async function rewriteManifest(
  files: MetaFiles,
  metadata: TableMetadata,
  listed: ListedManifest,
  { isRemoved, snapshot_id }: { isRemoved: (path: string) => boolean; snapshot_id: bigint },
): Promise<Kept> {
  const opened = openManifest(await files.read(listed.manifest_path), listed);
  const entries = withoutFiles(opened, isRemoved, snapshot_id);
  if (entries === undefined) return undefined;
  const bytes = manifestBytes(opened, entries, tracksRows(metadata));
  return { entries, stored: await storeManifest(files, metadata, 'r', bytes) };
}

async function storeManifest(
  files: MetaFiles,
  { location }: TableMetadata,
  name: string,
  bytes: Buffer,
): Promise<StoredManifest> {
  const path = `${location}/metadata/${randomUUID()}-${name}.avro`;
  await files.put(path, bytes);
  return { path, bytes: bytes.length };
}

function requireAll(removed: ReadonlySet<string>, gone: readonly { path: string }[]): void {
  const found = new Set(gone.map(({ path }) => path));
  const missing = [...removed].filter((path) => !found.has(path));
  if (missing.length > 0) throw new FilesGoneError(missing);
}
