import { Type } from 'typebox';
import type { Static } from 'typebox';
import { cursorQuery } from '../../platform/http/lists/cursor.ts';
import { FormatQuery } from '../../platform/http/lists/lines_file.ts';
import { nullable } from '../../platform/nullable.ts';
import { queryInstant } from '../../platform/http/lists/query_instant.ts';
import { instant, text, titled, uuid, whole } from '../../platform/http/schemas.ts';

const Change = titled('ActivityChange', {
  field: text('Name of the field; fields inside others with dots.'),
  action: Type.Enum(['created', 'changed', 'deleted']),
  before: Type.Unknown({
    description:
      'Previous value; null if there was none. A secret is `********`; a text of more than ' +
      '4,000 characters is cut.',
  }),
  after: Type.Unknown({
    description: 'New value; null if there is none. A secret is `********`.',
  }),
});

/** One entry of the activity log. */
export const ActivityEntry = titled('ActivityEntry', {
  id: uuid('Id of the entry.'),
  number: whole('Its number in the log of the organization or person: 1, 2, 3, ... without gaps.'),
  activity: text('The action, such as `created`, `updated`, `deleted`.'),
  scope: text('Kind of the object, such as `project`.'),
  item_id: text('Id of the object.'),
  item_name: nullable(text('Its name at that time.')),
  changes: Type.Array(Change),
  user: nullable(
    Type.Object(
      {
        uuid: uuid('Who did it.'),
        email: text('Email address of the person at that time.'),
      },
      { description: 'Null: a service key, a setup link, or the server.' },
    ),
  ),
  key: nullable(
    Type.Object(
      {
        id: uuid('Id of the key.'),
        mask_value: text('Its first and last four characters.'),
      },
      { description: 'The API key or setup link that it was done with; null: none.' },
    ),
  ),
  session_id: nullable(uuid('The session in which it was done; null without one.')),
  ip: nullable(text("The client's address. Members below level 8 see only their own.")),
  request_id: nullable(text('`X-Request-Id` of the request; null: the server itself.')),
  created_at: instant(),
  hash: text('HMAC-SHA-256 over this and all earlier entries, in hexadecimal digits.'),
});

/** An entry in the list or file of a log. */
export const LoggedEntry = titled('LoggedActivityEntry', {
  ...ActivityEntry.properties,
  key_name: nullable(text('The latest name of the service key or setup link in `key`; else null.')),
});

/** An entry as SELECT returns it. */
export type ActivityRow = Static<typeof ActivityEntry>;
/** An entry as the list of a log shows it. */
export type LoggedRow = Static<typeof LoggedEntry>;

/** The state of a chain of the log. */
export const ActivityChain = titled('ActivityChain', {
  number: whole('Number of its latest entry; 0 without entries.'),
  hash: text('The hash of that entry, which covers all entries before.'),
  check: nullable(
    Type.Object(
      {
        checked_at: instant(),
        number: whole('The latest entry at that time.'),
        hash: text('Its hash then.'),
        faults_found: whole('Number of missing or changed entries.'),
        detail: nullable(text('The first one in a sentence; null if there is none.')),
      },
      {
        description:
          'Result of the last check of every entry; the server checks once a day. Null ' +
          'before the first check of this server.',
      },
    ),
  ),
});

const name = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 200, description }));

/** Filters of the log. An entry must match all of them. */
export const ActivityFilter = Type.Object({
  user: Type.Optional(uuid('Only changes by this person.')),
  key: Type.Optional(uuid('Only changes made with this API key.')),
  scope: name('Only changes of this kind of object.'),
  activity: name('Only this action.'),
  item_id: name('Only changes of this object.'),
  after: Type.Optional(queryInstant('Only from this instant on.')),
  before: Type.Optional(queryInstant('Only before this instant.')),
  after_number: Type.Optional(
    Type.Integer({ minimum: 0, description: 'Only entries with a greater number.' }),
  ),
});

/** The filters of a request. */
export type ActivityWanted = Static<typeof ActivityFilter>;

/** Orders of the log. */
export const activity_orders = ['number'] as const;

/** The query parameters of the log. */
export const ActivityQuery = Type.Object({
  ...cursorQuery(activity_orders).properties,
  ...ActivityFilter.properties,
  ...FormatQuery.properties,
});
