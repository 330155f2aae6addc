import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { QuerySchema } from '../../engine/query/custom_query.ts';
import {
  rejected_rows_limit,
  rejected_rows_modes,
} from '../../engine/model/destination/rejected_rows.ts';
import { model_names } from '../../engine/model/models/model.ts';
import { intervals } from '../../engine/exports/planning/interval.ts';
import { lineOfText } from '../../platform/line_of_text.ts';
import { nullable } from '../../platform/nullable.ts';
import { flag, instant, text, titled, uuid, whole } from '../../platform/http/schemas.ts';
import { ManagedBy } from '../managed/schema.ts';
import { alias_answers, alias_inputs } from './aliases.ts';
import { rhythm_answers, rhythm_inputs } from './rhythm.ts';
import { StoredTags, Tags } from './tags.ts';
import { typed_answers, typed_inputs, typed_settings } from './typed_columns.ts';
import { verified_answers } from './verified.ts';
import { write_answers, write_inputs } from './write_mode.ts';
import { BatchExportRun } from './runs/schema.ts';

/** Most characters of a query. */
export const query_characters_max = 65_536;

const config = Type.Object(
  {},
  {
    additionalProperties: true,
    description: "The destination's own keys. Answers never contain secret keys.",
  },
);

const listed = model_names.map((name) => `\`${name}\``).join(', ');

const fields = {
  name: lineOfText(1000, 'A name for people.'),
  model: Type.Enum([...model_names], {
    description:
      'The exported records: `events`, `persons`, `person_distinct_ids` (maps distinct ids ' +
      'to persons), `sessions`, or `groups` (companies and the like, from `$groupidentify`).',
  }),
  connection_id: nullable(
    uuid(
      'The connection with address and credentials (docs/connections.md): the config then has ' +
        'none of its keys. Null: the config has all keys.',
    ),
  ),
  interval: Type.Enum([...intervals], {
    description:
      'Interval of the scheduled runs. Minutes and hours start on the UTC clock, days and ' +
      'weeks by `timezone` and the offsets.',
  }),
  paused: flag('A paused export plans no scheduled runs; backfills and runs in progress continue.'),
  last_paused_at: nullable(instant('Time of the latest pause.')),
  start_at: nullable(instant('No scheduled run covers an interval that ends before this.')),
  end_at: nullable(instant('No scheduled run covers an interval that ends after this.')),
  freshness_seconds: nullable(
    Type.Integer({
      minimum: 60,
      maximum: 7_776_000,
      description:
        'Age of the newest delivered interval from which the export counts as late; longer ' +
        'than one interval. Null: two intervals, `SLUICE_SETTLE_SECONDS`, and ten minutes.',
    }),
  ),
  rejected_rows: Type.Enum([...rejected_rows_modes], {
    description:
      'Treatment of a row that the destination refuses for its content. `stop` (default): the ' +
      'run fails. `set_aside`: the row goes to the table `<table_name>_rejected` with the ' +
      'reason, and the others are delivered. Only Postgres, MySQL, Redshift and Snowflake can ' +
      'set rows aside.',
  }),
  rejected_rows_max: Type.Integer({
    minimum: 1,
    maximum: rejected_rows_limit,
    description:
      'A run fails and delivers nothing if the destination refuses more rows than this. ' +
      'Default 1000.',
  }),
  rejected_percent_max: Type.Integer({
    minimum: 1,
    maximum: 100,
    description:
      'A run also fails if the destination refuses more than this percentage of its rows; ten ' +
      'refused rows are always allowed. Default 10.',
  }),
  custom_query: nullable(
    Type.String({
      maxLength: query_characters_max,
      description:
        `One SELECT over ${listed} in the query language (docs/query_language.md). Its columns ` +
        'are the columns of the export; null exports the columns of the model.',
    }),
  ),
};

/** The interval of the next scheduled run. */
export const NextRun = Type.Object({
  data_interval_start: instant('Start of its data interval (inclusive).'),
  data_interval_end: instant(
    'End of its data interval (exclusive); the run is planned once the interval is final.',
  ),
});

/** The batch export in answers. */
export const BatchExport = titled('BatchExport', {
  id: uuid(),
  team_id: whole('The project whose data is exported.'),
  name: text('A name for people.'),
  model: fields.model,
  destination: Type.Object(
    { type: Type.String(), config: nullable(config) },
    { description: 'Where the data goes; secret keys of the config are left out.' },
  ),
  connection_id: fields.connection_id,
  interval: fields.interval,
  ...rhythm_answers,
  paused: fields.paused,
  created_at: instant('When it was created.'),
  last_updated_at: instant('When it was changed last.'),
  last_paused_at: fields.last_paused_at,
  pause_reason: nullable(
    Type.Object(
      {
        code: Type.Enum(['repeated_failures', 'not_reconciled']),
        detail: text('A sentence that says what happened and what to do.'),
        at: instant('When the server paused it.'),
      },
      {
        description:
          'Why the server paused the export by itself; null while it is active and when a ' +
          'person paused it.',
      },
    ),
  ),
  start_at: fields.start_at,
  end_at: fields.end_at,
  freshness_seconds: fields.freshness_seconds,
  rejected_rows: fields.rejected_rows,
  rejected_rows_max: fields.rejected_rows_max,
  rejected_percent_max: fields.rejected_percent_max,
  tags: StoredTags,
  next_run: nullable({
    ...NextRun,
    description:
      'The scheduled run that comes next; null while paused and after `end_at`. `runs/` ' +
      'says when it is due.',
  }),
  latest_runs: Type.Array(BatchExportRun, { description: 'The 10 newest runs, newest first.' }),
  custom_query: fields.custom_query,
  schema: nullable(
    Type.Object(
      {
        fields: Type.Array(
          Type.Object({
            expression: text('The expression that the analytics store evaluates for the column.'),
            alias: text('The name of the column.'),
          }),
        ),
        values: Type.Unsafe<QuerySchema['values']>({
          type: 'object',
          description: 'The values of the placeholders in the expressions, by name.',
        }),
        custom_query: text('The query as it was sent.'),
      },
      { description: 'The resolved custom query; null without one.' },
    ),
  ),
  ...typed_answers,
  ...write_answers,
  ...alias_answers,
  ...verified_answers,
  managed_by: ManagedBy,
});
export type BatchExport = Static<typeof BatchExport>;

const optional = {
  model: Type.Optional(fields.model),
  paused: Type.Optional(fields.paused),
  last_paused_at: Type.Optional(fields.last_paused_at),
  start_at: Type.Optional(fields.start_at),
  end_at: Type.Optional(fields.end_at),
  freshness_seconds: Type.Optional(fields.freshness_seconds),
  rejected_rows: Type.Optional(fields.rejected_rows),
  rejected_rows_max: Type.Optional(fields.rejected_rows_max),
  rejected_percent_max: Type.Optional(fields.rejected_percent_max),
  tags: Type.Optional(Tags),
  custom_query: Type.Optional(fields.custom_query),
  connection_id: Type.Optional(fields.connection_id),
  ...rhythm_inputs,
  ...typed_settings,
  ...write_inputs,
};
const destination = Type.Object({ type: Type.String(), config: nullable(config) });

/** The settings of an export, each under one name. */
export const BatchExportSettings = Type.Object({
  name: fields.name,
  destination,
  interval: fields.interval,
  ...optional,
});

/**
 * The body of PUT: `name`, `destination` and `interval` are required. Other absent fields keep
 * their values, except the time zone and the offsets.
 */
export const BatchExportReplacement = Type.Object({
  ...BatchExportSettings.properties,
  ...typed_inputs,
  ...alias_inputs,
});

/** The body of POST. */
export const NewBatchExport = Type.Object({
  ...BatchExportReplacement.properties,
  team_id: Type.Optional(
    whole(
      'Under an organization: the project whose data is exported, by default its oldest. ' +
        'Under a project: ignored.',
    ),
  ),
});

/** The body of PATCH: absent fields keep their values, and the config is merged key by key. */
export const BatchExportPatch = Type.Object({
  name: Type.Optional(fields.name),
  destination: Type.Optional(
    Type.Object({ type: Type.Optional(Type.String()), config: Type.Optional(nullable(config)) }),
  ),
  interval: Type.Optional(fields.interval),
  ...optional,
  ...typed_inputs,
  ...alias_inputs,
});
export type BatchExportPatch = Static<typeof BatchExportPatch>;

/** The body of `unpause/`. */
export const Unpause = Type.Object({
  backfill: Type.Optional(flag('Deliver the intervals missed during the pause. Default false.')),
});
