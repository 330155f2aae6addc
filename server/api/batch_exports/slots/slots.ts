import type { Engine } from '../../../engine/exports/engine.ts';
import { isoInstant } from '../../../platform/clock.ts';
import { counted } from '../../../platform/counted.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { openGapReader } from './gaps.ts';
import type { SlotKind } from './gaps.ts';
import type { SlotRange, SlotReason, SlotState } from './schema.ts';
import { listRunRanges } from './store.ts';
import type { RunRange, Scheduled } from './store.ts';

/** The wanted slots: boundaries in milliseconds, and the largest number of ranges. */
export type SlotsWanted = { after: number; before: number; limit: number };

type Range = SlotKind &
  Omit<SlotRange, 'start_at' | 'end_at' | 'detail' | 'state' | 'reason'> & {
    from: number;
    to: number;
  };

/**
 * Lists the slots from `after` to `before` as ranges without a gap between them, oldest first.
 * Beyond the limit the last range ends before `before`.
 */
export async function listSlotRanges(
  { settle_seconds }: Pick<Engine, 'settle_seconds'>,
  tx: Transaction,
  scheduled: Scheduled,
  { after, before, limit }: SlotsWanted,
): Promise<SlotRange[]> {
  const { ranges: runs, next_start } = await listRunRanges(tx, scheduled, {
    after: isoInstant(after),
    before: isoInstant(before),
    limit,
  });
  // End of the known range.
  const end = next_start === null ? before : Date.parse(next_start);
  const ranges: Range[] = [];
  const gaps = openGapReader(scheduled, settle_seconds * 1000);
  let reached = after;
  const fill = (to: number) => {
    if (to <= reached) return;
    for (const { from, to: until, slots, state, reason } of gaps.describe(reached, to))
      ranges.push({ state, reason, from, to: until, slots, ...no_runs });
    reached = to;
  };
  for (const run of runs) {
    fill(Math.min(Date.parse(run.start_at), end));
    ranges.push(rangeOf(run));
    reached = Date.parse(run.end_at);
  }
  fill(end);
  return merged(ranges)
    .slice(0, limit)
    .map((range) => shown(range, settle_seconds));
}

const no_runs = {
  first_run: null,
  last_run: null,
  records_completed: 0,
  records_total_count: 0,
};

function rangeOf({ state, start_at, end_at, ...counts }: RunRange): Range {
  const kind: SlotKind =
    state === 'cancelled' || state === 'left_by_another_run'
      ? { state: 'missing', reason: state }
      : { state, reason: null };
  return { ...counts, ...kind, from: Date.parse(start_at), to: Date.parse(end_at) };
}

function merged(ranges: Range[]): Range[] {
  const result: Range[] = [];
  for (const range of ranges) {
    const last = result.at(-1);
    if (last === undefined || last.state !== range.state || last.reason !== range.reason) {
      result.push({ ...range });
      continue;
    }
    last.to = range.to;
    last.slots += range.slots;
    last.first_run ??= range.first_run;
    last.last_run = range.last_run ?? last.last_run;
    last.records_completed += range.records_completed;
    last.records_total_count += range.records_total_count;
  }
  return result;
}

function shown({ from, to, ...range }: Range, settle_seconds: number): SlotRange {
  return {
    start_at: isoInstant(from),
    end_at: isoInstant(to),
    detail:
      range.reason === null ? stateSentence(range.state, settle_seconds) : reasons[range.reason],
    ...range,
  };
}

function stateSentence(state: SlotState, settle_seconds: number): string {
  const waiting =
    'Its run is planned once its interval is final, ' +
    `${counted(settle_seconds, 'second')} after its end.`;
  return state === 'waiting' ? waiting : states[state];
}

const states: Record<Exclude<SlotState, 'waiting'>, string> = {
  delivered: 'All events ingested then were delivered.',
  under_way: 'A run is delivering it.',
  in_doubt:
    'A run failed during its commit, so the rows may be there or not: retry the run to find ' +
    'out.',
  failed: 'Its run failed: see the error of the run, and retry it.',
  missing: 'It was not delivered.',
  outside: 'The schedule does not cover it.',
};

/** Why a slot is missing or outside, and what to do. */
const reasons: Record<SlotReason, string> = {
  paused: 'The export was paused when it was due: a backfill by `inserted_at` delivers it.',
  made_later: 'The export was created later: start a backfill to deliver older data.',
  not_planned:
    'It is due, and no worker has planned it: the server was down, or is behind. It is planned ' +
    'as soon as a worker runs.',
  earlier_revision:
    'It was delivered before the export was changed to deliver other rows or to another place: ' +
    'start a backfill to deliver it again.',
  cancelled: 'Its run was cancelled: retry the run, or start a backfill.',
  left_by_another_run:
    'A part of it belonged to another run, which ended without it: start a backfill to ' +
    'deliver the rest.',
  schedule_changed: 'The schedule was moved past it: a backfill delivers it.',
  before_start: 'It ends before `start_at` of the export.',
  after_end: 'It ends after `end_at` of the export.',
};
