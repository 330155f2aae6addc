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

/** One line for a delivery that holds its rows back: what it is, and what to do. */
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
      'the ledger counts it, and the destination has no receipt for it. If its rows are gone, ' +
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

/** True of a delivery that `--forget-missing` takes out of the ledger. */
function isMissing({ is_there }: HeldDelivery): boolean {
  return is_there === false;
}

/** Asks whether the missing deliveries of these exports are to leave the ledger. */
export function isForgettingAgreed(holdings: Holding[]): Promise<boolean> {
  const missing = holdings.flatMap(({ held }) => held.filter(isMissing));
  const records = missing.reduce((sum, one) => sum + one.records, 0);
  return isAgreed(
    `Take ${counted(missing.length, 'delivery')} with ${counted(records, 'row')} out of the ` +
      'ledger? A backfill delivers them again: rows that are still there would be there twice.',
    'takes them out',
  );
}

/**
 * Takes the missing deliveries of these exports out of the ledger once that is `agreed`, and gives
 * a line for each export.
 */
export async function forgetMissing(
  engine: Engine,
  holdings: Holding[],
  agreed: (holdings: Holding[]) => Promise<boolean>,
): Promise<string[]> {
  const wanted = holdings.filter(({ held }) => held.some(isMissing));
  if (wanted.length === 0) return ['No delivery is missing, so nothing leaves the ledger.'];
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
      `${name} (${batch_export_id}): ${counted(forgotten.length, 'delivery')} left the ledger. ` +
        'Start a backfill of their intervals.',
    );
  }
  return lines;
}
