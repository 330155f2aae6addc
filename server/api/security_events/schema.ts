import { Type } from 'typebox';
import type { Static } from 'typebox';
import { cursorQuery } from '../../platform/http/lists/cursor.ts';
import { FormatQuery } from '../../platform/http/lists/lines_file.ts';
import { queryInstant } from '../../platform/http/lists/query_instant.ts';
import { instant, text, titled, uuid, whole } from '../../platform/http/schemas.ts';
import { kept_words } from '../../platform/http/security_log/words.ts';
import { nullable } from '../../platform/nullable.ts';

/** An event of the security log in lists and files. */
export const SecurityEvent = titled('SecurityEvent', {
  id: uuid('Id of the event.'),
  number: whole('Grows with each written event.'),
  event: Type.Enum(kept_words, { description: 'What happened.' }),
  reason: text('The reason, in a word. docs/security_log.md lists the reasons of each event.'),
  user: nullable(
    Type.Object(
      {
        uuid: uuid('The person of the event.'),
        email: text('Email address of the person at that time.'),
      },
      { description: 'Null: nobody knows.' },
    ),
  ),
  key_mask: nullable(text('The first and last four characters of the API key; null: none.')),
  session_id: nullable(uuid('The session of the request; null: none.')),
  ip: text("The client's address."),
  user_agent: text("The client's `User-Agent`."),
  method: text('The method of the request.'),
  route: text('The path of the request, without its ids.'),
  item_id: nullable(text('The last id in the path; null: none.')),
  request_id: text('`X-Request-Id` of the request.'),
  count: whole(
    'Number of equal events. The first ones in ten minutes have their own entries. Later ' +
      'ones are counted in one entry with the values of the last.',
  ),
  created_at: instant(),
});
/** An event's row as SELECT gives it. */
export type SecurityEventRow = Static<typeof SecurityEvent>;

/** Filters of the list. An event must match all of them. */
export const SecurityEventFilter = Type.Object({
  event: Type.Optional(Type.Enum(kept_words, { description: 'Only events of this kind.' })),
  reason: Type.Optional(
    Type.String({ minLength: 1, maxLength: 200, description: 'Only events with this reason.' }),
  ),
  user: Type.Optional(uuid('Only events about this person.')),
  ip: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 100,
      description: 'Only events from this client address.',
    }),
  ),
  after: Type.Optional(queryInstant('Only from this instant on.')),
  before: Type.Optional(queryInstant('Only before this instant.')),
  after_number: Type.Optional(
    Type.Integer({ minimum: 0, description: 'Only events with a greater number.' }),
  ),
});
/** The filters of a request. */
export type SecurityEventsWanted = Static<typeof SecurityEventFilter>;

/** The order of the list. */
export const security_event_orders = ['number'] as const;

/** The query parameters of the list. */
export const SecurityEventQuery = Type.Object({
  ...cursorQuery(security_event_orders).properties,
  ...SecurityEventFilter.properties,
  ...FormatQuery.properties,
});
