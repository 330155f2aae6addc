import { Type } from 'typebox';
import type { Static } from 'typebox';
import { notice_events } from '../../../engine/notices/notice.ts';
import { cursorPageOf, cursorQuery } from '../../../platform/http/lists/cursor.ts';
import { queryInstant } from '../../../platform/http/lists/query_instant.ts';
import { nullable } from '../../../platform/nullable.ts';
import { flag, instant, text, titled, uuid } from '../../../platform/http/schemas.ts';
import { ActivityEntry } from '../../activity/schema.ts';
import { run_kinds, run_statuses } from '../runs/schema.ts';

/** Types of timeline entries. */
export const entry_types = ['runs', 'change', 'pause', 'backfill', 'notice'] as const;

/** Orders of a timeline. */
export const timeline_orders = ['at'] as const;

/** Parameters of `timeline/` that may not be repeated. */
export const TimelineFilter = Type.Object({
  after: Type.Optional(queryInstant('Only from this instant on.')),
  before: Type.Optional(queryInstant('Only before this instant.')),
});

/** The query of `timeline/`. */
export const TimelineQuery = Type.Object({
  ...cursorQuery(timeline_orders).properties,
  ...TimelineFilter.properties,
  type: Type.Optional(
    Type.Array(Type.Enum([...entry_types]), {
      description: 'Only entries of these types; repeated or separated by commas.',
    }),
  ),
});

const Outage = Type.Object({
  began_at: instant('When the first attempt at its runs began.'),
  delivered_at: instant('When the last of its runs had delivered.'),
  failed_attempts: Type.Integer(),
  cause: nullable(text('The error of the last attempt that failed, from the log.')),
});

const Runs = Type.Object({
  status: Type.Enum([...run_statuses]),
  kind: Type.Enum([...run_kinds]),
  count: Type.Integer(),
  records_completed: Type.Integer(),
  bytes_completed: Type.Integer(),
  data_interval_start: instant('Start of the earliest data interval.'),
  data_interval_end: instant('End of the latest one.'),
  first_run: uuid('The run that was planned first.'),
  last_run: uuid('The run that was planned last.'),
  error_code: nullable(Type.String()),
  latest_error: nullable(text('The error of the last run.')),
  outage: nullable(Outage),
});

const Change = Type.Object({
  activity: ActivityEntry.properties.activity,
  changes: ActivityEntry.properties.changes,
  user: nullable({
    ...ActivityEntry.properties.user,
    description: 'Who did it; null for the server, and if the key lacks `activity_log:read`.',
  }),
});

const BackfillEntry = Type.Object({
  id: uuid('The backfill.'),
  has_ended: flag('True for its end, false for its start.'),
  is_run_now: flag('True if `run_now/` started it.'),
  status: text('Its status now.'),
  start_at: instant('Start of its range.'),
  end_at: instant('End of its range.'),
  total_runs: Type.Integer(),
});

const NoticeEntry = Type.Object({
  id: uuid('The notice.'),
  event: Type.Enum([...notice_events]),
  detail: text('What was told.'),
});

/** One thing that happened to an export. Only the field of its type is set; the others are null. */
export const TimelineEntry = titled('TimelineEntry', {
  id: uuid('Together with `at`, it identifies the entry.'),
  at: instant('When it happened; for runs, when the last one was planned.'),
  type: Type.Enum([...entry_types], {
    description:
      '`runs`: equal runs planned on one day (UTC), without those of backfills; completed runs ' +
      'that needed several attempts at the same time are an entry with `outage`. `pause`: a ' +
      'pause or its end. `change`: any other entry of the activity log.',
  }),
  runs: nullable(Runs),
  change: nullable(Change),
  backfill: nullable(BackfillEntry),
  notice: nullable(NoticeEntry),
});
export type TimelineEntry = Static<typeof TimelineEntry>;

/** A page of a timeline. */
export const Timeline = cursorPageOf(TimelineEntry);
