import { findDestination } from '../../../engine/destinations/index.ts';
import { verifyPartsOf } from '../../../engine/exports/verification/verify_parts.ts';
import type { ModelName } from '../../../engine/model/models/model.ts';
import type { WriteRule } from '../../../engine/model/destination/write_mode.ts';
import { isoInstant } from '../../../platform/clock.ts';
import { counted } from '../../../platform/counted.ts';
import type { Verification, VerificationFinding } from './schema.ts';
import type { FindingRow, VerificationRow } from './store.ts';

/** Below this share of finished work, no estimate is possible. */
const least_share = 0.01;

/** Returns the wire form of the verification with its sentences, at this instant (milliseconds). */
export function shownVerification(row: VerificationRow, now: number): Verification {
  const {
    revision: _revision,
    destination_type: _type,
    write_rule: _rule,
    model: _model,
    custom_query: _query,
    deliveries,
    deliveries_checked,
    records,
    records_checked,
    ...shown
  } = row;
  return {
    ...shown,
    detail: sentenceOf(row),
    progress: {
      deliveries,
      deliveries_checked,
      records,
      records_checked,
      estimated_end_at: estimatedEnd(row, now),
    },
  };
}

function sentenceOf(row: VerificationRow): string {
  const { status, detail, deliveries, deliveries_checked, records_checked, differences } = row;
  const what = `${counted(deliveries_checked, 'delivery')} with ${counted(records_checked, 'row')}`;
  const found = differences === 0 ? '' : ` ${counted(differences, 'difference')} found so far.`;
  if (status === 'Completed') return completedSentence(row, what);
  if (status === 'Cancelled') return `Cancelled after ${what}.${found}`;
  if (status === 'Failed') return detail ?? 'It ended early.';
  if (deliveries === null)
    return detail ?? (status === 'Running' ? readingSentence(row) : 'Waiting for a worker.');
  const progress = `${deliveries_checked} of ${counted(deliveries, 'delivery')} compared.${found}`;
  return detail === null ? progress : `${progress} ${detail}`;
}

/** The first part of a table is the whole table, however many deliveries it has. */
function readingSentence({ records_checked }: VerificationRow): string {
  const read = records_checked === 0 ? '' : ` ${counted(records_checked, 'row')} compared so far.`;
  return `Reading the destination.${read}`;
}

function completedSentence(
  { differences, deliveries, is_unproven, destination_type }: VerificationRow,
  what: string,
) {
  if (deliveries === 0)
    return 'Nothing was delivered in this range, so there is nothing to verify.';
  if (differences > 0) return `${counted(differences, 'difference')} found in ${what}.`;
  if (findDestination(destination_type)?.not_verifiable !== undefined)
    return `The signed receipts are intact: ${what}. Nothing else can be compared.`;
  return is_unproven
    ? `No difference found in ${what}, but a part could not be compared.`
    : `Everything is as delivered: ${what}.`;
}

/** Estimates the end, from the time that the finished part took. */
function estimatedEnd(row: VerificationRow, now: number): string | null {
  const { started_at, finished_at, deliveries, deliveries_checked, records, records_checked } = row;
  if (started_at === null || finished_at !== null) return null;
  const share =
    records === null || records === 0
      ? deliveries_checked / (deliveries ?? 0)
      : records_checked / records;
  if (!(share >= least_share)) return null;
  const elapsed = Math.max(0, now - Date.parse(started_at));
  return isoInstant(Math.round(now + (elapsed * (1 - Math.min(1, share))) / share));
}

/** The place of an export's rows, and how it writes them. */
type Written = {
  destination_type: string;
  write_rule: WriteRule | null;
  model: ModelName;
  custom_query: string | null;
};

type Action = NonNullable<VerificationFinding['repair']>['action'];

/** Returns the repair of a finding; undefined if only people can repair it. */
export function repairOf(
  { kind, delivery }: Pick<FindingRow, 'kind' | 'delivery'>,
  { destination_type, ...written }: Written,
): Action | undefined {
  const definition = findDestination(destination_type);
  if (delivery === null || definition === undefined) return undefined;
  if (kind === 'uncertain') return 'retry';
  if (definition.shows_as_written === true) return undefined;
  const isRewritten =
    verifyPartsOf(definition, written.write_rule) !== undefined ||
    (definition.repairs_rows === true && isAppended(written));
  return isRewritten ? 'rewrite' : 'deliver_again';
}

/** Returns true if each ingested event is one row of a table, which is only appended. */
function isAppended({ model, custom_query, write_rule }: Omit<Written, 'destination_type'>) {
  return model === 'events' && custom_query === null && (write_rule?.mode ?? 'append') === 'append';
}

const repair_details: Record<Action, string> = {
  rewrite:
    'A run writes this delivery again. Files keep their names. In a table, the run first ' +
    'removes the remaining rows of this delivery, in the same transaction, so no row occurs ' +
    'twice.',
  deliver_again:
    'The delivery leaves the ledger, and a backfill delivers its interval again. Its rows ' +
    'that are still in the table would then occur twice: delete them first. Merged persons ' +
    'do not occur twice.',
  retry: 'A retry finds out whether the rows are there, and delivers them if not.',
};

/**
 * Returns the wire form of a finding's repair, with the run or backfill that was started; null if
 * only people can repair it.
 */
export function shownRepair(
  finding: Pick<FindingRow, 'kind' | 'delivery'>,
  written: Written,
  started: { run: string | null; backfill: string | null },
): VerificationFinding['repair'] {
  const action = repairOf(finding, written);
  return action === undefined ? null : { action, detail: repair_details[action], ...started };
}

/** Returns the wire form of the finding, with its repair. */
export function shownFinding(row: FindingRow, written: Written): VerificationFinding {
  const { repair_run_id: run, repair_backfill_id: backfill, ...finding } = row;
  return { ...finding, repair: shownRepair(row, written, { run, backfill }) };
}
