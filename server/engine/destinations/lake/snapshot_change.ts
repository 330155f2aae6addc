import { randomBytes } from 'node:crypto';
import { countsOf, entry_status, isLive } from './entries.ts';
import type { Entry, OpenedManifest } from './entries.ts';
import { writeManifest } from './manifest.ts';
import type { DataFile } from './manifest.ts';
import { numbered, writeManifestList } from './manifest_list.ts';
import type { ListedManifest } from './manifest_list.ts';
import { partitionSummaries, partitionText } from './partition_types.ts';
import { currentSchema, currentSpec, specOf, tracksRows } from './table_metadata.ts';
import type { Long, Snapshot, TableMetadata, TableState } from './table_metadata.ts';

/** Returns a random id for a snapshot: positive, of 63 bits, as other writers choose them. */
export function newSnapshotId(): bigint {
  const id = randomBytes(8).readBigUInt64BE() >> 1n;
  return id === 0n ? newSnapshotId() : id;
}

/**
 * The files that a snapshot adds and removes. `replace`: the rows stay the same. With `all`, every
 * file leaves, including delete files. `summary` has our own keys.
 */
export type SnapshotChange = {
  snapshot_id: bigint;
  operation: 'append' | 'overwrite' | 'replace' | 'delete';
  added: DataFile[];
  removed: ReadonlySet<string> | 'all';
  summary: Record<string, string>;
};

/** A manifest of added files, before it is stored. */
export type AddedManifest = { spec_id: number; files: DataFile[]; bytes: Buffer };

/**
 * Returns the manifests of the files that a change adds, one for each spec. They do not depend on
 * the parent: their entries inherit its sequence number.
 */
export function addedManifests(
  metadata: TableMetadata,
  { snapshot_id, added }: Pick<SnapshotChange, 'snapshot_id' | 'added'>,
): AddedManifest[] {
  const schema = currentSchema(metadata);
  const usual = currentSpec(metadata)['spec-id'];
  const by_spec = Map.groupBy(added, ({ spec_id = usual }) => spec_id);
  return [...by_spec].map(([spec_id, files]) => ({
    spec_id,
    files,
    bytes: writeManifest(
      { schema, spec: specOf(metadata, spec_id), tracks_rows: tracksRows(metadata) },
      snapshot_id,
      files,
    ),
  }));
}

/** A stored manifest: its full URI and its length in bytes. */
export type StoredManifest = { path: string; bytes: number };

/** Returns a manifest of added files for the list of the table's next snapshot. */
export function listAdded(
  { metadata }: TableState,
  snapshot_id: bigint,
  { spec_id, files }: Omit<AddedManifest, 'bytes'>,
  stored: StoredManifest,
): ListedManifest {
  const sequence_number = nextSequenceNumber(metadata);
  const partitions = files.map(({ partition }) => partition);
  const added = files.map(({ records }) => ({ status: entry_status.added, records }));
  return {
    ...countsOf(added),
    manifest_path: stored.path,
    manifest_length: BigInt(stored.bytes),
    partition_spec_id: spec_id,
    content: 0,
    sequence_number,
    min_sequence_number: sequence_number,
    added_snapshot_id: snapshot_id,
    // An older DuckDB needs the field, also for a table without partitions.
    partitions: partitionSummaries(currentSchema(metadata), specOf(metadata, spec_id), partitions),
    key_metadata: null,
    first_row_id: null,
  };
}

/**
 * Returns the entries of a manifest after some of its files were removed; undefined if it has none
 * of them. Omits files that left earlier. Newly removed files come last: readers disagree on
 * whether these count for inherited row ids.
 */
export function withoutFiles(
  { entries }: OpenedManifest,
  isRemoved: (path: string) => boolean,
  snapshot_id: bigint,
): Entry[] | undefined {
  const live = entries.filter(isLive);
  if (!live.some(({ path }) => isRemoved(path))) return undefined;
  const [gone, kept] = [true, false].map((is_gone) =>
    live.filter(({ path }) => isRemoved(path) === is_gone),
  );
  return [
    ...kept!.map((entry) => ({ ...entry, status: entry_status.existing })),
    ...gone!.map((entry) => ({ ...entry, status: entry_status.deleted, snapshot_id })),
  ];
}

/**
 * Returns a rewritten manifest for the list of the next snapshot. The bounds of its partitions
 * stay: they also hold for a part of its files.
 */
export function listRewritten(
  { metadata }: TableState,
  snapshot_id: bigint,
  { listed, entries }: { listed: ListedManifest; entries: readonly Entry[] },
  stored: StoredManifest,
): ListedManifest {
  const sequences = entries.map(({ sequence_number }) => sequence_number);
  return {
    ...listed,
    ...countsOf(entries),
    manifest_path: stored.path,
    manifest_length: BigInt(stored.bytes),
    sequence_number: nextSequenceNumber(metadata),
    min_sequence_number: sequences.reduce((one, other) => (other < one ? other : one)),
    added_snapshot_id: snapshot_id,
    first_row_id: null,
    unnumbered_rows: unnumberedRows(entries),
  };
}

/** Returns the number of rows in entries that inherit their ids from the list. */
export function unnumberedRows(entries: readonly Entry[]): bigint {
  return entries
    .filter((entry) => isLive(entry) && entry.first_row_id === null)
    .reduce((sum, { records }) => sum + BigInt(records), 0n);
}

/** Returns true if the table has a file of the manifest. Otherwise later lists omit it. */
export function hasFiles(listed: ListedManifest): boolean {
  return listed.added_files_count !== 0 || listed.existing_files_count !== 0;
}

/** A manifest list, and its row ids: the first one, and the most that it uses. */
export type WrittenList = {
  bytes: Buffer;
  rows?: { 'first-row-id': Long; 'added-rows': Long };
};

/**
 * Returns the manifest list of the next snapshot of a table. In format version 3, it assigns row
 * ids to every manifest without them, also to files from before the upgrade of the table.
 */
export function manifestListOf(
  { metadata, parent }: TableState,
  snapshot_id: bigint,
  manifests: ListedManifest[],
): WrittenList {
  const parent_id = parent === undefined ? null : BigInt(parent['snapshot-id']);
  const snapshot = {
    id: snapshot_id,
    parent_id,
    sequence_number: nextSequenceNumber(metadata),
  };
  if (!tracksRows(metadata)) return { bytes: writeManifestList(snapshot, manifests) };
  const first_row_id = BigInt(metadata['next-row-id'] ?? 0);
  const { listed, next } = numbered(manifests, first_row_id);
  return {
    bytes: writeManifestList({ ...snapshot, first_row_id }, listed),
    rows: { 'first-row-id': exact(first_row_id), 'added-rows': exact(next - first_row_id) },
  };
}

const exact = (value: bigint): Long =>
  value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;

/** The counts of a removed file for the summary of a snapshot. */
export type RemovedFile = Pick<Entry, 'records' | 'bytes' | 'partition'> & { spec_id: number };

/**
 * Returns the snapshot of a change; `gone` are the data files that it removes. `now` is in
 * milliseconds.
 */
export function snapshotOf(
  table: TableState,
  change: SnapshotChange,
  gone: readonly RemovedFile[],
  list: { path: string; rows?: WrittenList['rows'] },
  now: number,
): Snapshot {
  const { metadata, parent } = table;
  const { operation, summary } = change;
  return {
    'snapshot-id': change.snapshot_id,
    ...(parent === undefined ? {} : { 'parent-snapshot-id': parent['snapshot-id'] }),
    'sequence-number': Number(nextSequenceNumber(metadata)),
    // Clocks differ; a snapshot is never older than its parent.
    'timestamp-ms': Math.max(now, (parent?.['timestamp-ms'] ?? 0) + 1),
    'manifest-list': list.path,
    summary: { operation, ...summary, ...totalsOf(table, change, gone) },
    'schema-id': metadata['current-schema-id'],
    ...list.rows,
  };
}

function nextSequenceNumber(metadata: TableMetadata): bigint {
  return BigInt(metadata['last-sequence-number']) + 1n;
}

type Counted = { records: number; bytes: number };

function sumOf(files: readonly Counted[], name: keyof Counted): number {
  return files.reduce((sum, file) => sum + file[name], 0);
}

/** A total that the parent lacks stays unknown, unless nothing of the parent is left. */
function totalsOf(
  { metadata, parent }: TableState,
  { added, removed }: SnapshotChange,
  gone: readonly RemovedFile[],
): Record<string, string> {
  const usual = metadata['default-spec-id'];
  const partitions = new Set(
    [...added, ...gone].map(
      ({ spec_id = usual, partition }) => `${spec_id} ${partitionText(partition)}`,
    ),
  );
  const isNew = parent === undefined || removed === 'all';
  const total = (name: string, plus: number, minus: number): [string, string][] => {
    if (isNew) return [[name, String(plus)]];
    const before = parent.summary[name];
    return before === undefined ? [] : [[name, String(BigInt(before) + BigInt(plus - minus))]];
  };
  const [records, bytes] = [sumOf(added, 'records'), sumOf(added, 'bytes')];
  const left = { records: sumOf(gone, 'records'), bytes: sumOf(gone, 'bytes') };
  return {
    ...(added.length === 0
      ? {}
      : {
          'added-data-files': String(added.length),
          'added-records': String(records),
          'added-files-size': String(bytes),
        }),
    ...(gone.length === 0
      ? {}
      : {
          'deleted-data-files': String(gone.length),
          'deleted-records': String(left.records),
          'removed-files-size': String(left.bytes),
        }),
    'changed-partition-count': String(partitions.size),
    ...Object.fromEntries([
      ...total('total-data-files', added.length, gone.length),
      ...total('total-records', records, left.records),
      ...total('total-files-size', bytes, left.bytes),
      ...total('total-delete-files', 0, 0),
      ...total('total-position-deletes', 0, 0),
      ...total('total-equality-deletes', 0, 0),
    ]),
  };
}
