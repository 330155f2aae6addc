import { Type } from 'typebox';
import type { Static } from 'typebox';
import { backfill_times } from '../../../engine/exports/planning/backfill_area.ts';
import { listed_runs_max } from '../../../engine/exports/planning/backfill_counts.ts';
import { nullable } from '../../../platform/nullable.ts';
import { flag, instant, text, titled, uuid, whole } from '../../../platform/http/schemas.ts';
import { BatchExport } from '../schema.ts';

/** The body of `backfill/`. */
export const NewBackfill = Type.Object({
  start_at: instant('Start of the range (inclusive), with a zone.'),
  end_at: instant('End of the range (exclusive), with a zone; at most one interval after now.'),
  mode: Type.Optional(
    Type.Enum(['missing', 'all'], {
      description:
        '`missing` (default): only rows that were not delivered yet. `all`: every row again.',
    }),
  ),
  by: Type.Optional(
    Type.Enum([...backfill_times], {
      description:
        '`timestamp` (default): the events that happened in the range. `inserted_at`: events ' +
        'ingested in the range, whenever they happened; persons only have this time, that of ' +
        'their latest change.',
    }),
  ),
  dry_run: Type.Optional(flag('Only answer the plan: its runs, and their rows.')),
});

export type NewBackfill = Static<typeof NewBackfill>;

/** A backfill in answers. */
export const Backfill = titled('Backfill', {
  id: nullable(uuid('Null for a dry run.')),
  batch_export: uuid(),
  status: text(
    '`Starting`, `Running`, `Completed`, `Failed`, `Cancelled`; `DryRun` for a dry run.',
  ),
  mode: Type.Enum(['missing', 'all']),
  by: Type.Enum([...backfill_times], { description: 'The clock of the range.' }),
  is_run_now: flag('True if `run_now/` started it: it delivers rows ahead of the schedule.'),
  start_at: instant('Start of the range (inclusive).'),
  end_at: instant('End of the range (exclusive).'),
  runs: whole('Number of runs: one for each interval that the range touches.'),
  detail: nullable(
    text('Its plan, progress or result, as a sentence. Null for backfills of earlier versions.'),
  ),
  settles_at: nullable(
    instant(
      'Its runs are planned from this time on: all events ingested before the request are ' +
        'final then.',
    ),
  ),
  created_at: nullable(instant('Time of the request.')),
  finished_at: nullable(instant('Time of its end; null while it is in progress.')),
  last_updated_at: nullable(instant('Time of its latest change.')),
  progress: Type.Object({
    total_runs: Type.Integer(),
    finished_runs: whole('Runs that ended, with any status.'),
    completed_runs: Type.Integer(),
    records_completed: whole('Rows that are safe at the destination.'),
    records_total_count: whole('Rows counted at the source so far; for a dry run, all of them.'),
    records_elsewhere: whole(
      'Rows of the range that mode `missing` left out so far, because this export had ' +
        'delivered them or had them in other runs.',
    ),
  }),
  plan: Type.Optional(
    nullable(
      Type.Object(
        {
          records_delivered_count: nullable(
            whole(
              'Rows of the range that this export has delivered already, or is delivering ' +
                'in other runs; mode `missing` leaves them out. Null with a query that ' +
                'changes the rows of the model.',
            ),
          ),
          runs_with_records: whole('How many runs have rows.'),
          runs: Type.Array(
            Type.Object({
              data_interval_start: instant('Start of the data interval (inclusive).'),
              data_interval_end: instant('End of the data interval (exclusive).'),
              records_total_count: whole('Rows that the run delivers.'),
            }),
            { description: `The runs that have rows, oldest first, at most ${listed_runs_max}.` },
          ),
        },
        {
          description:
            'The plan of the backfill: in the answer to a dry run, and in the answer that ' +
            'starts a backfill. Null with a query, and if counting takes longer than two ' +
            'seconds.',
        },
      ),
    ),
  ),
});

export type Backfill = Static<typeof Backfill>;

/** The answer of `backfill/`: the batch export and the backfill. */
export const BatchExportWithBackfill = titled('BatchExportWithBackfill', {
  ...BatchExport.properties,
  backfill: Backfill,
});

/** The answer of a POST to `backfills/`: the same, and the id. */
export const BatchExportWithBackfillId = titled('BatchExportWithBackfillId', {
  ...BatchExportWithBackfill.properties,
  backfill_id: nullable(uuid('The id of the backfill; null of a dry run.')),
});

/** Ranges that an export had delivered before its restart, and has not delivered since. */
export const EarlierDeliveries = titled('EarlierDeliveries', {
  ranges: Type.Array(
    Type.Object({
      by: Type.Enum([...backfill_times], { description: 'The clock of the range.' }),
      start_at: instant('Start of the range (inclusive).'),
      end_at: instant('End of the range (exclusive).'),
    }),
    { description: 'Ranges for `backfill/`, at most one for each clock.' },
  ),
});
export type EarlierDeliveries = Static<typeof EarlierDeliveries>;
