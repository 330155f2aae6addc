import { isDeepStrictEqual } from 'node:util';
import sql from 'sql-template-tag';
import { Type } from 'typebox';
import { isFields } from '../../platform/fields.ts';
import type { Fields } from '../../platform/fields.ts';
import type { Violation } from '../../platform/http/errors.ts';
import { lineOfText } from '../../platform/line_of_text.ts';
import { nullable } from '../../platform/nullable.ts';
import { incremental_mode, write_columns } from './write_mode.ts';

// Fields that clients of the field's living interface send and read. Their meaning is fixed here:
// each is answered, and accepted with the value of its answer.

const about = {
  hogql_query: 'The same as `custom_query`, under the name that other clients use.',
  timezone: "The time zone of days and weeks: the project's.",
  offset_day: 'The day on which weeks begin: 1, Monday; null with other intervals.',
  offset_hour: 'The hour at which days and weeks turn: 0; null with other intervals.',
};
const only = ' Other values are refused.';

/** The fields as every answer has them. */
export const alias_answers = {
  hogql_query: nullable(Type.String({ description: about.hogql_query })),
  timezone: Type.String({ description: about.timezone }),
  offset_day: nullable(Type.Integer({ description: about.offset_day })),
  offset_hour: nullable(Type.Integer({ description: about.offset_hour })),
  incremental_mode,
};

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
  incremental_mode: Type.Optional(incremental_mode),
};

/** Names of the fields that repeat other fields. */
export const alias_names = Object.keys(alias_inputs);

/** The fields of an export `e` as they are on the wire. */
export const alias_columns = sql`e.custom_query AS hogql_query, e.timezone,
  CASE e."interval" WHEN 'week' THEN 1 END AS offset_day,
  CASE WHEN e."interval" IN ('day', 'week') THEN 0 END AS offset_hour, ${write_columns}`;

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
  const day = interval === 'week' ? 1 : null;
  const hour = interval === 'day' || interval === 'week' ? 0 : null;
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
  };
}

function sendOr(value: number | null): string {
  return value === null ? 'send null with this interval' : `send ${value} or null`;
}
