import sql from 'sql-template-tag';
import { Type } from 'typebox';
import { intervals } from '../../engine/exports/planning/interval.ts';
import type { Interval, Rhythm } from '../../engine/exports/planning/interval.ts';
import {
  isMeant,
  minutesOf,
  offsetOf,
  offset_parts,
} from '../../engine/exports/planning/offset.ts';
import type { Offset } from '../../engine/exports/planning/offset.ts';
import { isFields } from '../../platform/fields.ts';
import type { Fields } from '../../platform/fields.ts';
import type { Violation } from '../../platform/http/errors.ts';
import { text, whole } from '../../platform/http/schemas.ts';
import { lineOfText } from '../../platform/line_of_text.ts';
import { nullable } from '../../platform/nullable.ts';
import { isTimezone } from '../../platform/timezone.ts';

const zone =
  'Time zone of day and week boundaries and of `{local_day}`: a name of the IANA database.';
const about = {
  offset_day: 'Day of the week on which weeks begin: 0 (Sunday) to 6; only with `week`.',
  offset_hour: 'Hour of the time zone at which days and weeks turn; only with `day` and `week`.',
  offset_minute: 'Minute of that hour; only with `day` and `week`.',
};
const resets = ' PUT without it resets it.';

/** The fields in answers. */
export const rhythm_answers = {
  timezone: text(zone),
  offset_day: nullable(whole(`${about.offset_day} Null with other intervals.`)),
  offset_hour: nullable(whole(`${about.offset_hour} Null with other intervals.`)),
  offset_minute: nullable(whole(`${about.offset_minute} Null with other intervals.`)),
};

const part = (maximum: number, description: string) =>
  Type.Optional(nullable(Type.Integer({ minimum: 0, maximum, description })));

/** The fields in bodies. */
export const rhythm_inputs = {
  timezone: Type.Optional(
    nullable(lineOfText(100, `${zone} Null: the current zone of the project.${resets}`)),
  ),
  offset_day: part(6, `${about.offset_day} Null: Monday.${resets}`),
  offset_hour: part(23, `${about.offset_hour} Null: 0.${resets}`),
  offset_minute: part(59, `${about.offset_minute} Null: 0.${resets}`),
};

/** Selects the fields of an export `e`, in their wire form. */
export const rhythm_columns = sql`e.timezone,
  CASE e."interval" WHEN 'week' THEN (e.offset_minutes / 1440 + 1) % 7 END AS offset_day,
  CASE WHEN e."interval" IN ('day', 'week') THEN e.offset_minutes % 1440 / 60 END AS offset_hour,
  CASE WHEN e."interval" IN ('day', 'week') THEN e.offset_minutes % 60 END AS offset_minute`;

/** The fields that a body may contain. */
type Sent = { interval?: Interval; timezone?: string | null } & Partial<Offset>;

/** The stored rhythm of an export; `has_own_timezone`: a person chose the zone. */
export type OwnRhythm = Rhythm & { has_own_timezone: boolean };

/** Returns the rhythm of a new export, in the project's zone unless the body names one. */
export function newRhythm(
  { interval, timezone, ...offset }: Sent & { interval: Interval },
  project_timezone: string,
): OwnRhythm {
  return {
    interval,
    timezone: timezone ?? project_timezone,
    has_own_timezone: typeof timezone === 'string',
    offset_minutes: minutesOf(interval, offset),
  };
}

/**
 * Returns the rhythm of an export after a change. An absent field keeps its value; in a PUT it is
 * reset. If nobody chose a zone, it is the project's zone at the time when the interval was set.
 */
export function changedRhythm(
  sent: Sent,
  row: OwnRhythm & { project_timezone: string },
  how: 'patch' | 'put',
): OwnRhythm {
  const interval = sent.interval ?? row.interval;
  const offset = { ...(how === 'patch' ? offsetOf(row) : {}), ...withoutAbsent(sent) };
  return {
    interval,
    ...changedZone(sent, row, how),
    offset_minutes: minutesOf(interval, offset),
  };
}

function changedZone(
  { interval, timezone }: Sent,
  row: OwnRhythm & { project_timezone: string },
  how: 'patch' | 'put',
): Pick<OwnRhythm, 'timezone' | 'has_own_timezone'> {
  const { has_own_timezone } = row;
  const of_project = { timezone: row.project_timezone, has_own_timezone: false };
  if (timezone === row.timezone) return { timezone, has_own_timezone };
  if (typeof timezone === 'string') return { timezone, has_own_timezone: true };
  const is_reset = has_own_timezone
    ? timezone === null || how === 'put'
    : interval !== undefined && interval !== row.interval;
  return is_reset ? of_project : { timezone: row.timezone, has_own_timezone };
}

function withoutAbsent(sent: Sent): Partial<Offset> {
  return Object.fromEntries(
    offset_parts.filter((name) => sent[name] !== undefined).map((name) => [name, sent[name]]),
  );
}

/**
 * Lists faults of a body's rhythm: an unknown zone, or a time that the interval does not use. The
 * stored values (`before`) may be sent back unchanged.
 */
export function rhythmViolations(raw: unknown, before: Rhythm | undefined): Violation[] {
  const sent: Fields = isFields(raw) ? raw : {};
  const { interval: wanted = before?.interval, timezone } = sent;
  const interval = intervals.find((one) => one === wanted);
  const stands: Partial<Offset> = before === undefined ? {} : offsetOf(before);
  const meant = { offset_day: 'the interval week', other: 'the intervals day and week' };
  const violations: Violation[] = offset_parts
    .filter((name) => typeof sent[name] === 'number' && sent[name] !== stands[name])
    .filter((name) => interval !== undefined && !isMeant(name, interval))
    .map((name) => ({
      attr: name,
      code: 'invalid_input',
      detail:
        `Only ${name === 'offset_day' ? meant.offset_day : meant.other} can have it: leave it ` +
        'out, or send null.',
    }));
  // The schema already reports a blank zone.
  const zone_sent = typeof timezone === 'string' ? timezone.trim() : '';
  if (zone_sent !== '' && zone_sent !== before?.timezone && !isTimezone(zone_sent))
    violations.push({
      attr: 'timezone',
      code: 'invalid_choice',
      detail: 'Must be a name of the IANA time zone database, such as "Europe/Berlin".',
    });
  return violations;
}
