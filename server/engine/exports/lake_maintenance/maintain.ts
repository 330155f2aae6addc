import { compact } from './compact.ts';
import { expireSnapshots } from './expire_snapshots.ts';
import type { MaintainedTable } from './maintained_table.ts';
import { reloaded } from './maintained_table.ts';
import { removeExpiredFiles } from './remove_expired_files.ts';
import { mergeManifests } from './rewrite_manifests.ts';
import { trimFiles } from './trim_files.ts';

/** Numbers of what a round has changed, by name. */
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

/** A round: what it changed, why something was left alone, and whether it removed files. */
export type Round = { result: MaintenanceResult; detail: string | null; has_cleaned: boolean };

/**
 * Does what a table needs: merges small files and manifests, lets snapshots expire, and, where it
 * is to clean, removes what nothing names. Each step is complete alone; after a crash between two
 * the next round continues.
 */
export async function maintainTable(
  given: MaintainedTable,
  { is_daily, cleans }: { is_daily: boolean; cleans: boolean },
): Promise<Round> {
  const compacted = await compact(given, is_daily);
  const manifests_merged = await mergeManifests(await again(given));
  const snapshots_expired = await expireSnapshots(given);
  const removed = cleans ? await removeExpiredFiles(given) : { data: 0, metadata: 0 };
  const trimmed = cleans ? await trimFiles(given) : { old_metadata: 0, orphans: 0 };
  return {
    result: {
      files_compacted: compacted.files,
      files_written: compacted.into,
      bytes_written: compacted.bytes,
      manifests_merged,
      snapshots_expired,
      data_files_removed: removed?.data ?? 0,
      metadata_files_removed: (removed?.metadata ?? 0) + trimmed.old_metadata,
      orphans_removed: trimmed.orphans,
    },
    detail: compacted.detail,
    has_cleaned: cleans && removed !== undefined,
  };
}

/** The table as it is now. */
async function again(one: MaintainedTable): Promise<MaintainedTable> {
  return { ...one, table: (await reloaded(one)) ?? one.table };
}
