import { counted } from '../../../platform/counted.ts';
import { NonRetryableError } from '../../model/destination/errors.ts';
import type { Delivery } from '../../model/destination/destination.ts';
import { supersededError } from '../../destinations/sql_tables/generations.ts';
import { fromStored, isHistory } from '../../model/ledger/rectangles.ts';
import { isSuperseded } from '../runs/generations.ts';
import type { ClaimedRun } from '../../model/run.ts';
import type { Attempt } from './attempt.ts';
import { replaced_bytes_max, replaced_records_max } from '../../model/destination/write_mode.ts';

/**
 * Refuses an attempt to write a whole table if a later run has written it or is about to. Also
 * throws if a part of the rows would replace all of them.
 */
export async function requireNewest({ engine, run, delivery }: Attempt): Promise<void> {
  if (delivery.generation === undefined) return;
  if (!isHistory(fromStored(run.selection)) || (await isSuperseded(engine.db, run)))
    throw supersededError();
}

/**
 * Refuses rows that must not replace a table: none, unless the export allows it, or more than a run
 * may copy.
 */
export function requireReplacement({ run, delivery }: Attempt, records: number): void {
  if (delivery.generation === undefined || run.replaces !== null) return;
  if (records === 0 && run.write_rule?.allow_empty !== true)
    throw new NonRetryableError(
      'empty_result',
      'The run has no rows, and would have left the table empty. The table stays as it is. ' +
        'Correct the query, or set `allow_empty` to true if an empty table is right. Then retry ' +
        'the run.',
    );
  if (records > replaced_records_max) throw tooLarge(`The run has ${counted(records, 'row')}`);
}

/** Refuses to copy more bytes than a run may write to a replaced table. */
export function requireReplacedBytes(delivery: Delivery, bytes: number): void {
  if (delivery.generation !== undefined && bytes > replaced_bytes_max)
    throw tooLarge(`The run has more than ${counted(replaced_bytes_max, 'byte')}`);
}

function tooLarge(told: string): NonRetryableError {
  return new NonRetryableError(
    'replace_too_large',
    `${told}, and with \`mode\` "replace" each run copies all of them: ` +
      `${counted(replaced_records_max, 'row')} and ${counted(replaced_bytes_max, 'byte')} at ` +
      'most. Narrow the query, or use `mode` "merge" or "append".',
  );
}

/**
 * Refuses to rewrite a delivery from fewer rows: rows that the source has lost would stay in the
 * table without a receipt.
 */
export function requireWhole({ replaces }: ClaimedRun, total: number): void {
  if (replaces === null || !('redelivers' in replaces) || total === replaces.source_records) return;
  throw new NonRetryableError(
    'source_incomplete',
    `The delivery had ${counted(replaces.source_records, 'row')}, and the source now has ` +
      `${total}. ` +
      (replaces.repairs === true
        ? 'It cannot be written again as it was, so nothing was changed.'
        : 'Its rejected rows stay where they are: correct and move them yourself.'),
  );
}
