import { compact } from './compact.ts';
import { expireSnapshots } from './expire_snapshots.ts';
import { UnreadableFileError } from '../../model/destination/table_files.ts';
import type { MaintainedTable } from './maintained_table.ts';
import { reloaded } from './maintained_table.ts';
import { removeExpiredFiles } from './remove_expired_files.ts';
import { mergeManifests } from './rewrite_manifests.ts';
import { trimFiles } from './trim_files.ts';

/** Numbers of a round's changes, by name. */
export type MaintenanceResult = {
  files_compacted: number;
  files_written: number;
  bytes_written: number;
  manifests_merged: number;
  snapshots_expired: number;
  data_files_removed: number;
  metadata_files_removed: number;
  orphans_removed: number;
};

/**
 * A round: its changes, reasons for skipped work, unreadable files of the table, and whether it
 * removed files.
 */
export type Round = {
  result: MaintenanceResult;
  detail: string | null;
  unreadable: string | null;
  has_cleaned: boolean;
};

/**
 * Maintains a table: merges small files and manifests, expires snapshots and, if requested, removes
 * files that nothing names. Each step is complete alone; after a crash between two, the next round
 * continues. A manifest that a client has damaged only stops the steps that need it.
 */
export async function maintainTable(
  given: MaintainedTable,
  { is_daily, cleans }: { is_daily: boolean; cleans: boolean },
): Promise<Round> {
  const unreadable = new Set<string>();
  const tryOut = async <Result>(work: () => Promise<Result>): Promise<Result | undefined> => {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof UnreadableFileError)) throw error;
      unreadable.add(error.message);
      return undefined;
    }
  };
  const compacted = await tryOut(() => compact(given, is_daily));
  const manifests_merged = await tryOut(async () => mergeManifests(await again(given)));
  const snapshots_expired = await expireSnapshots(given);
  const removed = cleans ? await tryOut(() => removeExpiredFiles(given)) : undefined;
  const trimmed = cleans ? await tryOut(() => trimFiles(given)) : undefined;
  return {
    result: {
      files_compacted: compacted?.files ?? 0,
      files_written: compacted?.into ?? 0,
      bytes_written: compacted?.bytes ?? 0,
      manifests_merged: manifests_merged ?? 0,
      snapshots_expired,
      data_files_removed: removed?.data ?? 0,
      metadata_files_removed: (removed?.metadata ?? 0) + (trimmed?.old_metadata ?? 0),
      orphans_removed: trimmed?.orphans ?? 0,
    },
    detail: compacted?.detail ?? null,
    unreadable: unreadable.size === 0 ? null : [...unreadable].join(' '),
    has_cleaned: removed !== undefined && trimmed !== undefined,
  };
}

/** Reads the current table. */
async function again(one: MaintainedTable): Promise<MaintainedTable> {
  return { ...one, table: (await reloaded(one)) ?? one.table };
}
