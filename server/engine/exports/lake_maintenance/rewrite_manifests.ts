import { randomUUID } from 'node:crypto';
import { countsOf, entry_status, isLive, manifestBytes } from '../../destinations/lake/entries.ts';
import type { Entry, OpenedManifest } from '../../destinations/lake/entries.ts';
import type { ListedManifest } from '../../destinations/lake/manifest_list.ts';
import { partitionSummaries } from '../../destinations/lake/partition_types.ts';
import {
  hasFiles,
  manifestListOf,
  newSnapshotId,
  snapshotOf,
  unnumberedRows,
} from '../../destinations/lake/snapshot_change.ts';
import { currentSchema, specOf, tracksRows } from '../../destinations/lake/table_metadata.ts';
import type { TableMetadata, TableState } from '../../destinations/lake/table_metadata.ts';
import { commitHeld, reloaded, stateOf } from './maintained_table.ts';
import type { MaintainedTable } from './maintained_table.ts';
import { readList, readManifest } from './read_table.ts';

/** Manifests of one spec to merge; the result has no entries of removed files. */
type Group = readonly ListedManifest[];
type Merged = {
  opened: OpenedManifest;
  entries: Entry[];
  path: string;
  bytes: number;
  /** Partition bounds that hold for these entries; undefined: they must be computed again. */
  partitions: ListedManifest['partitions'] | undefined;
};

/** Types of partition fields whose bounds this server can compute. */
const bounded_types = new Set(['string', 'long', 'boolean']);
const bounded_transforms = /^(?:day|hour|bucket\[\d+\])$/;

/**
 * Merges the small manifests of the current snapshot, once there are many, in one snapshot with the
 * same files; files of one partition become neighbours. Returns the number of replaced manifests.
 */
export async function mergeManifests(one: MaintainedTable): Promise<number> {
  const { manifests_min, manifest_bytes } = one.rules;
  const { metadata, parent } = await stateOf(one.engine.db, one.table);
  if (parent === undefined) return 0;
  const listed = await readList(one.files, parent['manifest-list']);
  const small = listed.filter(
    ({ content, manifest_length, partition_spec_id }) =>
      content === 0 &&
      manifest_length < BigInt(manifest_bytes) / 2n &&
      isBounded(metadata, partition_spec_id),
  );
  if (small.length < manifests_min) return 0;
  const by_spec = [...Map.groupBy(small, (listing) => listing.partition_spec_id).values()];
  const groups = by_spec.flatMap((of_spec) => chunksOf(of_spec, manifest_bytes));
  return rewriteManifests(one, 'main', groups);
}

/** Splits manifests into chunks of a total size, in the order of the table's history. */
function chunksOf(listed: ListedManifest[], bytes_max: number): Group[] {
  const chunks: ListedManifest[][] = [];
  let bytes = Infinity;
  for (const one of listed.toSorted((a, b) => (a.sequence_number < b.sequence_number ? -1 : 1))) {
    bytes += Number(one.manifest_length);
    if (bytes > bytes_max) {
      chunks.push([]);
      bytes = Number(one.manifest_length);
    }
    chunks.at(-1)!.push(one);
  }
  return chunks.filter((chunk) => chunk.length > 1);
}

function isBounded(metadata: TableMetadata, spec_id: number): boolean {
  const spec = metadata['partition-specs'].find((one) => one['spec-id'] === spec_id);
  const { fields } = currentSchema(metadata);
  return (
    spec !== undefined &&
    spec.fields.every(({ transform, ...field }) => {
      const type = fields.find(({ id }) => id === field['source-id'])?.type;
      if (transform === 'identity') return bounded_types.has(String(type));
      return type !== undefined && bounded_transforms.test(transform);
    })
  );
}

/**
 * Writes each group as one manifest and commits them in place of the old ones, on a branch or tag.
 * Guarantee: the table keeps the same files. A concurrent commit stays; if it changed one of these
 * manifests, it wins and nothing is changed. Returns the number of replaced manifests.
 */
export async function rewriteManifests(
  one: MaintainedTable,
  ref_name: string,
  groups: readonly Group[],
): Promise<number> {
  if (groups.length === 0) return 0;
  const snapshot_id = newSnapshotId();
  const merged: Merged[] = [];
  for (const group of groups) merged.push(...(await mergedOf(one, group)));
  const gone = new Set(groups.flatMap((group) => group.map((listed) => listed.manifest_path)));
  const is_done = await commitHeld(one, async (held, tx) => {
    const state = await stateOf(tx, held, ref_name);
    const ref = held.metadata.refs[ref_name];
    if (state.parent === undefined || ref === undefined) return [];
    const now = await readList(one.files, state.parent['manifest-list']);
    const kept = now.filter((listed) => hasFiles(listed) && !gone.has(listed.manifest_path));
    const found = now.filter((listed) => gone.has(listed.manifest_path));
    if (found.length !== gone.size || found.some((listed) => isNumberedSince(listed, groups)))
      return [];
    const manifests = [
      ...merged
        .filter(({ entries }) => entries.length > 0)
        .map((manifest) => listMerged(state, snapshot_id, manifest)),
      ...kept,
    ];
    const path = `${held.location}/metadata/snap-${snapshot_id}-0-${randomUUID()}.avro`;
    const list = manifestListOf(state, snapshot_id, manifests);
    await one.files.put(path, list.bytes);
    const change = {
      snapshot_id,
      operation: 'replace' as const,
      added: [],
      removed: new Set<string>(),
      summary: {
        'sluice.maintenance': 'manifests',
        'manifests-created': String(merged.length),
        'manifests-replaced': String(gone.size),
        'manifests-kept': String(kept.length),
      },
    };
    const written = { path, rows: list.rows };
    const snapshot = snapshotOf(state, change, [], written, one.engine.clock.now());
    return [
      { action: 'add-snapshot', snapshot },
      { action: 'set-snapshot-ref', 'ref-name': ref_name, ...ref, 'snapshot-id': snapshot_id },
    ];
  });
  return is_done ? gone.size : 0;
}

/** Returns true if rows of the manifest got ids since it was read. */
function isNumberedSince(listed: ListedManifest, groups: readonly Group[]): boolean {
  const before = groups.flat().find((one) => one.manifest_path === listed.manifest_path);
  return before?.first_row_id !== listed.first_row_id;
}

/**
 * Assigns ids to the rows of an upgraded branch or tag that was not changed since: otherwise the
 * copy of a row would get a different id.
 */
export async function numberRows(one: MaintainedTable, ref_name: string): Promise<void> {
  const table = await reloaded(one);
  if (table === undefined || !tracksRows(table.metadata)) return;
  const { parent } = await stateOf(one.engine.db, table, ref_name);
  const listed = parent === undefined ? [] : await readList(one.files, parent['manifest-list']);
  const first = listed.find(
    (manifest) => manifest.content === 0 && hasFiles(manifest) && manifest.first_row_id === null,
  );
  if (first !== undefined) await rewriteManifests({ ...one, table }, ref_name, [[first]]);
}

/** Writes one manifest for each Avro schema that writers have used in the group. */
async function mergedOf({ files, table }: MaintainedTable, group: Group): Promise<Merged[]> {
  const opened: OpenedManifest[] = [];
  for (const listed of group) opened.push(await readManifest(files, listed));
  const by_form = Map.groupBy(opened, ({ schema }) => JSON.stringify(schema));
  const merged: Merged[] = [];
  for (const same of by_form.values()) {
    const latest = same.at(-1)!;
    const entries = inPartitions(same.flatMap((manifest) => manifest.entries.filter(isLive)));
    const bytes = manifestBytes(latest, entries, tracksRows(table.metadata));
    const path = `${table.location}/metadata/${randomUUID()}-r.avro`;
    if (entries.length > 0) await files.put(path, bytes);
    // The bounds of one manifest also hold for a part of its files.
    const partitions = group.length === 1 ? group[0]!.partitions : undefined;
    merged.push({ opened: latest, entries, path, bytes: bytes.length, partitions });
  }
  return merged;
}

/** Returns existing entries grouped by partition, in their order. */
function inPartitions(entries: Entry[]): Entry[] {
  const by_partition = [...Map.groupBy(entries, ({ partition }) => partition.join('\u0000'))];
  return by_partition
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, own]) => own)
    .map((entry) => ({ ...entry, status: entry_status.existing }));
}

function listMerged(
  { metadata }: TableState,
  snapshot_id: bigint,
  { opened, entries, path, bytes, partitions }: Merged,
): ListedManifest {
  const numbers = entries.map(({ sequence_number }) => sequence_number);
  const summaries = () =>
    partitionSummaries(
      currentSchema(metadata),
      specOf(metadata, opened.spec_id),
      entries.map(({ partition }) => partition),
    );
  return {
    ...countsOf(entries),
    manifest_path: path,
    manifest_length: BigInt(bytes),
    partition_spec_id: opened.spec_id,
    content: 0,
    sequence_number: BigInt(metadata['last-sequence-number']) + 1n,
    min_sequence_number: numbers.reduce((a, b) => (b < a ? b : a)),
    added_snapshot_id: snapshot_id,
    partitions: partitions === undefined ? summaries() : partitions,
    key_metadata: null,
    first_row_id: null,
    unnumbered_rows: unnumberedRows(entries),
  };
}
