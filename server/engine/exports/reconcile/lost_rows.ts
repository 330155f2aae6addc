import { caughtUp } from '../../../platform/clickhouse/topology/caught_up.ts';
import { row_tables } from '../../model/removals/delete_rows.ts';
import sql from 'sql-template-tag';
import type { Engine } from '../engine.ts';
import { readReceipt } from '../runs/receipt.ts';
import type { Receipt } from '../runs/receipt.ts';
import { openSourceQuery } from '../source/source_query.ts';
import { countRecords } from '../source/source.ts';
import type { WaitingExport } from './found_receipts.ts';

/**
 * Delivered rows that the restored store lacks: their number, their insertion times, and their
 * place at the destination.
 */
export type LostRows = { rows: number; from: string; to: string; names: string[] };

const count_ms_max = 600_000;

/**
 * Finds the rows of an export's deliveries that the store has lost: counts deliveries again that
 * reach beyond the backup. Undefined if no row is missing.
 */
export async function findLost(engine: Engine, row: WaitingExport): Promise<LostRows | undefined> {
  const taken = Date.parse(row.taken_at);
  const lost: LostRows = { rows: 0, from: row.taken_at, to: row.taken_at, names: [] };
  const runs = await engine.db.rows<{ id: string }>(sql`
    SELECT run.id FROM batch_export_runs run
    WHERE run.batch_export_id = ${row.id} AND run.revision = ${row.revision}
      AND run.status = 'Completed' AND run.records_completed + run.records_rejected > 0
      AND run.receipt IS NOT NULL
      AND EXISTS (SELECT 1 FROM jsonb_to_recordset(run.selection) AS side (inserted_to float8)
        WHERE side.inserted_to IS NULL OR side.inserted_to > ${taken}::float8)
    ORDER BY run.data_interval_start, run.id`);
  for (const { id } of runs) {
    const stored = await engine.db.row<{ receipt: string }>(
      sql`SELECT receipt FROM batch_export_runs WHERE id = ${id}`,
    );
    const receipt = readReceipt(stored?.receipt ?? '', engine.secrets.public_key);
    if (receipt === undefined) continue;
    const missing = receipt.source_records - (await countNow(engine, row, receipt));
    if (missing <= 0) continue;
    lost.rows += missing;
    lost.names.push(...receipt.slices.map(({ name }) => name));
    const to = new Date(Math.max(Date.parse(lost.to), endOf(receipt))).toISOString();
    lost.to = to;
  }
  return lost.rows === 0 ? undefined : { ...lost, names: [...new Set(lost.names)] };
}

async function countNow(engine: Engine, row: WaitingExport, receipt: Receipt): Promise<number> {
  const { selection, data_interval_end } = receipt;
  const reading = await openSourceQuery(engine, { ...row, selection, data_interval_end });
  return caughtUp(engine.clickhouse, row_tables, () =>
    countRecords(engine, reading, AbortSignal.timeout(count_ms_max)),
  );
}

/** Returns the end of the selection by insertion, at most the receipt's creation time. */
function endOf({ selection, created_at }: Receipt): number {
  const created = Date.parse(created_at);
  return Math.max(...selection.map(({ inserted_to }) => Math.min(inserted_to ?? created, created)));
}
