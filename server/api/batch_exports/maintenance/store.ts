import sql from 'sql-template-tag';
import type { Queryable } from '../../../platform/postgres/database.ts';
import type { ExportMaintenance } from './schema.ts';

/** Reads the maintenance of the table of an export. */
export async function getExportMaintenance(db: Queryable, id: string): Promise<ExportMaintenance> {
  const row = await db.row<ExportMaintenance>(sql`SELECT CASE WHEN export.destination_type = 'Delta'
        THEN coalesce(m.due_at, now()) END AS due_at, m.finished_at, m.changed_at,
      coalesce(m.result, '{}') AS changes, m.detail
    FROM batch_exports export LEFT JOIN delta_maintenance m ON m.batch_export_id = export.id
    WHERE export.id = ${id}::uuid`);
  return row!;
}

/** Lets the next round at the table of an export start now, with the removal of old files. */
export async function maintainExportNow(db: Queryable, id: string): Promise<void> {
  await db.run(sql`INSERT INTO delta_maintenance (batch_export_id) VALUES (${id}::uuid)
    ON CONFLICT (batch_export_id) DO UPDATE SET due_at = now(), cleaned_at = NULL`);
}
