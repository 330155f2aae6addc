import { Type } from 'typebox';
import type { Static } from 'typebox';
import { health_codes } from '../../../engine/exports/health/state.ts';
import { intervals } from '../../../engine/exports/planning/interval.ts';
import { PageQuery, pageOf } from '../../../platform/http/lists/pagination.ts';
import { nullable } from '../../../platform/nullable.ts';
import { instant, text, titled, uuid, whole } from '../../../platform/http/schemas.ts';
import { model_names } from '../../../engine/model/models/model.ts';
import { ManagedBy } from '../../managed/schema.ts';
import { rhythm_answers } from '../rhythm.ts';
import { NextRun } from '../schema.ts';
import { run_statuses } from '../runs/schema.ts';
import { verified_answers } from '../verified.ts';
import { StoredTags, TagAsked } from '../tags.ts';

const slots_default = 24;
const slots_max = 100;

/** The query of `overview/`. */
export const OverviewQuery = Type.Object({
  ...PageQuery.properties,
  health: Type.Optional(
    Type.Array(Type.Enum([...health_codes]), {
      description: 'Only exports with this health; repeated or separated by commas.',
    }),
  ),
  search: Type.Optional(
    Type.String({
      maxLength: 200,
      description: 'Only exports whose name contains this text, in any letter case.',
    }),
  ),
  model: Type.Optional(Type.Enum([...model_names])),
  destination_type: Type.Optional(Type.String({ maxLength: 100 })),
  tag: Type.Optional(TagAsked),
  batch_export: Type.Optional(uuid('Only this export.')),
  ordering: Type.Optional(
    Type.Enum(['-created_at', 'created_at', 'name', '-name', 'health'], {
      description: '`health`: worst first. Default `-created_at`.',
    }),
  ),
  slots: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: slots_max,
      description: `How many values \`records\` has at most; default ${slots_default}.`,
    }),
  ),
});
/** Default number of row values in an answer. */
export const default_slots = slots_default;

const FailedInterval = Type.Object(
  {
    run_id: uuid('Its latest failed run.'),
    data_interval_start: instant('Start of the interval that is not delivered.'),
    data_interval_end: instant('End of that interval.'),
    finished_at: nullable(instant('When that run failed.')),
    latest_error: nullable(text('Why it failed.')),
    retry_run_id: nullable(uuid('The run that retries it now; null without one.')),
  },
  {
    description:
      'The earliest interval of its schedule whose run failed for good and that nothing has ' +
      'delivered since, independent of `delivered_until`; null without one.',
  },
);
const Health = Type.Object({
  code: Type.Enum([...health_codes], {
    description: 'The worst state that applies; a pause comes before all others.',
  }),
  detail: text('The state in sentences, with what to do.'),
  since: nullable(
    instant(
      'Start of the current state: for `failing` and `retrying` the first attempt after the ' +
        'last success. Null: unknown, or up to date.',
    ),
  ),
  intervals: whole(
    'Intervals of the schedule that are due and not delivered: failed, in progress, or not ' +
      'planned yet.',
  ),
  rows_waiting: nullable(whole('Rows of these intervals; null: not all were counted yet.')),
  attempt: nullable(whole('Failed attempts of the run in `retrying`; null without one.')),
  next_try_at: nullable(
    instant('When the destination is tried again after a failure; null: now, or nothing failed.'),
  ),
  cause: nullable(text('The error that caused the state.')),
  changed_at: nullable(
    instant('When the settings were changed after the latest failure; they were not tried since.'),
  ),
  missing_since_change: nullable(
    Type.Object(
      {
        since: instant('When the export restarted.'),
        rows: nullable(whole('Null after some of them were delivered again.')),
        from: nullable(instant('Earliest insertion time; null without a bound.')),
        until: nullable(instant('Latest insertion time; null without a bound.')),
      },
      {
        description:
          'Rows delivered before a change of destination, model or query, or into a table that ' +
          'is gone, and not delivered again since; null if there are none.',
      },
    ),
  ),
});

/** One export at a glance. */
export const ExportOverview = titled('ExportOverview', {
  id: uuid(),
  team_id: Type.Integer(),
  name: Type.String(),
  model: Type.Enum([...model_names]),
  destination_type: Type.String(),
  interval: Type.Enum([...intervals]),
  ...rhythm_answers,
  paused: Type.Boolean(),
  created_at: instant('When it was created.'),
  tags: StoredTags,
  health: Health,
  delivered_until: nullable(
    instant('End of the newest interval that its schedule has delivered; null before the first.'),
  ),
  delivered_through: nullable(
    instant(
      'All rows ingested before it, since the first interval of its schedule, are ' +
        'delivered. Unlike `delivered_until`, it stops at the first interval that failed or ' +
        'is in progress. Null before the first delivery.',
    ),
  ),
  oldest_row_seconds: nullable(
    Type.Number({
      minimum: 0,
      description:
        'Age of the oldest row, from ingestion until readers could see it, in the latest ' +
        'scheduled run with rows. Null before the first such run.',
    }),
  ),
  newest_row_seconds: nullable(
    Type.Number({ minimum: 0, description: 'The same for the newest row.' }),
  ),
  ...verified_answers,
  records_by_backfills: nullable(
    whole(
      'Rows delivered by backfills before the first delivery of its schedule; null ' +
        'afterwards.',
    ),
  ),
  next_run: nullable(
    Type.Object({
      ...NextRun.properties,
      due_at: instant('When it is planned.'),
    }),
  ),
  open_runs: whole('Runs that are planned or in progress.'),
  latest_run: nullable(
    Type.Object({
      id: uuid(),
      status: Type.Enum([...run_statuses]),
      created_at: instant('When it was planned.'),
      finished_at: nullable(instant('When it ended.')),
    }),
  ),
  retrying: nullable(
    Type.Object(
      {
        run_id: uuid(),
        data_interval_start: instant('Start of the interval that is not delivered.'),
        data_interval_end: instant('End of that interval.'),
        since: instant('When a worker first took it.'),
        latest_error: text('Why its latest attempt failed.'),
      },
      {
        description:
          'The earliest run in progress that has failed before; its rows are missing, ' +
          'independent of `delivered_until`. Null without one.',
      },
    ),
  ),
  failed_interval: nullable(FailedInterval),
  records: Type.Array(Type.Integer(), {
    description: 'Rows of the latest completed runs of the schedule, oldest first.',
  }),
  records_day: nullable(
    whole(
      'Rows that runs planned in the last 24 hours have delivered, without runs that write a ' +
        'delivery once more; null with `slots=0`.',
    ),
  ),
  managed_by: ManagedBy,
});
export type ExportOverview = Static<typeof ExportOverview>;
/** A state of an export. */
export type HealthCode = ExportOverview['health']['code'];

/** The answer of `overview/`. */
export const Overview = titled('ExportOverviewList', {
  ...pageOf(ExportOverview).properties,
  counts: Type.Object(
    Object.fromEntries(health_codes.map((code) => [code, Type.Integer()])) as Record<
      HealthCode,
      ReturnType<typeof Type.Integer>
    >,
    { description: 'Number of exports in each state, for the whole place without filters.' },
  ),
  tags: Type.Array(Type.Object({ tag: Type.String(), count: Type.Integer() }), {
    description: 'The first 100 tags of the place by name, with how many exports have each.',
  }),
});
