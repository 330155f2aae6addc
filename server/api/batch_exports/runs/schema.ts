import { Type } from 'typebox';
import type { Static } from 'typebox';
import { remembered_attempts_max } from '../../../engine/model/run.ts';
import { nullable } from '../../../platform/nullable.ts';
import { queryInstant } from '../../../platform/http/lists/query_instant.ts';
import { instant, text, titled, uuid, whole } from '../../../platform/http/schemas.ts';

/** Every status of a run, in the order of its life. */
export const run_statuses = [
  'Starting',
  'Running',
  'Completed',
  'Failed',
  'FailedRetryable',
  'Cancelled',
  'TimedOut',
  'Terminated',
  'ContinuedAsNew',
] as const;

/** Purposes of a run, in the order of a chart. */
export const run_kinds = ['scheduled', 'make_up', 'backfill'] as const;

/** Reasons to deliver something again. */
const repeat_kinds = ['retry', 'erasure', 'rejected_rows', 'repair'] as const;

/** Answers to a retry of a failed or cancelled run. */
export const retry_answers = [
  'possible',
  'in_progress',
  'completed',
  'delivered',
  'changed',
] as const;
/** One of `retry_answers`. */
export type RetryAnswer = (typeof retry_answers)[number];

/**
 * The largest value of a run's counters in answers, which are 32-bit; the receipt has the exact
 * numbers.
 */
export const counter_max = 2_147_483_647;

const counter = (description: string) =>
  nullable(
    Type.Integer({
      minimum: 0,
      maximum: counter_max,
      description: `${description} Stays at ${counter_max} if there are more.`,
    }),
  );

const step = (description: string) =>
  nullable(
    Type.Integer({
      minimum: 0,
      description: `Milliseconds ${description} Null if the attempt did not get that far.`,
    }),
  );

/** Durations of the steps of one attempt. */
export const AttemptSteps = titled('AttemptSteps', {
  attempt: Type.Integer({ minimum: 1 }),
  began_at: instant('When a worker took the run.'),
  waited_ms: Type.Integer({
    minimum: 0,
    description:
      'Milliseconds of waiting before: for the first attempt since the run was planned, ' +
      'for a later one since the last sign of the attempt before.',
  }),
  counted_ms: step('until the rows to write were known.'),
  read_ms: step('of the writing that were spent waiting for the source.'),
  sent_ms: step(
    'of the writing without `read_ms`, from opening the destination until it has stored ' +
      'all slices.',
  ),
  committed_ms: step('of the commit at the destination.'),
});

/** A run in answers. */
export const BatchExportRun = titled('BatchExportRun', {
  id: uuid(),
  status: Type.Enum([...run_statuses], {
    description:
      '`Failed`: you must change something before a retry can help. `FailedRetryable`: all ' +
      'attempts failed; a retry may help. `Cancelled`: none of its rows is visible.',
  }),
  records_completed: counter('Rows that are safe at the destination.'),
  records_rejected: Type.Integer({
    minimum: 0,
    maximum: counter_max,
    description:
      'Rows that the destination refused and that were set aside. Together with ' +
      '`records_completed` they are `records_total_count` when the run has completed.',
  }),
  latest_error: nullable(text('The latest error, and what to do.')),
  data_interval_start: instant('Start of the data interval (inclusive).'),
  data_interval_end: instant('End of the data interval (exclusive).'),
  cursor: nullable(text('How many slices are safe; null before the first.')),
  created_at: instant('When the run was planned.'),
  cancel_requested_at: nullable(
    instant(
      'When its cancellation was requested. A worker cancels it within about two seconds, ' +
        'unless the destination already shows it.',
    ),
  ),
  finished_at: nullable(instant('Time of its end; null while it is in progress.')),
  last_updated_at: instant('Time of its latest change.'),
  records_total_count: counter(
    'Rows counted at the source before anything was written; null until they are.',
  ),
  batch_export: uuid('The batch export that the run belongs to.'),
  backfill: nullable(uuid('The backfill that asked for the run; null for others.')),
  kind: Type.Enum([...run_kinds], {
    description:
      '`scheduled`: the run of an interval. `backfill`: a run of a backfill. `make_up`: ' +
      "delivers rows that other runs left to a backfill's run, which ended without them. A " +
      'retry has the kind of the run that it retries.',
  }),
  is_run_now: Type.Boolean({
    description: 'True if the backfill of the run was started by `run_now/`.',
  }),
  delivery_id: uuid('Name of the delivery at the destination; a retry of the same rows keeps it.'),
  bytes_completed: Type.Integer({
    minimum: 0,
    description: 'Bytes that are safe at the destination, after compression.',
  }),
  error_code: nullable(text('Short name of the latest error.')),
  next_try_at: nullable(
    instant(
      'When a worker may take the run again after a failed attempt, which `latest_error` is ' +
        'about. Null while a worker has it, before the first failure, and after its end.',
    ),
  ),
  repeats: nullable(
    Type.Enum([...repeat_kinds], {
      description:
        'Why the run repeats a delivery: `retry` of a run that failed, `erasure` writes a ' +
        'delivery without erased rows, `rejected_rows` sends the refused rows again, ' +
        '`repair` writes a delivery again that the destination has changed. Null for a ' +
        'first run.',
    }),
  ),
  oldest_row_seconds: nullable(
    Type.Number({
      minimum: 0,
      description:
        'Age of its oldest delivered row, from ingestion until the run completed, in ' +
        'seconds. Null if it delivered no row, and for most queries.',
    }),
  ),
  newest_row_seconds: nullable(
    Type.Number({ minimum: 0, description: 'The same for its newest delivered row.' }),
  ),
  schema_number: nullable(
    whole(
      "The number of the project's schema whose columns the run has; null where properties " +
        'are one column of JSON, and before a worker took it.',
    ),
  ),
  values_unfit: counter(
    'Values that did not fit the type of their column and are whole in `properties_rest`; ' +
      'null without typed columns.',
  ),
  steps: Type.Array(AttemptSteps, {
    description:
      `The latest ${remembered_attempts_max} attempts at the run, oldest first, with the ` +
      'time of each step. Reading and sending overlap in time, but each millisecond counts ' +
      'for one of them: the sum of the steps is the length of the attempt. While a run is ' +
      'in progress, the times are as of its latest slice. Empty before a worker has taken ' +
      'it.',
  }),
});
export type BatchExportRun = Static<typeof BatchExportRun>;

/** Answers to a retry, by the ids of a page's runs. */
export const RetryAnswers = Type.Record(Type.String(), Type.Enum([...retry_answers]), {
  description:
    "The answer to a retry now, by the ids of the page's failed and cancelled runs. " +
    '`possible`: it would be accepted. `in_progress`, `completed`: another run has retried ' +
    'the same delivery. `delivered`: other runs have delivered its rows, or are about to. ' +
    '`changed`: the export delivers other rows now, or to another place.',
});

/** The query parameters that filter the list of runs, beyond the parameters of a cursor list. */
export const RunFilter = Type.Object({
  after: Type.Optional(queryInstant('Only runs whose ordering field is after this instant.')),
  before: Type.Optional(queryInstant('Only runs whose ordering field is before this instant.')),
});

/** The signed receipt of a completed run, as stored at the destination. */
export const Receipt = Type.Object(
  {
    version: Type.Integer(),
    delivery_id: uuid(),
    run_id: uuid(),
    source_records: whole('Rows counted at the source before anything was written.'),
    records: whole('Rows delivered: source_records minus rejected_records.'),
    rejected_records: Type.Optional(
      whole('Rows that the destination refused and that were set aside; absent: none.'),
    ),
    bytes: Type.Integer(),
    slices: Type.Array(
      Type.Object({
        number: Type.Integer(),
        name: Type.String(),
        records: Type.Integer(),
        rejected_records: Type.Optional(Type.Integer()),
        bytes: Type.Integer(),
        sha256: Type.String(),
        rows_digest: Type.Optional(
          text(
            "Digest of the rows' contents. It allows a comparison of tables after the " +
              'source has removed the rows.',
          ),
        ),
        digest: Type.Optional(
          text(
            'The same by another method: for destinations that Sluice sends Parquet to, ' +
              'and in receipts of older versions.',
          ),
        ),
      }),
    ),
    signature: Type.Object({
      algorithm: Type.String(),
      public_key: Type.String(),
      value: Type.String(),
    }),
  },
  { title: 'Receipt', additionalProperties: true },
);
