import { RetryableError } from '../../model/destination/errors.ts';
import { identifier } from '../formats/expression.ts';
import { isMerged } from '../sql_tables/layout.ts';
import { listIntendedStages, writeReceipt } from './receipts.ts';
import type { Session } from './session.ts';
import { attach } from './slices.ts';
import type { Partition } from './slices.ts';
import { findTable, stage_column } from './table.ts';

/** The stage of a delivery's rows for the target, and whether they are there. */
export type ShownStage = { stage_id: string; is_shown: boolean };

/**
 * Finds the stage of an earlier attempt whose rows are there and whose answer was lost, or
 * announces this attempt's own. Call it when no other stage is left. Merged rows need neither:
 * writing them twice changes nothing.
 */
export async function announceStage(session: Session, records: number): Promise<ShownStage> {
  const { connection, delivery, stage } = session;
  if (isMerged(delivery)) return { stage_id: stage.id, is_shown: false };
  const intended = await listIntendedStages(connection, delivery);
  // Checked after the list was read: while our stage exists, no later attempt has begun, so the
  // list has none of its stages.
  if ((await findTable(connection, stage.table)) === undefined)
    throw new RetryableError(
      'slice_lost',
      'Another attempt works on this delivery, or somebody removed one of its tables. Sluice ' +
        'delivers it again.',
    );
  const earlier = await settle(session, intended, records);
  if (earlier !== undefined) return { stage_id: earlier, is_shown: true };
  // Written first, so that the next attempt knows which rows to search: the search costs a scan,
  // which only a failed delivery should need.
  await writeReceipt(connection, delivery, { stage_id: stage.id, records, manifest: '' });
  return { stage_id: stage.id, is_shown: false };
}

/**
 * Shows the rows of this attempt's stage. Nothing is copied: the server links the files of the
 * stage's parts, and shows the parts of one partition at once.
 */
export function showStage({ connection, stage }: Session, partitions: Partition[]): Promise<void> {
  return attach(connection, connection.target.quoted, stage.table, partitions);
}

/** Removes the rows that `showStage` has shown of this attempt's stage. */
export async function takeStageBack(session: Session): Promise<void> {
  await settle(session, [session.stage.id], undefined);
}

/** Removes rows of attempts that were about to show them and never wrote a receipt. */
export async function takeBack(session: Session): Promise<void> {
  const { connection } = session;
  const isThere =
    (await findTable(connection, 'sluice_receipts')) !== undefined &&
    (await findTable(connection, connection.target.table)) !== undefined;
  if (isThere)
    await settle(session, await listIntendedStages(connection, session.delivery), undefined);
}

/**
 * Finds an earlier stage that has all `records`, and removes the rows of the others: a killed
 * server may have left a part of them. Merged rows, which earlier releases announced too, stay: the
 * server may have removed the rows that they replaced, and the same rows come again.
 */
async function settle(
  { connection, delivery }: Session,
  stageIds: string[],
  records: number | undefined,
): Promise<string | undefined> {
  const target = connection.target.quoted;
  let whole: string | undefined;
  for (const id of stageIds) {
    const [row] = await connection.rows<{ records: number }>(
      `SELECT count() AS records FROM ${target} WHERE ${identifier(stage_column)} = {id:UUID}`,
      { id },
    );
    const found = row?.records ?? 0;
    if (whole === undefined && found > 0 && found === records) whole = id;
    else if (found > 0 && !isMerged(delivery))
      await connection.command(
        `ALTER TABLE ${target} DELETE WHERE ${identifier(stage_column)} = {id:UUID}
          SETTINGS mutations_sync = 2`,
        { id },
      );
  }
  return whole;
}
