import type { Database } from '../../../platform/postgres/database.ts';

/** Tables of the control store that may name persons and lose rows with a deleted project. */
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
 * Vacuums tables, so that their files lose the deleted rows. Rows that a transaction may still see
 * wait for autovacuum.
 */
export async function vacuum(db: Database, tables: readonly string[]): Promise<void> {
  for (const table of tables) await db.text(`VACUUM ${table}`);
}
