import { afterEnd } from '../after_end.ts';
import type { Engine } from '../../../engine/exports/engine.ts';
import { isoInstant } from '../../../platform/clock.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { areAlike, openGapReader, plainKind } from './gaps.ts';
import type { Gap, SlotKind } from './gaps.ts';
import type { SlotRange, SlotReason, SlotState } from './schema.ts';
import { countDelivered, describeEventTime, readBackfilled } from './event_time.ts';
import { listRunRanges } from './store.ts';
import type { RunRange, Schedule, Scheduled } from './store.ts';

/** The requested slots: bounds in milliseconds, and the most ranges. */
export type SlotsWanted = { after: number; before: number; limit: number };

type Range = Gap & Omit<SlotRange, 'start_at' | 'end_at' | 'detail' | keyof SlotKind>;

/**
 * Lists the slots from `after` to `before` as adjacent ranges, oldest first. Beyond the limit the
 * last range ends before `before`.
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
    for (const gap of gaps.describe(reached, to)) ranges.push({ ...gap, ...no_runs });
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
    .map((range) => withDetail(range, (state) => stateSentence(state, settle_seconds)));
}

/**
 * Lists the slots of event time, with the deliveries of backfills by event time, as
 * `listSlotRanges` does for the schedule.
 */
export async function listEventTimeRanges(
  tx: Transaction,
  schedule: Schedule,
  { after, before, limit }: SlotsWanted,
): Promise<SlotRange[]> {
  const backfilled = await readBackfilled(tx, schedule, { after, before });
  const gaps = describeEventTime(schedule, backfilled, { after, before });
  const ranges = gaps.slice(0, limit).map((gap) => ({ ...gap, ...no_runs }));
  const rows = await countDelivered(
    tx,
    backfilled,
    ranges.map(({ from }) => from),
    ranges.at(-1)?.to ?? before,
  );
  return ranges.map((range, index) =>
    withDetail({ ...range, ...(rows.get(index) ?? no_rows) }, eventTimeSentence),
  );
}

const no_rows = { records_completed: 0, records_total_count: 0 };
const no_runs = { first_run: null, last_run: null, ...no_rows };

function rangeOf({ state, needed_retries, start_at, end_at, ...counts }: RunRange): Range {
  const kind: SlotKind =
    state === 'cancelled' || state === 'left_by_another_run'
      ? plainKind('missing', state)
      : { state, reason: null, needed_retries };
  return { ...counts, ...kind, from: Date.parse(start_at), to: Date.parse(end_at) };
}

function merged(ranges: Range[]): Range[] {
  const result: Range[] = [];
  for (const range of ranges) {
    const last = result.at(-1);
    if (last === undefined || !areAlike(last, range)) {
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

function withDetail(
  { from, to, ...range }: Range,
  sentenceOf: (state: SlotState) => string,
): SlotRange {
  const { state, reason, needed_retries } = range;
  const is_retried = state === 'under_way' && needed_retries;
  return {
    start_at: isoInstant(from),
    end_at: isoInstant(to),
    detail: is_retried ? retried : reason === null ? sentenceOf(state) : reasons[reason],
    ...range,
  };
}

function eventTimeSentence(state: SlotState): string {
  if (state === 'waiting') return 'A backfill will deliver it.';
  if (state !== 'delivered') return states[state];
  return 'A backfill delivered the events of this time. The schedule delivers later arrivals.';
}

function stateSentence(state: SlotState, settle_seconds: number): string {
  const waiting =
    `Its run starts ${afterEnd(settle_seconds)} of this interval, once its rows are final. It ` +
    'leaves out rows that were delivered ahead.';
  return state === 'waiting' ? waiting : states[state];
}

const retried = 'An attempt at its run failed. Sluice tries again.';

const states: Record<Exclude<SlotState, 'waiting'>, string> = {
  delivered: 'All events ingested then were delivered.',
  under_way: 'A run is delivering it.',
  in_doubt:
    'A run failed during its commit, so the rows may or may not be there: retry the run to ' +
    'find out.',
  failed: 'Its run failed: see the error of the run, and retry it.',
  missing: 'It was not delivered.',
  outside: 'No backfill has requested it.',
};

/** Why a slot is missing or outside, and what to do. */
const reasons: Record<SlotReason, string> = {
  paused:
    'The export was paused when the slot was due: start a backfill by `inserted_at` to ' +
    'deliver it.',
  made_later: 'It is older than this export: start a backfill to deliver it.',
  not_planned:
    'It is due, but no worker has planned it: the server was down, or has fallen behind. It ' +
    'is planned as soon as a worker runs.',
  earlier_revision:
    'It was delivered before the export restarted, after a change or because its table ' +
    'disappeared: start a backfill to deliver it again.',
  cancelled: 'Its run was cancelled: retry the run, or start a backfill.',
  left_by_another_run:
    'A part of it belonged to another run, which ended without it: start a backfill to ' +
    'deliver the rest.',
  schedule_changed: 'The schedule skipped it after a change: start a backfill to deliver it.',
  before_start: 'It ends before `start_at` of the export.',
  after_end: 'It ends after `end_at` of the export.',
  no_backfill:
    'No backfill by event time has requested it. The schedule delivers events by the time of ' +
    'their ingestion.',
};
