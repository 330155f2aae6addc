import { randomUUID } from 'node:crypto';
import sql from 'sql-template-tag';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { isoInstant } from '../../../platform/clock.ts';
import { isLive } from '../../destinations/lake/entries.ts';
import type { Entry } from '../../destinations/lake/entries.ts';
import type { DataFile } from '../../destinations/lake/manifest.ts';
import { hasFiles, newSnapshotId } from '../../destinations/lake/snapshot_change.ts';
import type { SnapshotChange } from '../../destinations/lake/snapshot_change.ts';
import { FilesGoneError, openSnapshot } from '../../destinations/lake/store_snapshot.ts';
import { currentSchema } from '../../destinations/lake/table_metadata.ts';
import type { TableState } from '../../destinations/lake/table_metadata.ts';
import { FileBoundError } from '../../destinations/formats/parquet/parquet_bounds.ts';
import { chooseFiles } from './choose_files.ts';
import { commitHeld, metaFiles, reloaded, stateOf } from './maintained_table.ts';
import type { MaintainedTable } from './maintained_table.ts';
import { readList, readManifest } from './read_table.ts';
import { numberRows } from './rewrite_manifests.ts';
import { rewriteRows, whyUnfit } from './rewrite_rows.ts';
import { UnfitFilesError } from './rows_inputs.ts';
import type { RewrittenRows } from './rewrite_rows.ts';

/** A data file that readers see, with the spec of its partition. */
export type LiveFile = Entry & { spec_id: number };

/** Merged files, and the reasons why some were not merged. */
export type Compacted = { files: number; into: number; bytes: number; detail: string | null };

/**
 * Lists the live files of a branch or tag, in the order of history; returns a sentence if some have
 * deletes.
 */
export async function listLive(
  { files }: Pick<MaintainedTable, 'files'>,
  { parent }: TableState,
): Promise<LiveFile[] | string> {
  if (parent === undefined) return [];
  const listed = await readList(files, parent['manifest-list']);
  const live: LiveFile[] = [];
  for (const manifest of listed.filter(hasFiles)) {
    if (manifest.content !== 0) return 'Another writer has added delete files.';
    const { entries } = await readManifest(files, manifest);
    for (const entry of entries.filter(isLive))
      live.push({ ...entry, spec_id: manifest.partition_spec_id });
  }
  // A stable sort: files of one commit keep the order of their manifest.
  return live.toSorted((a, b) => Number(a.sequence_number - b.sequence_number));
}

/**
 * Merges small data files into large ones, partition by partition, and commits each group
 * separately. Guarantees: the rows stay the same, compared before the commit. They keep the order
 * of the table, or otherwise of history. A concurrent commit stays, and one that replaced a file of
 * the group wins.
 */
export async function compact(one: MaintainedTable, is_daily: boolean): Promise<Compacted> {
  const done: Compacted = { files: 0, into: 0, bytes: 0, detail: null };
  const { engine, rules, signal } = one;
  const why = whyUnfit(currentSchema((await stateOf(engine.db, one.table)).metadata));
  if (why !== undefined) return { ...done, detail: why };
  await numberRows(one, 'main');
  const state = await stateOf(engine.db, (await reloaded(one)) ?? one.table);
  const live = await listLive(one, state);
  if (typeof live === 'string') return { ...done, detail: live };
  const by_partition = Map.groupBy(live, partitionOf).values();
  for (const own of by_partition)
    for (const group of chooseFiles(own, rules, is_daily)) {
      if (signal.aborted) return done;
      try {
        const bytes = await compactGroup(one, state, group);
        if (bytes === undefined) continue;
        done.files += group.length;
        done.into += 1;
        done.bytes += bytes;
      } catch (error) {
        if (!(error instanceof UnfitFilesError || error instanceof FileBoundError)) throw error;
        done.detail = error.message;
      }
    }
  return done;
}

function partitionOf({ spec_id, partition }: LiveFile): string {
  return `${spec_id} ${JSON.stringify(partition.map((value) => [typeof value, String(value)]))}`;
}

async function compactGroup(
  one: MaintainedTable,
  state: TableState,
  group: LiveFile[],
): Promise<number | undefined> {
  const rows = await rewriteRows(one, { metadata: state.metadata, sources: group });
  const change: SnapshotChange = {
    snapshot_id: newSnapshotId(),
    operation: 'replace',
    added: [],
    removed: new Set(group.map(({ path }) => path)),
    summary: { 'sluice.maintenance': 'compaction' },
  };
  const stored = await storeRows(one, group, rows);
  if (stored !== undefined) change.added.push(stored);
  const is_done = await replaceFiles(one, state, 'main', change, (tx) =>
    noteReplaced(one, tx, group, rows, stored?.path ?? null),
  );
  // The commit was refused, so nothing names the file.
  if (!is_done && stored !== undefined) await one.files.remove(stored.path);
  return is_done ? (stored?.bytes ?? 0) : undefined;
}

/** Stores the rows of some files of one partition as a new file; undefined if no row is left. */
export async function storeRows(
  { table, files }: MaintainedTable,
  [first]: LiveFile[],
  { records, sort_order_id, file }: RewrittenRows,
): Promise<DataFile | undefined> {
  if (file === undefined) return undefined;
  const path = `${table.location}/data/compacted/compacted-${randomUUID()}.parquet`;
  await files.put(path, file.bytes);
  return {
    path,
    records,
    bytes: file.bytes.length,
    partition: first!.partition,
    statistics: file.statistics,
    spec_id: first!.spec_id,
    sort_order_id,
  };
}

/**
 * Commits a change of files to a branch or tag, in one transaction with the writes of `also`.
 * False, with nothing changed, if another writer first changed one of the files or added deletes
 * that the new file would escape.
 */
export async function replaceFiles(
  one: MaintainedTable,
  state: TableState,
  ref_name: string,
  change: SnapshotChange,
  also: (tx: Transaction) => Promise<void>,
): Promise<boolean> {
  const { engine, files } = one;
  const snapshot = openSnapshot(metaFiles(files), change);
  try {
    await snapshot.prepare(state);
    return await commitHeld(
      one,
      async (held, tx) => {
        const now = await stateOf(tx, held, ref_name);
        const ref = held.metadata.refs[ref_name];
        if (now.parent === undefined || ref === undefined || (await hasDeletes(one, now)))
          return [];
        // The files lack the row ids of an upgraded table.
        if (now.metadata['format-version'] !== state.metadata['format-version']) return [];
        return [
          { action: 'add-snapshot', snapshot: await snapshot.store(now, engine.clock.now()) },
          {
            action: 'set-snapshot-ref',
            'ref-name': ref_name,
            ...ref,
            'snapshot-id': change.snapshot_id,
          },
        ];
      },
      also,
    );
  } catch (error) {
    if (error instanceof FilesGoneError) return false;
    throw error;
  }
}

/** Equality deletes only apply to older files: rows in a newer file would reappear. */
async function hasDeletes({ files }: MaintainedTable, { parent }: TableState): Promise<boolean> {
  const listed = await readList(files, parent!['manifest-list']);
  return listed.some((manifest) => manifest.content !== 0 && hasFiles(manifest));
}

/**
 * Records which file now holds the rows of files that receipts name, including files that were
 * merged before.
 */
export async function noteReplaced(
  { engine, table }: MaintainedTable,
  tx: Transaction,
  sources: readonly { path: string; records: number }[],
  { records, file }: RewrittenRows,
  successor: string | null,
): Promise<void> {
  const now = isoInstant(engine.clock.now());
  const paths = sources.map(({ path }) => path);
  const before = sources.reduce((sum, one) => sum + one.records, 0);
  await tx.run(sql`UPDATE lake_replaced_files SET successor = ${successor},
      replaced_at = ${now}::timestamptz
    WHERE table_id = ${table.id}::uuid AND successor = ANY (${paths}::text[])`);
  await tx.run(sql`
    INSERT INTO lake_replaced_files (table_id, path, successor, records, replaced_at)
    SELECT ${table.id}::uuid, one.path, ${successor}, one.records, ${now}::timestamptz
    FROM unnest(${paths}::text[], ${sources.map((one) => one.records)}::bigint[])
      AS one (path, records)
    WHERE NOT EXISTS (SELECT 1 FROM lake_successors own
      WHERE own.table_id = ${table.id}::uuid AND own.path = one.path)
    ON CONFLICT (table_id, path) DO NOTHING`);
  const gone = await tx.rows<{ erased: number }>(sql`
    DELETE FROM lake_successors WHERE table_id = ${table.id}::uuid
      AND path = ANY (${paths}::text[]) RETURNING erased`);
  const erased = gone.reduce((sum, one) => sum + one.erased, before - records);
  if (successor !== null)
    await tx.run(sql`INSERT INTO lake_successors (table_id, path, records, erased, bytes, sha256)
      VALUES (${table.id}::uuid, ${successor}, ${records}, ${erased}, ${file!.bytes.length},
        ${file!.sha256})`);
}
