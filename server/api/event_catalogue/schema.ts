import { Type } from 'typebox';
import type { Static } from 'typebox';
import { value_kinds } from '../../engine/ingest/catalogue/value_kind.ts';
import { PageQuery, pageOf } from '../../platform/http/lists/pagination.ts';
import { nullable } from '../../platform/nullable.ts';
import { flag, instant, text, titled, whole } from '../../platform/http/schemas.ts';

/** Days of `by_day`. */
export const days_shown = 30;

const first_seen_at = instant(
  'When the first of them happened, or was ingested if that was earlier.',
);
const last_seen_at = instant(
  'When the last of them happened, or was ingested if that was earlier.',
);

/** An event of the catalogue. */
export const CatalogueEvent = titled('CatalogueEvent', {
  event: text('Its name.'),
  events: whole('Number of ingested events.'),
  events_7_days: whole('Number in the last 7 days, including today (UTC).'),
  events_30_days: whole('Number in the last 30 days.'),
  by_day: Type.Array(Type.Integer(), {
    description: `How many of each day, today (UTC) last; ${days_shown} numbers.`,
  }),
  properties: whole('Number of its properties.'),
  first_seen_at,
  last_seen_at,
});
export type CatalogueEvent = Static<typeof CatalogueEvent>;

/** A property of the catalogue. */
export const CatalogueProperty = titled('CatalogueProperty', {
  property: text('Its name.'),
  events: whole('Number of events with it.'),
  share: Type.Number({ description: 'Share of all events with it: 0 to 1.' }),
  types: Type.Array(
    Type.Object({
      type: Type.Enum([...value_kinds]),
      events: whole('Number of events with such a value.'),
    }),
    {
      description:
        'The types of its values, most frequent first. `long_integer`: whole numbers ' +
        'beyond 2^53. `large_number`: numbers beyond 64 bits. `timestamp`: texts with ' +
        'date, time and zone.',
    },
  ),
  first_seen_at,
  last_seen_at,
});
export type CatalogueProperty = Static<typeof CatalogueProperty>;

const progress = {
  counted_until: nullable(
    instant('Events that were inserted before are counted; null: none is counted yet.'),
  ),
  is_counting: flag('True if some events have not been counted yet.'),
};

/** A page of events, with counts beyond the rows. */
export const CatalogueEvents = titled('CatalogueEventList', {
  ...pageOf(CatalogueEvent).properties,
  ...progress,
  other_events: whole('Events without a row, because the catalogue is full.'),
  other_values: whole('Values of properties without a row, because the catalogue is full.'),
});

/** A page of properties. */
export const CatalogueProperties = titled('CataloguePropertyList', {
  ...pageOf(CatalogueProperty).properties,
  ...progress,
  events: whole('Number of events with that name, or of all events.'),
});

const search = Type.Optional(
  Type.String({
    maxLength: 400,
    description: 'Only names that contain this text, in any letter case.',
  }),
);
const upOrDown = <Name extends string>(names: readonly Name[]) =>
  names.flatMap((name): (Name | `-${Name}`)[] => [name, `-${name}`]);
const ordering = <Name extends string>(names: readonly Name[], usual: string) =>
  Type.Optional(
    Type.Enum(upOrDown(names), {
      description: `Field to order by; "-" before it for the greatest first. Default \`${usual}\`.`,
    }),
  );

/** The query parameters of the list of events. */
export const CatalogueEventQuery = Type.Object({
  ...PageQuery.properties,
  event: Type.Optional(
    Type.String({ maxLength: 400, description: 'Only the event with this name.' }),
  ),
  search,
  ordering: ordering(
    ['event', 'events', 'events_7_days', 'events_30_days', 'first_seen_at', 'last_seen_at'],
    '-events_30_days',
  ),
});

/** The query parameters of the list of properties. */
export const CataloguePropertyQuery = Type.Object({
  ...PageQuery.properties,
  event: Type.Optional(
    Type.String({ maxLength: 400, description: 'Only properties of this event; default of all.' }),
  ),
  search,
  ordering: ordering(['property', 'events', 'first_seen_at', 'last_seen_at'], '-events'),
});
