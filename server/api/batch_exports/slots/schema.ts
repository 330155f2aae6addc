import { Type } from 'typebox';
import type { Static } from 'typebox';
import { backfill_times } from '../../../engine/exports/planning/backfill_area.ts';
import { intervals } from '../../../engine/exports/planning/interval.ts';
import { nullable } from '../../../platform/nullable.ts';
import { queryInstant } from '../../../platform/http/lists/query_instant.ts';
import { flag, instant, text, titled, uuid, whole } from '../../../platform/http/schemas.ts';

/** States of a slot, best first. */
export const slot_states = [
  'delivered',
  'under_way',
  'in_doubt',
  'failed',
  'missing',
  'waiting',
  'outside',
] as const;
/** One of `slot_states`. */
export type SlotState = (typeof slot_states)[number];

/** Reasons why a slot is missing or outside. */
export const slot_reasons = [
  'paused',
  'made_later',
  'not_planned',
  'earlier_revision',
  'cancelled',
  'left_by_another_run',
  'schedule_changed',
  'before_start',
  'after_end',
  'no_backfill',
] as const;
/** One of `slot_reasons`. */
export type SlotReason = (typeof slot_reasons)[number];

/** The query of `slots/`. */
export const SlotsQuery = Type.Object({
  after: Type.Optional(
    queryInstant('Only slots that end after this instant; default 30 days before `before`.'),
  ),
  before: Type.Optional(queryInstant('Only slots that begin before this instant; default now.')),
  by: Type.Optional(
    Type.Enum([...backfill_times], {
      description:
        'The clock of the slots. `inserted_at` (default): when rows were ingested, the clock of ' +
        'the schedule. `timestamp`: when events happened, with what backfills by event time ' +
        'delivered.',
    }),
  ),
});

/** Adjacent slots in the same state. */
export const SlotRange = titled('SlotRange', {
  start_at: instant('Start of the first slot (inclusive).'),
  end_at: instant('End of the last slot (exclusive).'),
  slots: whole('How many slots it has.'),
  state: Type.Enum([...slot_states], {
    description:
      '`delivered`: all of it, by whatever runs. `under_way`: a run is delivering it. ' +
      '`in_doubt`: a run failed during its commit; a retry finds out. `failed`: its run ' +
      'failed. `missing`: due and not delivered, `reason` says why. `waiting`: not over yet, ' +
      'or not settled. `outside`: nobody asked for it, `reason` says why.',
  }),
  reason: nullable(
    Type.Enum([...slot_reasons], { description: 'Why it is `missing` or `outside`.' }),
  ),
  needed_retries: flag('True if it is `delivered` or `under_way`, and an attempt has failed.'),
  detail: text('The state in a sentence, for people.'),
  first_run: nullable(uuid('The scheduled run of its first slot that has one; null if none has.')),
  last_run: nullable(uuid('The same for its last slot with a run.')),
  records_completed: whole(
    'Rows that the latest runs of the schedule for these slots have delivered; by ' +
      '`timestamp` the completed runs of backfills that begin in the range.',
  ),
  records_total_count: whole('Rows that these runs counted at the source.'),
});
export type SlotRange = Static<typeof SlotRange>;

/** The answer of `slots/`. */
export const Slots = titled('Slots', {
  after: instant('Start of the first requested slot.'),
  before: instant('End of the last requested slot.'),
  interval: Type.Enum([...intervals]),
  timezone: text('Time zone of day and week boundaries.'),
  offset_minutes: whole(
    'Minutes after midnight (weeks: after Monday midnight) at which slots start.',
  ),
  by: Type.Enum([...backfill_times], { description: 'The clock of the slots.' }),
  slots: whole('Number of slots in all ranges.'),
  ranges: Type.Array(SlotRange, { description: 'Oldest first, without a gap between them.' }),
  next: nullable(
    Type.String({
      format: 'uri',
      description: 'Address of the next ranges, if the answer does not have all.',
    }),
  ),
});
export type Slots = Static<typeof Slots>;
