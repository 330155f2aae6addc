import sql from 'sql-template-tag';
import { commandLine } from '../../../platform/command_line.ts';
import type { DestinationDefinition } from '../../model/destination/destination.ts';
import { findDestination } from '../../destinations/index.ts';
import type { Engine } from '../engine.ts';
import { writeRunLog } from '../../model/run_log.ts';
import { all_columns } from '../../model/schema/run_columns.ts';
import { waitingSentence } from '../runs/hold_until_reconciled.ts';
import { loggedReason } from '../verification/verify_exports.ts';
import { assume } from './assume.ts';
import type { Assumption } from './assume.ts';
import { enterReceipts } from './enter_receipts.ts';
import type { Entered } from './enter_receipts.ts';
import { findReceipts } from './found_receipts.ts';
import type { Found, NewReceipt, WaitingExport } from './found_receipts.ts';
import { findLost } from './lost_rows.ts';
import type { LostRows } from './lost_rows.ts';

/** The result for one export after a restore. */
export type Reconciled = {
  batch_export_id: string;
  name: string;
  team_id: number;
  destination: string;
  /** True if it stays paused and its open runs wait; `detail` gives the reason and the action. */
  is_waiting: boolean;
  /** True if it is active again. */
  goes_on: boolean;
  detail: string | null;
  /** Rows delivered after the backup, by the entered receipts. */
  records: number;
  entered: Entered;
  lost: LostRows | null;
  /** Files that readers of the destination see and no receipt names. */
  loose: string[];
  /** Receipts of a later version of the export, which the backup does not know. */
  others: number;
};

/**
 * Reconciles every export that waits since a restore, oldest first, or the named one: enters the
 * deliveries at its destination in its ledger and resumes it. An export whose destination does not
 * answer or cannot tell keeps waiting and blocks no other.
 */
export async function reconcileAll(
  engine: Engine,
  { only, assumption }: { only?: string; assumption?: Assumption } = {},
): Promise<Reconciled[]> {
  const rows = await engine.db.rows<WaitingExport>(sql`
    SELECT export.id, export.name, export.team_id, export.revision, export.model,
      export.custom_query, export.write_rule, export.destination_type, export.destination_config,
      export.destination_secrets, export.timezone, export.planned_until, ${all_columns},
        waiting.taken_at, waiting.goes_on
    FROM reconciliations waiting JOIN batch_exports export ON export.id = waiting.batch_export_id
    WHERE export.deleted_at IS NULL AND (${only ?? null}::uuid IS NULL OR export.id = ${only})
    ORDER BY export.created_at, export.id`);
  const reconciled: Reconciled[] = [];
  for (const row of rows) reconciled.push(await reconcileExport(engine, row, assumption));
  return reconciled;
}

async function reconcileExport(
  engine: Engine,
  row: WaitingExport,
  assumption: Assumption | undefined,
): Promise<Reconciled> {
  const result: Reconciled = {
    batch_export_id: row.id,
    name: row.name,
    team_id: row.team_id,
    destination: row.destination_type,
    is_waiting: false,
    goes_on: row.goes_on,
    detail: null,
    records: 0,
    entered: { completed: 0, restarted: 0, backfills_cancelled: 0 },
    lost: null,
    loose: [],
    others: 0,
  };
  try {
    const definition = findDestination(row.destination_type);
    if (definition === undefined)
      return await stayWaiting(engine, row, result, 'This server has no such destination.');
    const found = await find(engine, row, definition, assumption);
    if (found === undefined && assumption === undefined)
      return await stayWaiting(engine, row, result, unreadable(row));
    result.others = found?.others.length ?? 0;
    if (result.others > 0 && assumption === undefined)
      return await stayWaiting(engine, row, result, ofAnotherVersion(row));
    if (found !== undefined) await enter(engine, row, found, result, assumption);
    else await settleBy(engine, row, assumption!);
    result.lost = (await findLost(engine, row)) ?? null;
    return result;
  } catch (error) {
    const reason = loggedReason(engine, row, error, 'an export could not be reconciled');
    return stayWaiting(engine, row, result, reason);
  }
}

/** Returns the command with which a person answers for an export. */
function saying(assumption: Assumption, { id }: WaitingExport): string {
  return `\`${commandLine(`reconcile --export ${id} --assume ${assumption}`)}\``;
}

const unreadable = (row: WaitingExport) =>
  'Its rows cannot be read again, so the deliveries after the backup are unknown. Choose: ' +
  `${saying('delivered', row)} sends nothing again and may leave rows out; ` +
  `${saying('missing', row)} leaves nothing out and may send rows again.`;

const ofAnotherVersion = (row: WaitingExport) =>
  'Some of its receipts belong to a version of this export that the backup lacks: it was ' +
  `changed after the backup. Repeat that change, then choose: ${saying('delivered', row)} ` +
  `counts their rows as delivered; ${saying('missing', row)} delivers them again in the ` +
  'current form.';

/** Asks the destination; undefined if it cannot answer, or if it does not and a person answers. */
async function find(
  engine: Engine,
  row: WaitingExport,
  definition: DestinationDefinition,
  assumption: Assumption | undefined,
): Promise<Found | undefined> {
  if (definition.receipts === undefined) return undefined;
  const asked = findReceipts(engine, row, definition);
  if (assumption === undefined) return asked;
  return asked.catch((error: unknown) => {
    engine.log.warn({ err: error, batch_export_id: row.id }, 'a destination was not asked');
    return undefined;
  });
}

async function enter(
  engine: Engine,
  row: WaitingExport,
  found: Found,
  result: Reconciled,
  assumption: Assumption | undefined,
): Promise<void> {
  const receipts =
    assumption === 'delivered' ? [...found.receipts, ...found.others] : found.receipts;
  result.loose = found.loose;
  result.records = receipts.reduce((sum, { receipt }) => sum + receipt.records, 0);
  await engine.db.transaction(async (tx) => {
    await tx.row(sql`SELECT 1 FROM batch_exports WHERE id = ${row.id} FOR UPDATE`);
    result.entered = await enterReceipts(tx, row, receipts);
    await tx.run(sql`
      INSERT INTO ingestion_states AS s (team_id, settled_until)
      SELECT id, ${latestOf(receipts, row)}::timestamptz FROM projects
        WHERE id = ${row.team_id}
      ON CONFLICT (team_id) DO UPDATE SET
        settled_until = greatest(s.settled_until, excluded.settled_until)`);
    await goOn(tx, row);
  });
}

async function settleBy(engine: Engine, row: WaitingExport, assumption: Assumption): Promise<void> {
  await engine.db.transaction(async (tx) => {
    await tx.row(sql`SELECT 1 FROM batch_exports WHERE id = ${row.id} FOR UPDATE`);
    await assume(tx, row, assumption);
    await goOn(tx, row);
  });
}

/**
 * Returns the latest delivered insertion time. No new row may get an earlier time, whatever the
 * clock of the new machine says: it would never be delivered.
 */
function latestOf(found: NewReceipt[], row: WaitingExport): string {
  const ends = found.flatMap(({ receipt }) =>
    receipt.selection.map(({ inserted_to }) =>
      Math.min(inserted_to ?? Infinity, Date.parse(receipt.created_at)),
    ),
  );
  return new Date(Math.max(Date.parse(row.taken_at), ...ends)).toISOString();
}

/** Restores the export's state before it was set aside; its ledger is correct. */
async function goOn(tx: Parameters<typeof enterReceipts>[0], row: WaitingExport): Promise<void> {
  await tx.run(sql`DELETE FROM reconciliations WHERE batch_export_id = ${row.id}`);
  if (row.goes_on)
    await tx.run(sql`
      UPDATE batch_exports SET paused = false, pause_reason = NULL WHERE id = ${row.id}`);
  await writeRunLog(tx, {
    batch_export_id: row.id,
    run_id: null,
    level: 'INFO',
    message:
      `Restored from the backup of ${row.taken_at}. The deliveries after it are known again, ` +
      'and no row is delivered twice.',
  });
}

async function stayWaiting(
  { db }: Engine,
  row: WaitingExport,
  result: Reconciled,
  detail: string,
): Promise<Reconciled> {
  await db.transaction(async (tx) => {
    await tx.run(sql`
      UPDATE reconciliations SET detail = ${detail} WHERE batch_export_id = ${row.id}`);
    await tx.run(sql`
      UPDATE batch_exports SET pause_reason = pause_reason
        || jsonb_build_object('detail', ${waitingSentence(row.taken_at, detail)}::text)
      WHERE id = ${row.id} AND pause_reason->>'code' = 'not_reconciled'`);
    await writeRunLog(tx, {
      batch_export_id: row.id,
      run_id: null,
      level: 'WARNING',
      message:
        `Restored from the backup of ${row.taken_at}, and not reconciled with its destination: ` +
        `${detail} Until then it is paused, and its open runs wait.`,
    });
  });
  return { ...result, is_waiting: true, goes_on: false, detail };
}
