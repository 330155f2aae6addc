import { isDeepStrictEqual } from 'node:util';
import sql, { join } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { Type } from 'typebox';
import { destinations } from '../../engine/destinations/index.ts';
import { models } from '../../engine/model/models/index.ts';
import { model_names } from '../../engine/model/models/model.ts';
import type { ModelName } from '../../engine/model/models/model.ts';
import { mergeKey, versionColumns } from '../../engine/destinations/sql_tables/layout.ts';
import { isFields } from '../../platform/fields.ts';
import type { Fields } from '../../platform/fields.ts';
import type { Violation } from '../../platform/http/errors.ts';
import { lineOfText } from '../../platform/line_of_text.ts';
import { nullable } from '../../platform/nullable.ts';

// Fields that clients of the field's living interface send and read. Their meaning is fixed here:
// each is answered, and accepted with the value of its answer.

const about = {
  hogql_query: 'The same as `custom_query`, under the name that other clients use.',
  timezone: "The time zone of days and weeks: the project's.",
  offset_day: 'The day on which weeks begin: 1, Monday; null with other intervals.',
  offset_hour: 'The hour at which days and weeks turn: 0; null with other intervals.',
  incremental_mode:
    '`MERGE` if newer rows replace older ones in the table (all models but `events`, in ' +
    'databases), otherwise `APPEND`; null with a query over them, whose columns decide.',
  primary_key: 'The columns by which rows are merged; null if rows are appended.',
  version_key: 'The columns that say which of two rows is newer; null where none are merged.',
};
const only = ' Other values are refused.';
const modes = ['APPEND', 'MERGE'];

const names = (description: string, item = Type.String()) =>
  nullable(Type.Array(item, { description }));

/** The fields as every answer has them. */
export const alias_answers = {
  hogql_query: nullable(Type.String({ description: about.hogql_query })),
  timezone: Type.String({ description: about.timezone }),
  offset_day: nullable(Type.Integer({ description: about.offset_day })),
  offset_hour: nullable(Type.Integer({ description: about.offset_hour })),
  incremental_mode: nullable(Type.Enum(modes, { description: about.incremental_mode })),
  primary_key: names(about.primary_key),
  version_key: names(about.version_key),
};

const key = lineOfText({ minLength: 1, maxLength: 300 });

/** The fields as a body may have them. */
export const alias_inputs = {
  hogql_query: Type.Optional(
    nullable(Type.String({ maxLength: 65_536, description: about.hogql_query })),
  ),
  timezone: Type.Optional(
    nullable(lineOfText({ maxLength: 100, description: about.timezone + only })),
  ),
  offset_day: Type.Optional(nullable(Type.Integer({ description: about.offset_day + only }))),
  offset_hour: Type.Optional(nullable(Type.Integer({ description: about.offset_hour + only }))),
  incremental_mode: Type.Optional(
    nullable(Type.Enum(modes, { description: about.incremental_mode + only })),
  ),
  primary_key: Type.Optional(names(about.primary_key + only, key)),
  version_key: Type.Optional(names(about.version_key + only, key)),
};

/** Names of the fields that repeat other fields. */
export const alias_names = Object.keys(alias_inputs);

const table_types = destinations
  .filter(({ column_set }) => column_set === 'tables')
  .map(({ type }) => type);
const merged_models = model_names.filter((name) => name !== 'events');
const versionOf = (model: ModelName) => versionColumns({ columns: models[model].columns.tables });

const is_merged = sql`(e.custom_query IS NULL AND e.model <> 'events'
  AND e.destination_type IN (${join(table_types)}))`;

/** Names that depend on the model of an export `e`, as JSON. */
function perModel(namesOf: (model: ModelName) => readonly string[]): Sql {
  const cases = merged_models.map(
    (name) => sql`WHEN ${name} THEN ${JSON.stringify(namesOf(name))}::json`,
  );
  return sql`CASE e.model ${join(cases, ' ')} END`;
}

/** The fields of an export `e` as they are on the wire. */
export const alias_columns = sql`e.custom_query AS hogql_query, e.timezone,
  CASE e."interval" WHEN 'week' THEN 1 END AS offset_day,
  CASE WHEN e."interval" IN ('day', 'week') THEN 0 END AS offset_hour,
  CASE WHEN ${is_merged} THEN 'MERGE'
    WHEN e.model = 'events' OR e.destination_type NOT IN (${join(table_types)})
      THEN 'APPEND' END AS incremental_mode,
  CASE WHEN ${is_merged} THEN ${perModel((model) => mergeKey({ model }))} END AS primary_key,
  CASE WHEN ${is_merged} THEN ${perModel(versionOf)} END AS version_key`;

/** A body with `hogql_query` under its own name, where that is not there. */
export function withOwnNames(raw: unknown): unknown {
  if (!isFields(raw) || raw['hogql_query'] === undefined || raw['custom_query'] !== undefined)
    return raw;
  return { ...raw, custom_query: raw['hogql_query'] };
}

/** The fields of an export that determine the aliases. */
export type Meant = {
  interval: unknown;
  timezone: string | undefined;
  model: unknown;
  destination_type: unknown;
  custom_query: unknown;
};

/**
 * The violations of the fields that ask for something else than the export does. Values that stand
 * (`before`) are what was read and is sent back.
 */
export function aliasViolations(raw: unknown, meant: Meant, before = meant): Violation[] {
  const sent: Fields = isFields(raw) ? raw : {};
  const stands = expectedOf(before);
  return Object.entries(expectedOf(meant)).flatMap(([attr, { values, detail }]) =>
    sent[attr] === undefined ||
    [...values, ...stands[attr]!.values].some((value) => isDeepStrictEqual(value, sent[attr]))
      ? []
      : [{ attr, code: 'invalid_input' as const, detail: `${detail}, or leave the field out.` }],
  );
}

type Expected = { values: unknown[]; detail: string };

function expectedOf(meant: Meant): Record<string, Expected> {
  const { interval, timezone, custom_query } = meant;
  const { mode, primary_key, version_key } = keysOf(meant);
  const day = interval === 'week' ? 1 : null;
  const hour = interval === 'day' || interval === 'week' ? 0 : null;
  const keyed = (values: readonly string[] | null): Expected => ({
    values: [null, values],
    detail:
      values === null
        ? 'Rows of this export are not merged by a key that you choose: send null'
        : `Rows of this export are merged by its own key: send null or ${JSON.stringify(values)}`,
  });
  return {
    hogql_query: {
      values: [custom_query],
      detail: 'It is another name of `custom_query`: send the query once',
    },
    timezone: {
      values: timezone === 'UTC' ? ['UTC', null] : [timezone],
      detail: `Days and weeks turn in the time zone of the project: send "${timezone}"`,
    },
    offset_day: {
      values: [null, day],
      detail: `Weeks begin on Monday: ${sendOr(day)}`,
    },
    offset_hour: {
      values: [null, hour],
      detail: `Days and weeks turn at midnight: ${sendOr(hour)}`,
    },
    incremental_mode: {
      values: [null, ...mode],
      detail: `Its rows are ${mode[0] === 'MERGE' ? 'merged' : 'appended'}: send "${mode[0]}"`,
    },
    primary_key: keyed(primary_key),
    version_key: keyed(version_key),
  };
}

function sendOr(value: number | null): string {
  return value === null ? 'send null with this interval' : `send ${value} or null`;
}

/**
 * Returns the ways in which rows arrive, as `alias_columns` has them; both modes if a query
 * decides.
 */
function keysOf({ model, destination_type, custom_query }: Meant) {
  const nothing = { primary_key: null, version_key: null };
  const name = merged_models.find((one) => one === model);
  if (name === undefined || !table_types.some((type) => type === destination_type))
    return { mode: ['APPEND'], ...nothing };
  return typeof custom_query === 'string'
    ? { mode: modes, ...nothing }
    : { mode: ['MERGE'], primary_key: mergeKey({ model: name }), version_key: versionOf(name) };
}
