import { Type } from 'typebox';
import type { Static } from 'typebox';
import { nullable } from '../../../platform/nullable.ts';
import { queryInstant } from '../../../platform/http/lists/query_instant.ts';
import { instant, titled, uuid, whole } from '../../../platform/http/schemas.ts';
import { run_kinds } from '../runs/schema.ts';

const seconds = (description: string) => nullable(Type.Number({ description }));

/** Units of a chart's points. */
export const metric_intervals = ['run', 'hour', 'day'] as const;

/** Times of a run that can place its point on a chart. */
export const metric_times = ['created_at', 'data_interval_start'] as const;

/** The query parameters of `metrics/`. */
export const MetricsQuery = Type.Object({
  after: Type.Optional(
    queryInstant('Only runs at or after this instant, by `by`; default 30 days before `before`.'),
  ),
  before: Type.Optional(queryInstant('Only runs before this instant; default now.')),
  by: Type.Optional(
    Type.Enum([...metric_times], {
      description:
        'The time of a run that places its point: when it was planned (`created_at`, ' +
        'default), or the start of its data (`data_interval_start`), so that a backfill ' +
        'appears where its rows belong.',
    }),
  ),
  interval: Type.Optional(
    Type.Enum([...metric_intervals], {
      description: 'Unit of a point: one run, or all runs of an hour or day (UTC). Default `run`.',
    }),
  ),
});

const RunCounts = Type.Object({
  completed: Type.Integer(),
  failed: whole('`Failed`, `FailedRetryable`, `TimedOut` and `Terminated`.'),
  cancelled: Type.Integer(),
  open: whole('`Starting` and `Running`.'),
});

/** One point of a chart. */
export const MetricPoint = titled('BatchExportMetricPoint', {
  start_at: instant('The time of the run selected by `by`, or the start of the hour or day.'),
  kind: Type.Enum([...run_kinds], {
    description:
      'Runs of backfills and make-up runs are separate points; retries count with the run ' +
      'that they repeat.',
  }),
  run: nullable(uuid('The run; null for an hour or day.')),
  data_interval_end: instant("End of the run's data; for an hour or day, of its latest run."),
  runs: RunCounts,
  rows: whole(
    'Rows that its completed runs delivered. Runs that repeat a delivery, such as after ' +
      'an erasure, do not count.',
  ),
  bytes: whole('Bytes of these rows.'),
  duration_seconds: seconds(
    'From the first attempt of a run to its end; for an hour or day the mean of the runs ' +
      'that ended, null without one.',
  ),
  duration_seconds_max: seconds('The longest of these.'),
  lag_seconds: seconds(
    'From the end of the data interval to the end of its completed run; for an hour or day ' +
      'the mean. Null without one, for every other kind than `scheduled`, and for runs that ' +
      'write a delivery once more.',
  ),
  lag_seconds_max: seconds('The longest of these.'),
});
export type MetricPoint = Static<typeof MetricPoint>;

/** The answer of `metrics/`. */
export const BatchExportMetrics = titled('BatchExportMetrics', {
  after: instant('The range of the points.'),
  before: instant('Its end (exclusive).'),
  interval: Type.Enum([...metric_intervals]),
  by: Type.Enum([...metric_times]),
  results: Type.Array(MetricPoint, {
    description: 'Oldest first; hours and days without runs are left out.',
  }),
});
