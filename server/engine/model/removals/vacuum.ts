import type { Database } from '../../../platform/postgres/database.ts';

/** Tables of the control store that a deleted project takes along and that may name persons. */
export const project_tables = [
  'batch_export_backfills',
  'batch_export_logs',
  'batch_export_runs',
  'batch_export_slices',
  'batch_exports',
  'erased_ids',
  'event_catalogue',
  'event_catalogue_days',
  'event_catalogue_groups',
  'event_catalogue_properties',
  'ingestion_warnings',
  'notices',
  'plugin_cache',
  'plugin_configs',
  'plugin_jobs',
  'plugin_logs',
  'plugin_set_aside',
  'plugin_storage',
  'plugin_waiting',
  'projects',
  'refused_events',
] as const;

/**
 * Clears dead rows out of tables, so that their files do not keep what is gone. Rows that a
 * transaction may still see stay for the store's own cleaning.
 */
export async function vacuum(db: Database, tables: readonly string[]): Promise<void> {
  for (const table of tables) await db.text(`VACUUM ${table}`);
}
