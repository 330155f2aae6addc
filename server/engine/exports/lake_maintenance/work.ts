import sql from 'sql-template-tag';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { maintenance_property } from '../../model/lake_catalog/tables.ts';
import { writeNotice } from '../../notices/write_notice.ts';
import type { Engine } from '../engine.ts';
import { maintainDue } from './lease.ts';
import type { MaintainedKind } from './lease.ts';
import { maintainTable } from './maintain.ts';
import type { Round } from './maintain.ts';
import { openMaintainedTable } from './maintained_table.ts';
import type { MaintainedTable } from './maintained_table.ts';
import { isMaintained } from './rules.ts';

/** The tables of our own catalog that have an export or a maintenance property. */
export const lake_tables: MaintainedKind<MaintainedTable> = {
  leases: sql`lake_maintenance`,
  key: sql`table_id`,
  records: sql`lake_tables`,
  fits: sql`(own.batch_export_id IS NOT NULL
    OR strpos(own.metadata, ${JSON.stringify(maintenance_property)}) > 0
    OR EXISTS (SELECT 1 FROM lake_namespaces n WHERE n.id = own.namespace_id
      AND n.properties ? ${maintenance_property}))`,
  export_id: sql`own.batch_export_id`,
  open: (engine, claim, signal) => openMaintainedTable(engine, claim, signal, claim.claim_id),
  maintain: async (one, is_daily) =>
    isMaintained(one.table) ? maintainTable(one, { is_daily, cleans: is_daily }) : undefined,
  tell: tellUnreadable,
};

/** Maintains the due tables of our own catalog, and returns their number. */
export function maintainTables(engine: Engine, signal: AbortSignal): Promise<number> {
  return maintainDue(engine, lake_tables, signal);
}

/** Writes a notice about unreadable files, once for the same set. */
async function tellUnreadable(
  tx: Transaction,
  { clock }: Engine,
  table_id: string,
  { unreadable }: Round,
): Promise<void> {
  // Locks the export's row first, as `writeNotices` requires.
  const found = await tx.row<{ id: string; told: string | null; table: string }>(sql`
    SELECT e.id, m.told, array_to_string(n.levels || t.name, '.') AS "table"
    FROM lake_tables t JOIN lake_namespaces n ON n.id = t.namespace_id
    JOIN lake_maintenance m ON m.table_id = t.id
    JOIN batch_exports e ON e.id = t.batch_export_id AND e.deleted_at IS NULL
    WHERE t.id = ${table_id}::uuid AND ${unreadable !== null} FOR UPDATE OF e`);
  await tx.run(sql`UPDATE lake_maintenance SET told = ${unreadable}
    WHERE table_id = ${table_id}::uuid`);
  if (found === undefined || found.told === unreadable) return;
  await writeNotice(tx, clock, found.id, {
    event: 'table_unreadable',
    detail:
      `${unreadable} Files of the table ${found.table} are neither merged nor removed ` +
      'until no snapshot names that file.',
    run: null,
    facts: { table: found.table },
  });
}
