import sql from 'sql-template-tag';
import { findDestination } from '../../engine/destinations/index.ts';
import type { Engine } from '../../engine/exports/engine.ts';
import { forgetDeliveries } from '../../engine/exports/verification/missing_deliveries.ts';
import type {
  HeldDelivery,
  LookedAtExport,
} from '../../engine/exports/verification/missing_deliveries.ts';
import { delivered_columns } from '../../engine/model/schema/run_columns.ts';
import { counted } from '../../platform/counted.ts';
import { isAgreed } from '../agreed.ts';

/** The export of a finding and the deliveries that hold its rows back. */
export type Holding = { batch_export_id: string; name: string; held: HeldDelivery[] };

/** Returns one line for a delivery that holds its rows back: its state, and what to do. */
export function heldLine(one: HeldDelivery): string {
  const kind = one.uncertain ? 'uncertain' : 'missing';
  const what =
    `delivery ${one.delivery_id} (${one.data_interval_start}, ${counted(one.records, 'row')}, ` +
    `run ${one.run_id})`;
  return `${kind.padEnd(10)} ${what}: ${adviceOf(one)}`;
}

function adviceOf({ uncertain, is_there }: HeldDelivery): string {
  if (!uncertain)
    return (
      'the ledger counts it, but the destination has no receipt. If its rows are gone, ' +
      'verify again with --forget-missing, then start a backfill.'
    );
  if (is_there === true)
    return 'its run ended during the commit, and its receipt exists. Retry the run.';
  if (is_there === false)
    return (
      'its run ended while it was committed, and its receipt is not there. Retry the run or ' +
      'start a backfill; or verify again with --forget-missing.'
    );
  return (
    'its run ended during the commit, and the destination cannot tell whether the rows are ' +
    'there. Retry the run.'
  );
}

/** Returns true for a delivery that `--forget-missing` removes from the ledger. */
function isMissing({ is_there }: HeldDelivery): boolean {
  return is_there === false;
}

/** Asks whether the missing deliveries of these exports may be removed from the ledger. */
export function isForgettingAgreed(holdings: Holding[]): Promise<boolean> {
  const missing = holdings.flatMap(({ held }) => held.filter(isMissing));
  const records = missing.reduce((sum, one) => sum + one.records, 0);
  return isAgreed(
    `Remove ${counted(missing.length, 'delivery')} with ${counted(records, 'row')} from the ` +
      'ledger? A backfill delivers them again: rows that still exist would then occur twice.',
    'takes them out',
  );
}

/**
 * Removes the missing deliveries of these exports from the ledger after `agreed`, and returns a
 * line for each export.
 */
export async function forgetMissing(
  engine: Engine,
  holdings: Holding[],
  agreed: (holdings: Holding[]) => Promise<boolean>,
): Promise<string[]> {
  const wanted = holdings.filter(({ held }) => held.some(isMissing));
  if (wanted.length === 0) return ['No delivery is missing, so the ledger stays unchanged.'];
  if (!(await agreed(wanted))) return ['Nothing was changed.'];
  const lines: string[] = [];
  for (const { batch_export_id, name, held } of wanted) {
    const row = await engine.db.row<LookedAtExport>(sql`
      SELECT id, name, team_id, timezone, model, custom_query, write_rule, revision,
        destination_type, destination_config, destination_secrets, ${delivered_columns}
      FROM batch_exports export
      WHERE id = ${batch_export_id} AND deleted_at IS NULL`);
    const definition = row && findDestination(row.destination_type);
    if (row === undefined || definition === undefined) continue;
    const forgotten = await forgetDeliveries(engine, row, definition, held);
    lines.push(
      `${name} (${batch_export_id}): ${counted(forgotten.length, 'delivery')} removed from ` +
        'the ledger. Start a backfill of their intervals.',
    );
  }
  return lines;
}
