import sql from 'sql-template-tag';
import type { Database } from '../../../platform/postgres/database.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { fromStored } from '../../model/ledger/rectangles.ts';
import type { Rectangle, StoredRectangle } from '../../model/ledger/rectangles.ts';
import { readReceipt } from '../../exports/runs/receipt.ts';
import type { ExportFacts, Unproven } from './decide.ts';

/** Receipts may be long; few of them are in memory at once. */
const receipts_at_once_max = 100;

type RunRow = {
  id: string;
  created_at: string;
  selection: StoredRectangle[];
  receipt: string | null;
};

/**
 * Finds the areas between both instants (milliseconds of insertion) that the exports' ledgers count
 * as delivered but no receipt with this server's signature proves. Runs without rows need no proof.
 */
export async function findUnproven(
  { db, secrets }: { db: Database; secrets: Secrets },
  exports: Pick<ExportFacts, 'id' | 'revision'>[],
  span: { from: number; to: number },
  signal: AbortSignal,
): Promise<Unproven> {
  const unproven = new Map<string, Rectangle[]>();
  for (const one of exports) {
    const areas: Rectangle[] = [];
    let after = { created_at: '-infinity', id: '00000000-0000-0000-0000-000000000000' };
    for (;;) {
      signal.throwIfAborted();
      const runs = await listRuns(db, one, span, after);
      for (const { selection, receipt } of runs)
        if (!isProof(receipt, selection, secrets.public_key)) areas.push(...fromStored(selection));
      const last = runs.at(-1);
      if (last === undefined || runs.length < receipts_at_once_max) break;
      after = last;
    }
    if (areas.length > 0) unproven.set(one.id, areas);
  }
  return unproven;
}

function isProof(text: string | null, selection: StoredRectangle[], public_key: string): boolean {
  const receipt = text === null ? undefined : readReceipt(text, public_key);
  if (receipt === undefined || receipt.records !== receipt.source_records) return false;
  return JSON.stringify(fromStored(receipt.selection)) === JSON.stringify(fromStored(selection));
}

// Lists runs in the order of batch_export_runs_by_export.
function listRuns(
  db: Database,
  { id, revision }: Pick<ExportFacts, 'id' | 'revision'>,
  { from, to }: { from: number; to: number },
  after: { created_at: string; id: string },
): Promise<RunRow[]> {
  return db.rows<RunRow>(sql`
    SELECT run.id, run.created_at, run.selection, run.receipt FROM batch_export_runs run
    WHERE run.batch_export_id = ${id} AND run.revision = ${revision}
      AND run.status = 'Completed'
      AND run.records_completed + run.records_rejected IS DISTINCT FROM 0
      AND (run.created_at, run.id) > (${after.created_at}::timestamptz, ${after.id}::uuid)
      AND EXISTS (SELECT 1 FROM jsonb_array_elements(run.selection) AS side
        WHERE coalesce((side ->> 'inserted_to')::float8, 'Infinity') > ${from}::float8
          AND coalesce((side ->> 'inserted_from')::float8, '-Infinity') < ${to}::float8)
    ORDER BY run.created_at, run.id LIMIT ${receipts_at_once_max}`);
}
