import { isCovered, isTouched } from '../../../engine/model/ledger/spans.ts';
import {
  boundaryAfter,
  boundaryAtOrBefore,
  intervalCount,
} from '../../../engine/exports/planning/interval.ts';
import type { SlotReason, SlotState } from './schema.ts';
import type { Scheduled } from './store.ts';

/** Time that workers need to plan due runs, also after a change of the schedule. */
const planning_ms = 60_000;

/** The state of a slot, its reason, and whether a failure came before its delivery. */
export type SlotKind = { state: SlotState; reason: SlotReason | null; needed_retries: boolean };
/** A state of a slot without an earlier failure. */
export const plainKind = (state: SlotState, reason: SlotReason | null = null): SlotKind => ({
  state,
  reason,
  needed_retries: false,
});
/** Returns true if two adjacent slots form one range. */
export function areAlike(one: SlotKind, other: SlotKind): boolean {
  return (
    one.state === other.state &&
    one.reason === other.reason &&
    one.needed_retries === other.needed_retries
  );
}
/** Adjacent slots without a scheduled run that have the same state; times in milliseconds. */
export type Gap = SlotKind & { from: number; to: number; slots: number };

/** Describes slots without a scheduled run. */
export type GapReader = {
  /**
   * Returns the slots between two boundaries (or ends of runs), split where their state changes.
   * Its cost depends on the number of causes in between, not on the number of slots.
   */
  describe(from: number, to: number): Gap[];
};

/** Opens a reader for the gaps of one export. */
export function openGapReader(scheduled: Scheduled, settle_ms: number): GapReader {
  const causes = causesOf(scheduled, settle_ms);
  const edgesBetween = (from: number, to: number): number[] => {
    const edges = new Set([from]);
    // A cause after the last slot may still fall into its settling time.
    for (let index = firstAfter(causes, from); index < causes.length; index += 1) {
      const at = causes[index]!;
      if (at > to + settle_ms) break;
      const boundary = boundaryAtOrBefore(scheduled, at);
      for (const edge of [boundary, boundaryAfter(scheduled, boundary)])
        if (edge > from && edge < to) edges.add(edge);
    }
    return [...edges].sort((one, other) => one - other);
  };
  return {
    describe: (from, to) => {
      const starts = edgesBetween(from, to);
      return starts.map((start, index) => {
        const end = starts[index + 1] ?? to;
        // All slots between two edges have the same state, so the first one decides.
        const first_end = Math.min(boundaryAfter(scheduled, start), end);
        return {
          ...kindOfSlot(scheduled, settle_ms, start, first_end),
          from: start,
          to: end,
          slots: intervalCount(scheduled, start, end),
        };
      });
    },
  };
}

/** Returns the instants at which the state of a slot may change, in order. */
function causesOf(scheduled: Scheduled, settle_ms: number): number[] {
  const { delivered, taken, pauses, earlier, now } = scheduled;
  const own = [scheduled.created_at, scheduled.start_at, scheduled.end_at, scheduled.planned_until];
  const causes = [
    ...[...delivered, ...taken, ...pauses, ...earlier].flatMap((span) => [span.from, span.to]),
    ...pauses.map((span) => span.from - settle_ms),
    ...own.flatMap((at) => (at === null ? [] : [Date.parse(at)])),
    now,
    now - settle_ms,
    now - settle_ms - planning_ms,
  ];
  return causes.filter(Number.isFinite).sort((one, other) => one - other);
}

function firstAfter(sorted: number[], at: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

function kindOfSlot(scheduled: Scheduled, settle_ms: number, from: number, to: number): SlotKind {
  const { delivered, taken, pauses, earlier, now } = scheduled;
  const missing = (reason: SlotReason) => plainKind('missing', reason);
  if (isCovered(delivered, from, to)) return plainKind('delivered');
  if (scheduled.start_at !== null && to <= Date.parse(scheduled.start_at))
    return plainKind('outside', 'before_start');
  if (scheduled.end_at !== null && to > Date.parse(scheduled.end_at))
    return plainKind('outside', 'after_end');
  if (isCovered(taken, from, to)) return plainKind('under_way');
  if (to + settle_ms > now) return plainKind('waiting');
  if (from >= Date.parse(scheduled.planned_until)) {
    if (scheduled.paused) return missing('paused');
    const due = Math.max(to + settle_ms, Date.parse(scheduled.schedule_changed_at));
    return due + planning_ms > now ? plainKind('waiting') : missing('not_planned');
  }
  if (to <= Date.parse(scheduled.created_at)) return plainKind('outside', 'made_later');
  // A slot is planned after it has settled, so a pause also skips slots that had not settled when
  // it began.
  if (pauses.some((pause) => to > pause.from - settle_ms && to <= pause.to))
    return missing('paused');
  if (isTouched(earlier, from, to)) return missing('earlier_revision');
  return missing('schedule_changed');
}
