import { boundaryAtOrBefore } from '../../engine/exports/planning/interval.ts';
import type { Interval } from '../../engine/exports/planning/interval.ts';
import { firstSchedule, nextSchedule } from '../../engine/exports/planning/plan.ts';

/** When an export runs; instants in milliseconds. */
export type Rhythm = {
  interval: Interval;
  timezone: string;
  start_at: number | null;
  end_at: number | null;
};

/**
 * The state of planning: everything before `planned_until` is planned; the next run covers
 * [planned_until, next_run_at), or does not exist if that is null.
 */
export type Schedule = { planned_until: number; next_run_at: number | null };

/**
 * Returns the schedule after a change of the interval. Guarantee: no gap and no overlap. Planned
 * runs stay planned and the next run begins behind them, whatever the new interval; only a
 * `start_at` that was moved beyond leaves a gap, as intended, and an export that still waits for
 * its `start_at` waits for the new one.
 */
export function rescheduled(
  schedule: Schedule,
  before: Rhythm,
  after: Rhythm,
  now: number,
): Schedule {
  const planned_until =
    before.start_at === after.start_at ? schedule.planned_until : startedAt(schedule, after, now);
  return { planned_until, next_run_at: nextSchedule(after, planned_until) };
}

function startedAt(schedule: Schedule, after: Rhythm, now: number): number {
  if (schedule.planned_until > now) return firstSchedule(after, now).planned_until;
  const start =
    after.start_at === null
      ? -Infinity
      : boundaryAtOrBefore(after.interval, after.timezone, after.start_at);
  return Math.max(schedule.planned_until, start);
}

/**
 * The schedule of an export that goes on after a pause without making up for it: from the interval
 * in which `now` lies, or from where it stands when that is later.
 */
export function resumed(schedule: Schedule, rhythm: Rhythm, now: number): Schedule {
  const planned_until = Math.max(schedule.planned_until, firstSchedule(rhythm, now).planned_until);
  return { planned_until, next_run_at: nextSchedule(rhythm, planned_until) };
}

/**
 * The schedule that plans again from the earliest of the given starts of scheduled runs that will
 * not be delivered.
 */
export function rewound(schedule: Schedule, rhythm: Rhythm, starts: number[]): Schedule {
  const planned_until = Math.min(schedule.planned_until, ...starts);
  return { planned_until, next_run_at: nextSchedule(rhythm, planned_until) };
}
