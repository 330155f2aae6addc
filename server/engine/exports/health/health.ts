import type { RowAges, RunEnd } from '../../model/run.ts';

/**
 * The health of an export. Failures, volume and `is_incomplete` (an interval of its schedule
 * finally failed and was not delivered since) concern `revision`. So does `lacks_backfilled` (the
 * same for rows of a backfill). `delivered_until` is the end of the newest interval that its
 * schedule has delivered (ISO 8601). The ages belong to the rows of the schedule's latest run with
 * rows.
 */
export type Health = RowAges & {
  revision: number;
  consecutive_failures: number;
  is_failing: boolean;
  is_late: boolean;
  is_volume_unusual: boolean;
  is_incomplete: boolean;
  /** True if the destination refused rows of its newest run, which were set aside. */
  is_rejecting: boolean;
  lacks_backfilled: boolean;
  /** True if the revision lacks rows that earlier ones delivered; only `lacking.ts` changes it. */
  lacks_earlier: boolean;
  delivered_until: string | null;
};

/**
 * The four conditions of an export; each begins with a notice of its name and ends with
 * `recovered`.
 */
export type Condition = 'failing' | 'late' | 'unusual_volume' | 'rejecting';

/** A condition that has begun or ended. */
export type ConditionChange = { condition: Condition; has_begun: boolean };

/**
 * The effect of an ended run on its export's health. `delivered_until` is null for a make-up run of
 * a backfill; `is_unusual` is undefined if it cannot be judged. A completed run without rows never
 * contacted the destination (`has_rows`).
 */
export type EndedRun = {
  status: RunEnd['status'];
  revision: number;
  delivered_until: string | null;
  is_volume_unusual: boolean | undefined;
  is_incomplete: boolean;
  lacks_backfilled: boolean;
  has_rows: boolean;
  has_rejected: boolean;
  row_ages: RowAges;
};

/** Returns the health of a new export. */
export function newHealth(revision: number): Health {
  return {
    revision,
    consecutive_failures: 0,
    is_failing: false,
    is_late: false,
    is_volume_unusual: false,
    is_incomplete: false,
    is_rejecting: false,
    lacks_backfilled: false,
    lacks_earlier: false,
    delivered_until: null,
    oldest_row_seconds: null,
    newest_row_seconds: null,
  };
}

/**
 * Returns the health carried into a new revision: a failing export stays failing until one of its
 * runs completes.
 */
export function healthInRevision(before: Health, revision: number): Health {
  if (revision === before.revision) return before;
  return {
    ...before,
    revision,
    consecutive_failures: 0,
    is_volume_unusual: false,
    is_incomplete: false,
    is_rejecting: false,
    lacks_backfilled: false,
    oldest_row_seconds: null,
    newest_row_seconds: null,
  };
}

/**
 * Returns the health after a run of the export's present revision, and the changes. Guarantees: a
 * condition changes only if it was different before. A cancelled run changes nothing. A new
 * revision begins without failures and with a usual volume, and stays failing until one of its runs
 * completes if its predecessor was failing. A run without rows neither ends nor adds a failure,
 * because it does not show whether the destination works.
 */
export function healthAfterRun(
  before: Health,
  run: EndedRun,
): { health: Health; changes: ConditionChange[] } {
  if (run.status === 'Cancelled') return { health: before, changes: [] };
  const { is_incomplete, lacks_backfilled } = run;
  const current = {
    ...healthInRevision(before, run.revision),
    is_incomplete,
    lacks_backfilled,
  };
  if (run.status !== 'Completed') {
    const health = {
      ...current,
      is_failing: true,
      consecutive_failures: current.consecutive_failures + 1,
    };
    return { health, changes: changesBetween(current, health) };
  }
  // The ages of a backfill's make-up run say nothing about the schedule.
  const has_ages = run.delivered_until !== null && run.row_ages.oldest_row_seconds !== null;
  const health = {
    ...current,
    ...(has_ages ? run.row_ages : {}),
    ...(run.has_rows
      ? { is_failing: false, consecutive_failures: 0, is_rejecting: run.has_rejected }
      : {}),
    is_volume_unusual: run.is_volume_unusual ?? current.is_volume_unusual,
    delivered_until: later(current.delivered_until, run.delivered_until),
  };
  return { health, changes: changesBetween(current, health) };
}

/**
 * Returns a sentence about the progress of the schedule. It claims nothing about earlier intervals,
 * which may have failed or be in retry.
 */
export function deliveredSentence(delivered_until: string | null): string {
  return delivered_until === null
    ? 'The schedule has not delivered anything yet.'
    : `The newest delivered interval ended at ${delivered_until}.`;
}

function changesBetween(before: Health, after: Health): ConditionChange[] {
  const changes: ConditionChange[] = [];
  if (before.is_failing !== after.is_failing)
    changes.push({ condition: 'failing', has_begun: after.is_failing });
  if (before.is_volume_unusual !== after.is_volume_unusual)
    changes.push({ condition: 'unusual_volume', has_begun: after.is_volume_unusual });
  if (before.is_rejecting !== after.is_rejecting)
    changes.push({ condition: 'rejecting', has_begun: after.is_rejecting });
  return changes;
}

function later(one: string | null, other: string | null): string | null {
  if (one === null || other === null) return one ?? other;
  return Date.parse(one) >= Date.parse(other) ? one : other;
}
