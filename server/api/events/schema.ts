import { Type } from 'typebox';
import { error_codes } from '../../platform/http/error_codes.ts';
import { queryInstant } from '../../platform/http/lists/query_instant.ts';
import { nullable } from '../../platform/nullable.ts';
import { flag, instant, text, titled, uuid, whole } from '../../platform/http/schemas.ts';

/** An event as sent; unknown fields are ignored. */
const Event = titled('Event', {
  event: Type.String({ minLength: 1, maxLength: 400, description: 'Name of what happened.' }),
  distinct_id: Type.String({
    minLength: 1,
    maxLength: 400,
    description: 'The person or object that the event is about.',
  }),
  timestamp: Type.Optional(
    instant('When it happened: ISO 8601 with a zone, microseconds are kept. Default: now.'),
  ),
  uuid: Type.Optional(
    uuid(
      'Names the event; the same uuid in a project is stored once. Default: a new one, so ' +
        'sending the event again stores it again.',
    ),
  ),
  properties: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description:
        'Any JSON, at most 10 MiB and 100 levels deep. Numbers are stored as written. If a ' +
        'key occurs twice, its last value is stored.',
    }),
  ),
  $set: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description: 'Properties of the person to set; also inside `properties`.',
    }),
  ),
  $set_once: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description:
        'Properties of the person to set if they have no value; also inside `properties`.',
    }),
  ),
  $unset: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Names of properties to delete from the person; also inside `properties`.',
    }),
  ),
});

/** A stored event, without its properties. */
export const StoredEvent = titled('StoredEvent', {
  uuid: uuid(),
  event: Type.String(),
  distinct_id: Type.String(),
  timestamp: instant('When it happened.'),
  inserted_at: instant('When it was stored.'),
});

/** The newest stored events. */
export const NewestEvents = titled('NewestEvents', {
  results: Type.Array(StoredEvent, { description: 'Newest stored first.' }),
});

/** Number of newest events that a filter searches. */
export const looked_at_max = 100_000;

const wanted = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 400, description }));

/** The query of the list. */
export const NewestQuery = Type.Object({
  event: wanted('Only events with this name.'),
  distinct_id: wanted('Only events of this person or object.'),
  property: wanted('Only events with this property.'),
  value: wanted('Only events whose `property` has this value: a text, or JSON without spaces.'),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 100, description: 'Number of events; default 20.' }),
  ),
});

/** The query of the counts. */
export const EventCountsQuery = Type.Object({
  after: Type.Optional(
    queryInstant('Only events stored at or after this instant; default a day before `before`.'),
  ),
  before: Type.Optional(queryInstant('Only events stored before this instant; default now.')),
  interval: Type.Optional(
    Type.Enum(['minute', 'hour', 'day'], {
      description: 'Period of a count (UTC); default `hour`.',
    }),
  ),
  by: Type.Optional(
    Type.Enum(['inserted_at', 'timestamp'], {
      description:
        'The clock of the range and the periods: when an event was stored (default), or when ' +
        'it happened.',
    }),
  ),
  by_event: Type.Optional(flag('Count each event name separately. Default false.')),
});

/** Counts of stored events over time. */
export const EventCounts = titled('EventCounts', {
  after: instant('The counted range.'),
  before: instant('Its end (exclusive).'),
  interval: Type.Enum(['minute', 'hour', 'day']),
  results: Type.Array(
    Type.Object({
      start_at: instant('Start of the minute, hour or day.'),
      event: Type.Optional(text('The name, with `by_event`.')),
      events: whole('Events stored in it.'),
    }),
    { description: 'Oldest first, without empty periods.' },
  ),
});

/** The JSON body: a list of events. A single event is also accepted. */
export const EventsBody = Type.Object({ events: Type.Array(Event) });

/** The result for the sent events. */
export const EventsTaken = titled('EventsTaken', {
  taken: Type.Integer({
    minimum: 0,
    description: 'Events that are new and stored now.',
  }),
  duplicates: Type.Integer({
    minimum: 0,
    description: 'Events whose uuid was stored before, or occurred earlier in the same request.',
  }),
  refused: Type.Integer({
    minimum: 0,
    description: 'Events of erased persons: they are not stored, and need not be sent again.',
  }),
  dropped: Type.Integer({
    minimum: 0,
    description: 'Events that an ingestion rule of the project drops: they are not stored.',
  }),
  rejected: Type.Integer({
    minimum: 0,
    description: 'Events that were not stored because of an error in them.',
  }),
  errors: Type.Array(
    Type.Object({
      line: nullable(
        Type.Integer({
          minimum: 1,
          description: 'Line of an NDJSON body, from 1; null for a JSON body.',
        }),
      ),
      attr: nullable(
        text(
          '`events__3__timestamp` is the field `timestamp` of the item with index 3, ' +
            '`lines__3__timestamp` the field of the third line.',
        ),
      ),
      code: Type.Enum([...error_codes]),
      detail: Type.String(),
    }),
    { description: 'The errors of rejected events, at most 1000.' },
  ),
});
