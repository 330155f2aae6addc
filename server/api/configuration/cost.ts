import type { Queryable } from '../../platform/postgres/database.ts';
import { countDelivered, listExportIds } from '../batch_exports/store.ts';
import type { Delivered } from '../batch_exports/store.ts';
import type { Cost } from './schema.ts';
import type { Placed } from './standing.ts';
import { counted } from '../../platform/counted.ts';

/** What an export has delivered; undefined for other kinds, which a change costs nothing. */
export async function ledgerOf(
  db: Queryable,
  { kind, id }: Pick<Placed, 'kind' | 'id'>,
): Promise<Delivered | undefined> {
  return kind.name === 'batch_export' ? countDelivered(db, [id]) : undefined;
}

/** What ends with an object: of a project, what all its exports have delivered. */
export async function endingLedger(
  db: Queryable,
  standing: Pick<Placed, 'kind' | 'id'>,
): Promise<Delivered | undefined> {
  if (standing.kind.name !== 'project') return ledgerOf(db, standing);
  return countDelivered(db, await listExportIds(db, Number(standing.id)));
}

/** What a deletion costs, or a change after which the ledger has another revision. */
export function costOf(
  before: Delivered | undefined,
  after: Delivered | undefined,
  action: string,
): Cost | null {
  if (before === undefined) return null;
  const { delivered_records, open_runs } = before;
  const rows = counted(delivered_records, 'delivered row');
  const runs = open_runs === 0 ? '' : ` It cancels ${counted(open_runs, 'run')}.`;
  if (action === 'delete')
    return before.exports === 0
      ? null
      : {
          starts_anew: false,
          ledger_ends: true,
          delivered_records,
          open_runs,
          detail: `The ledger ends: ${rows} stay where they are and count no more.${runs}`,
        };
  if (after === undefined || after.revisions === before.revisions) return null;
  return {
    starts_anew: true,
    ledger_ends: false,
    delivered_records,
    open_runs,
    detail:
      `The export starts anew: ${rows} no longer count, a backfill delivers them ` +
      `again.${runs}`,
  };
}
