import sql from 'sql-template-tag';
import { keepLog } from '../../../destinations/lake/delta_log/keep_log.ts';
import type { Engine } from '../../engine.ts';
import { maintainDue } from '../lease.ts';
import type { MaintainedKind } from '../lease.ts';
import type { MaintenanceResult, Round } from '../maintain.ts';
import { maintainTables } from '../work.ts';
import { compactDelta } from './compact_delta.ts';
import { openDeltaTable } from './delta_table.ts';
import type { DeltaTable } from './delta_table.ts';
import { vacuum } from './vacuum.ts';

const nothing_done: MaintenanceResult = {
  files_compacted: 0,
  files_written: 0,
  bytes_written: 0,
  manifests_merged: 0,
  snapshots_expired: 0,
  data_files_removed: 0,
  metadata_files_removed: 0,
  orphans_removed: 0,
};
const off_detail = 'Off: the table has the property `sluice.maintenance` = `false`.';

const off: Round = {
  result: nothing_done,
  detail: off_detail,
  unreadable: null,
  has_cleaned: false,
};

/**
 * The Delta tables of exports. Two processes may work on one table, because each log version is
 * written only once.
 */
export const delta_tables: MaintainedKind<DeltaTable> = {
  leases: sql`delta_maintenance`,
  key: sql`batch_export_id`,
  records: sql`batch_exports`,
  fits: sql`own.destination_type = 'Delta' AND own.deleted_at IS NULL`,
  export_id: sql`own.id`,
  open: (engine, { id, claim_id }, signal) => openDeltaTable(engine, id, claim_id, signal),
  maintain: async (table, is_daily) =>
    table.rules.is_on ? maintainDeltaTable(table, { is_daily, cleans: is_daily }) : off,
};

/** Maintains the due tables of our own catalog and then Delta tables; returns their number. */
export async function maintainLake(engine: Engine, signal: AbortSignal): Promise<number> {
  const done = await maintainTables(engine, signal);
  return done + (await maintainDeltaTables(engine, signal));
}

/** Maintains the due Delta tables of exports, and returns their number. */
export function maintainDeltaTables(engine: Engine, signal: AbortSignal): Promise<number> {
  return maintainDue(engine, delta_tables, signal);
}

/** Maintains a table; each step is complete alone. */
export async function maintainDeltaTable(
  one: DeltaTable,
  { is_daily, cleans }: { is_daily: boolean; cleans: boolean },
): Promise<Round> {
  const compacted = await compactDelta(one, is_daily);
  if (compacted.into > 0) await keepLog(one.world, one.state);
  const cleaned = cleans ? await vacuum(one) : { removed: 0, orphans: 0 };
  const result: MaintenanceResult = {
    ...nothing_done,
    files_compacted: compacted.files,
    files_written: compacted.into,
    bytes_written: compacted.bytes,
    data_files_removed: cleaned?.removed ?? 0,
    orphans_removed: cleaned?.orphans ?? 0,
  };
  return { result, detail: compacted.detail, unreadable: null, has_cleaned: cleans };
}
