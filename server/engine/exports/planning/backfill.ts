import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { databaseInstant } from '../../../platform/postgres/instant.ts';
import type { BackfillBy } from './backfill_area.ts';
import { counted } from '../../../platform/counted.ts';
import type { WriteRule } from '../../model/destination/write_mode.ts';
import type { StoredConfig } from '../../model/destination/stored_config.ts';
import { removedFrom } from '../../model/ledger/removed.ts';
import { intervalCount } from './interval.ts';
import type { Rhythm } from './interval.ts';
import { writeRunLog } from '../../model/run_log.ts';
import type { ModelName } from '../../model/models/model.ts';

/** The rows that a backfill delivers: undelivered ones, or all of them again. */
export type BackfillMode = 'missing' | 'all';

/** The range of a backfill: [from, to) in milliseconds of event or insertion time, and its mode. */
export type BackfillRange = {
  from: number;
  to: number;
  by: BackfillBy;
  mode: BackfillMode;
  /** True for rows ahead of the schedule, which people do not call a backfill. */
  is_run_now?: boolean;
};

/**
 * A forecast of a backfill that starts now, if it was counted: its rows, its runs with rows, and
 * the rows of the range that are delivered or in other runs.
 */
export type BackfillOutlook = { records: number; runs: number; elsewhere: number | null };

/** An export under its lock, with the fields that backfills need. */
export type LockedExport = StoredConfig &
  Rhythm & {
    id: string;
    team_id: number;
    revision: number;
    model: ModelName;
    custom_query: string | null;
    write_rule: WriteRule | null;
    destination_type: string;
  };

/**
 * Starts a backfill of the range and returns its id. Its runs are the export's intervals, cut at
 * both ends of the range, so it delivers exactly the range. The backfill covers rows inserted
 * before this moment (the watermark); later rows belong to the schedule. Its first run is planned
 * once the watermark is final. `detail` says when that is and what happens then, as far as the
 * forecast knows. The caller has checked the range.
 */
export async function startBackfill(
  tx: Transaction,
  exportId: string,
  range: BackfillRange,
  settle_seconds: number,
  outlook?: BackfillOutlook,
): Promise<string> {
  const row = await lockExport(tx, exportId);
  if (row === undefined) throw new Error('The export is gone.');
  const watermark = await databaseInstant(tx);
  const id = uuidv7();
  const total_runs = intervalCount(row, range.from, range.to);
  const settles_at = watermark + settle_seconds * 1000;
  const detail = [
    settlingSentence(settles_at, settle_seconds),
    outlookSentence(total_runs, outlook),
    await removedFrom(tx, row.team_id, range.from),
  ]
    .filter((sentence) => sentence !== '')
    .join(' ');
  await tx.run(sql`
    INSERT INTO batch_export_backfills (id, batch_export_id, revision, mode, selects_by, start_at,
      end_at, watermark, settles_at, next_start_at, total_runs, detail, is_run_now)
    VALUES (${id}, ${exportId}, ${row.revision}, ${range.mode}, ${range.by}, ${iso(range.from)},
      ${iso(range.to)}, ${iso(watermark)}, ${iso(settles_at)}, ${iso(range.from)}, ${total_runs},
      ${detail}, ${range.is_run_now ?? false})`);
  await writeRunLog(tx, {
    batch_export_id: exportId,
    run_id: null,
    level: 'INFO',
    message: `${startMessage(range)} ${detail}`,
  });
  return id;
}

/**
 * Counts the runs of open backfills again for the export's new interval: the planned ones, and
 * those for the rest of the range. The caller holds the lock on the export.
 */
export async function recountBackfills(
  tx: Transaction,
  row: Rhythm & Pick<LockedExport, 'id'>,
): Promise<void> {
  const open = await tx.rows<{ id: string; next_start_at: string; end_at: string }>(sql`
    SELECT id, next_start_at, end_at FROM batch_export_backfills
    WHERE batch_export_id = ${row.id} AND finished_at IS NULL FOR UPDATE`);
  for (const backfill of open) {
    const [next, end] = [Date.parse(backfill.next_start_at), Date.parse(backfill.end_at)];
    const left = intervalCount(row, next, end);
    await tx.run(sql`
      UPDATE batch_export_backfills SET last_updated_at = now(), total_runs = ${left}
        + (SELECT count(*) FROM batch_export_runs WHERE backfill_id = ${backfill.id})
      WHERE id = ${backfill.id}`);
  }
}

function startMessage({ from, to, by, is_run_now }: BackfillRange): string {
  const what = is_run_now === true ? 'Run now' : 'Backfill';
  const time = by === 'timestamp' ? 'the events' : 'ingestion';
  return `${what} of ${iso(from)} to ${iso(to)} started, by the time of ${time}.`;
}

function settlingSentence(settles_at: number, settle_seconds: number): string {
  if (settle_seconds === 0) return 'It starts once all events in transit are stored.';
  return (
    `It starts at ${iso(settles_at)}, ${counted(settle_seconds, 'second')} after the request, ` +
    'once all events in transit are stored.'
  );
}

function outlookSentence(total_runs: number, outlook: BackfillOutlook | undefined): string {
  const runs = counted(total_runs, 'run');
  if (outlook === undefined) return `It has ${runs}. Runs without rows complete at once.`;
  const { records, runs: filled, elsewhere } = outlook;
  const what =
    records === 0
      ? `It has nothing to deliver now: its ${runs} complete at once, without rows.`
      : `It would now deliver ${counted(records, 'row')} in ${filled} of its ${runs}; runs ` +
        'without rows complete at once.';
  return elsewhere === null || elsewhere === 0 ? what : `${what} ${elsewhereSentence(elsewhere)}`;
}

/** Returns a sentence about rows that a backfill skips. */
export function elsewhereSentence(records: number): string {
  return (
    `${counted(records, 'row')} of the range ${records === 1 ? 'was' : 'were'} left out, ` +
    `because this export had delivered ${records === 1 ? 'it' : 'them'} already or had ` +
    `${records === 1 ? 'it' : 'them'} in another run.`
  );
}

/**
 * Ends a backfill early: plans no further runs and cancels those in progress. False if it has ended
 * already.
 */
export async function cancelBackfill(tx: Transaction, backfillId: string): Promise<boolean> {
  const ended = await tx.row<{ batch_export_id: string }>(sql`
    UPDATE batch_export_backfills SET status = 'Cancelled',
      detail = 'Cancelled; what had been delivered stays.', finished_at = now(),
      last_updated_at = now() WHERE id = ${backfillId} AND finished_at IS NULL
      RETURNING batch_export_id`);
  if (ended === undefined) return false;
  const runs = await tx.run(sql`
    UPDATE batch_export_runs SET cancel_requested_at = now(), last_updated_at = now()
      WHERE backfill_id = ${backfillId} AND status IN ('Starting', 'Running')
      AND cancel_requested_at IS NULL`);
  const message =
    `Backfill ended: Cancelled. No further runs are planned; ${runs} in progress are being ` +
    'cancelled.';
  await writeRunLog(tx, {
    batch_export_id: ended.batch_export_id,
    run_id: null,
    level: 'WARNING',
    message,
  });
  return true;
}

/** Finds the export and locks it until the transaction ends. */
export async function lockExport(
  tx: Transaction,
  exportId: string,
): Promise<LockedExport | undefined> {
  // The lock on the export's row protects its ledger.
  return tx.row<LockedExport>(sql`
    SELECT id, team_id, revision, "interval", timezone, offset_minutes, model, custom_query,
      write_rule, destination_type, destination_config, destination_secrets
    FROM batch_exports WHERE id = ${exportId} AND deleted_at IS NULL FOR UPDATE`);
}

function iso(instant: number): string {
  return new Date(instant).toISOString();
}
