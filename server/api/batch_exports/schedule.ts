import { boundaryAtOrBefore } from '../../engine/exports/planning/interval.ts';
import type { Rhythm } from '../../engine/exports/planning/interval.ts';
import { firstSchedule, nextSchedule } from '../../engine/exports/planning/plan.ts';
import type { Schedule } from '../../engine/exports/planning/plan.ts';

/** The rhythm of an export with its bounds in milliseconds. */
export type BoundedRhythm = Rhythm & { start_at: number | null; end_at: number | null };

/**
 * Returns the schedule after a change of the rhythm. Guarantee: no gap and no overlap. Planned runs
 * stay planned and the next run begins after them, so one interval may be short or long. Only a
 * `start_at` that was moved later leaves a gap, as intended. An export that still waits for its
 * `start_at` waits for the new one.
 */
export function rescheduled(
  schedule: Schedule,
  before: BoundedRhythm,
  after: BoundedRhythm,
  now: number,
): Schedule {
  const planned_until =
    before.start_at === after.start_at ? schedule.planned_until : startedAt(schedule, after, now);
  return { planned_until, next_run_at: nextSchedule(after, planned_until) };
}

function startedAt(schedule: Schedule, after: BoundedRhythm, now: number): number {
  if (schedule.planned_until > now) return firstSchedule(after, now).planned_until;
  const start = after.start_at === null ? -Infinity : boundaryAtOrBefore(after, after.start_at);
  return Math.max(schedule.planned_until, start);
}

/**
 * Returns the schedule of an export that continues after a pause without delivering the missed
 * intervals. It starts with the interval that contains `now`, or at its current position if that is
 * later.
 */
export function resumed(schedule: Schedule, rhythm: BoundedRhythm, now: number): Schedule {
  const planned_until = Math.max(schedule.planned_until, firstSchedule(rhythm, now).planned_until);
  return { planned_until, next_run_at: nextSchedule(rhythm, planned_until) };
}
