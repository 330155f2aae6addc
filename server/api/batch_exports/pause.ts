import { isReplacing } from '../../engine/model/destination/write_mode.ts';
import { forgetFailures } from '../../engine/exports/health/store.ts';
import type { Rhythm } from '../../engine/exports/planning/interval.ts';
import type { Schedule } from '../../engine/exports/planning/plan.ts';
import { writeRunLog } from '../../engine/model/run_log.ts';
import { findWaitingSentence } from '../../engine/exports/runs/hold_until_reconciled.ts';
import { isoInstant } from '../../platform/clock.ts';
import { conflict } from '../../platform/http/errors.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { milliseconds } from './body/instants.ts';
import { resumed } from './schedule.ts';
import type { BoundedRhythm } from './schedule.ts';
import type { ExportFields } from './store.ts';

/** The changed fields at the start or end of a pause, and the line for the export's log. */
export type PauseChange = {
  fields: Pick<
    ExportFields,
    'paused' | 'last_paused_at' | 'pause_reason' | 'planned_until' | 'next_run_at'
  >;
  message: string;
};

/** Returns the schedule of a row, in milliseconds. */
export function scheduleOf(row: Pick<ExportFields, 'planned_until' | 'next_run_at'>): Schedule {
  return {
    planned_until: milliseconds(row.planned_until),
    next_run_at: milliseconds(row.next_run_at),
  };
}

/** Returns the rhythm of a row, in milliseconds. */
export function rhythmOf(row: Rhythm & Pick<ExportFields, 'start_at' | 'end_at'>): BoundedRhythm {
  return {
    interval: row.interval,
    timezone: row.timezone,
    offset_minutes: row.offset_minutes,
    start_at: milliseconds(row.start_at),
    end_at: milliseconds(row.end_at),
  };
}

/** Returns the schedule in its stored form. */
export function storedSchedule(
  schedule: Schedule,
): Pick<ExportFields, 'planned_until' | 'next_run_at'> {
  return {
    planned_until: isoInstant(schedule.planned_until),
    next_run_at: schedule.next_run_at === null ? null : isoInstant(schedule.next_run_at),
  };
}

/**
 * Returns the changes of a pause: planning stops, planned runs continue. Undefined if a person or
 * the server has already paused the export; the reason then stays.
 */
export function paused(row: ExportFields, now: number): PauseChange | undefined {
  if (row.paused) return undefined;
  const { planned_until, next_run_at } = row;
  return {
    fields: {
      paused: true,
      last_paused_at: isoInstant(now),
      pause_reason: null,
      planned_until,
      next_run_at,
    },
    message: 'Paused: no further runs are planned.',
  };
}

/**
 * Returns the changes at the end of a pause; undefined for an active export. With `backfill`, the
 * schedule keeps its position, so every missed interval is delivered once. Otherwise, and if each
 * run replaces the table, it continues with the current interval.
 */
export function unpaused(
  row: ExportFields,
  now: number,
  backfill: boolean,
): PauseChange | undefined {
  if (!row.paused) return undefined;
  const before = scheduleOf(row);
  const is_whole = isReplacing(row.write_rule);
  const stays = (backfill && !is_whole) || row.next_run_at === null;
  const after = stays ? before : resumed(before, rhythmOf(row), now);
  const fields = {
    paused: false,
    last_paused_at: row.last_paused_at,
    pause_reason: null,
    ...storedSchedule(after),
  };
  const [from, to] = [isoInstant(before.planned_until), isoInstant(after.planned_until)];
  if (after.planned_until > before.planned_until && !is_whole) {
    const range = JSON.stringify({ by: 'inserted_at', start_at: from, end_at: to });
    return {
      fields,
      message:
        `Unpaused. Events ingested from ${from} to ${to} were skipped during the pause; a ` +
        `backfill with ${range} delivers exactly these.`,
    };
  }
  if (after.next_run_at === null)
    return {
      fields,
      message:
        'Unpaused. No run follows, because no further interval ends before end_at: move ' +
        'end_at to continue.',
    };
  return { fields, message: `Unpaused. The next run starts with ${is_whole ? to : from}.` };
}

/**
 * Records the start or end of a pause: a line in the log and, at the end, a reset of the count of
 * failures. The caller holds the lock on the export. Throws 409 if an export that waits since a
 * restore would be unpaused: its runs would still wait.
 */
export async function recordPause(
  tx: Transaction,
  exportId: string,
  change: PauseChange,
): Promise<void> {
  if (!change.fields.paused) {
    const waiting = await findWaitingSentence(tx, exportId);
    if (waiting !== undefined) throw conflict(waiting);
    await forgetFailures(tx, exportId);
  }
  await writeRunLog(tx, {
    batch_export_id: exportId,
    run_id: null,
    level: 'INFO',
    message: change.message,
  });
}
