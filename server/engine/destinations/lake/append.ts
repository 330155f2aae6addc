import { randomBytes } from 'node:crypto';
import { writeManifest } from './manifest.ts';
import type { DataFile } from './manifest.ts';
import { writeManifestList } from './manifest_list.ts';
import type { ListedManifest } from './manifest_list.ts';
import { currentSchema, currentSpec } from './table_metadata.ts';
import type { Snapshot, TableMetadata, TableState } from './table_metadata.ts';

/** Returns a random id for a snapshot: positive, of 63 bits, as other writers choose them. */
export function newSnapshotId(): bigint {
  const id = randomBytes(8).readBigUInt64BE() >> 1n;
  return id === 0n ? newSnapshotId() : id;
}

/** Files to add in one snapshot. `summary` has keys of our own for it. */
export type Append = {
  snapshot_id: bigint;
  files: DataFile[];
  summary: Record<string, string>;
};

/** A manifest that is stored: its full URI and its length in bytes. */
export type StoredManifest = { path: string; bytes: number };

/** Returns the bytes of the manifest of an append. They do not depend on the parent. */
export function manifestOf(metadata: TableMetadata, { snapshot_id, files }: Append): Buffer {
  const layout = { schema: currentSchema(metadata), spec: currentSpec(metadata) };
  return writeManifest(layout, snapshot_id, files);
}

/** Returns the bytes of the manifest list of an append; `earlier` are the parent's manifests. */
export function manifestListOf(
  table: TableState,
  { snapshot_id, files }: Append,
  manifest: StoredManifest,
  earlier: ListedManifest[],
): Buffer {
  const sequence_number = nextSequenceNumber(table);
  const parent = table.parent?.['snapshot-id'];
  const spec = currentSpec(table.metadata);
  const added: ListedManifest = {
    manifest_path: manifest.path,
    manifest_length: BigInt(manifest.bytes),
    partition_spec_id: spec['spec-id'],
    content: 0,
    sequence_number,
    min_sequence_number: sequence_number,
    added_snapshot_id: snapshot_id,
    added_files_count: files.length,
    existing_files_count: 0,
    deleted_files_count: 0,
    added_rows_count: BigInt(recordsIn(files)),
    existing_rows_count: 0n,
    deleted_rows_count: 0n,
    // An older DuckDB needs the field, also of a table without partitions.
    partitions: spec.fields.length === 0 ? [] : null,
    key_metadata: null,
  };
  return writeManifestList(
    { id: snapshot_id, parent_id: parent === undefined ? null : BigInt(parent), sequence_number },
    [added, ...earlier],
  );
}

/** Returns the snapshot of an append. `now` is in milliseconds. */
export function snapshotOf(
  table: TableState,
  append: Append,
  manifest_list: string,
  now: number,
): Snapshot {
  const { parent } = table;
  return {
    'snapshot-id': append.snapshot_id,
    ...(parent === undefined ? {} : { 'parent-snapshot-id': parent['snapshot-id'] }),
    'sequence-number': Number(nextSequenceNumber(table)),
    // Clocks differ; a snapshot is never older than its parent.
    'timestamp-ms': Math.max(now, (parent?.['timestamp-ms'] ?? 0) + 1),
    'manifest-list': manifest_list,
    summary: { operation: 'append', ...append.summary, ...countsOf(append.files, parent) },
    'schema-id': table.metadata['current-schema-id'],
  };
}

function nextSequenceNumber({ metadata }: TableState): bigint {
  return BigInt(metadata['last-sequence-number']) + 1n;
}

function recordsIn(files: DataFile[]): number {
  return files.reduce((sum, { records }) => sum + records, 0);
}

/** A total that the parent does not say stays unknown. */
function countsOf(files: DataFile[], parent: Snapshot | undefined): Record<string, string> {
  const records = recordsIn(files);
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const totals = {
    'total-data-files': files.length,
    'total-records': records,
    'total-files-size': bytes,
    'total-delete-files': 0,
    'total-position-deletes': 0,
    'total-equality-deletes': 0,
  };
  const carried = Object.entries(totals).flatMap(([name, added]) => {
    const before = parent === undefined ? '0' : parent.summary[name];
    return before === undefined ? [] : [[name, String(BigInt(before) + BigInt(added))]];
  });
  const partitions = new Set(files.map(({ partition }) => String(partition)));
  return {
    'added-data-files': String(files.length),
    'added-records': String(records),
    'added-files-size': String(bytes),
    'changed-partition-count': String(partitions.size),
    ...Object.fromEntries(carried),
  };
}
