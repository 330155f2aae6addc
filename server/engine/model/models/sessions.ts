import type { Rectangle } from '../ledger/rectangles.ts';
import { ownColumn } from './column.ts';
import type { Column } from './column.ts';
import { asOf, changedIds, within } from './made_of_events.ts';
import type { Model, QueryText } from './model.ts';
import { readableJson } from './readable_json.ts';
import { teamParameter } from './selection.ts';
import { channelType, isBounce, session_rules } from './session_channel.ts';

/**
 * Most events of a session. An id that never changes would collect all events of a project, and
 * each new event would read them all again.
 */
export const session_events_max = 100_000;

/** The event properties that a session copies, each a text. */
const taken = [
  '$current_url',
  '$pathname',
  '$host',
  '$referrer',
  '$referring_domain',
  'utm_source',
  'utm_medium',
  'utm_campaign',
  'utm_content',
  'utm_term',
  'gclid',
  'gad_source',
  'gclsrc',
  'dclid',
  'gbraid',
  'wbraid',
  'fbclid',
  'msclkid',
  'twclid',
  'li_fat_id',
  'mc_cid',
  'igshid',
  'ttclid',
  'epik',
  'qclid',
  'sccid',
  'irclid',
  '_kx',
] as const;
type Taken = (typeof taken)[number];

/** Columns of the entry event that copy one of its properties. */
const campaign = taken.filter((name) => !name.startsWith('$'));
const tuple_type = `Tuple(${taken.map((name) => `\`${name}\` Nullable(String)`).join(', ')})`;

/** Returns ClickHouse text, Nullable(String), for a property of an aggregated event. */
function property(event: 'entry' | 'exit', name: Taken): string {
  const value = `tupleElement(${event}, ${taken.indexOf(name) + 1})`;
  // The mark of a number in a document that ClickHouse reads only after a repair.
  return `nullIf(replaceAll(${value}, '\\x01\\x02\\x01', ''), '')`;
}

const urlPart = (event: 'entry' | 'exit', name: '$pathname' | '$host', part: string) =>
  `coalesce(${property(event, name)}, nullIf(${part}(${property(event, '$current_url')}), ''))`;
const small = (name: Taken) => `lower(ifNull(${property('entry', name)}, ''))`;

const text = (name: string, expression: string) =>
  ({ name, type: 'text', nullable: true, expression }) as const;
const count = (name: string, condition: string) =>
  ({
    name,
    type: 'integer',
    nullable: false,
    expression: `toInt64(countIf(${condition}))`,
  }) as const;
const instant = (name: string, expression: string) =>
  ({ name, type: 'timestamp', nullable: true, expression }) as const;

/** Aggregates of a session's events; removals only affect its version. */
const aggregates: Column[] = [
  instant('start_timestamp', 'minIfOrNull(timestamp, is_event = 1)'),
  instant('end_timestamp', 'maxIfOrNull(timestamp, is_event = 1)'),
  count('pageview_count', "event = '$pageview'"),
  count('autocapture_count', "event = '$autocapture'"),
  count('screen_count', "event = '$screen'"),
  count('event_count', 'is_event = 1'),
];

const between =
  '(toUnixTimestamp64Micro(assumeNotNull(end_timestamp)) - ' +
  'toUnixTimestamp64Micro(assumeNotNull(start_timestamp)))';
const hostname = urlPart('entry', '$host', 'domain');
const channel = channelType({
  source: small('utm_source'),
  medium: small('utm_medium'),
  campaign: small('utm_campaign'),
  referrer: small('$referring_domain'),
  hostname: `lower(ifNull(${hostname}, ''))`,
  click_ids: ['gclid', 'gad_source', 'msclkid'].map((name) => small(name as Taken)),
});

/** The columns of a session, by their aggregate. */
const made: Column[] = [
  ownColumn('team_id', 'integer'),
  ownColumn('session_id', 'text'),
  text('distinct_id', 'if(is_deleted, NULL, tupleElement(latest, 1))'),
  {
    name: 'person_id',
    type: 'uuid',
    nullable: true,
    expression: 'if(is_deleted, NULL, tupleElement(latest, 2))',
  },
  instant('start_timestamp', 'start_timestamp'),
  instant('end_timestamp', 'end_timestamp'),
  {
    name: 'session_duration',
    type: 'integer',
    nullable: true,
    expression: `if(is_deleted, NULL, intDiv(${between}, 1000000))`,
  },
  instant('final_at', 'start_timestamp + toIntervalHour(24)'),
  text('entry_current_url', property('entry', '$current_url')),
  text('entry_pathname', urlPart('entry', '$pathname', 'path')),
  text('entry_hostname', hostname),
  text('exit_current_url', property('exit', '$current_url')),
  text('exit_pathname', urlPart('exit', '$pathname', 'path')),
  text('exit_hostname', urlPart('exit', '$host', 'domain')),
  text('entry_referrer', property('entry', '$referrer')),
  text('entry_referring_domain', property('entry', '$referring_domain')),
  ...campaign.map((name) => text(`entry_${name.replace(/^_/, '')}`, property('entry', name))),
  ...['pageview_count', 'autocapture_count', 'screen_count', 'event_count'].map((name) =>
    ownColumn(name, 'integer'),
  ),
  {
    name: 'is_bounce',
    type: 'boolean',
    nullable: true,
    expression: isBounce(
      '(pageview_count + screen_count + autocapture_count)',
      `intDiv(${between}, 1000000)`,
    ),
  },
  text('channel_type', `if(is_deleted, NULL, ${channel})`),
  { name: 'rules', type: 'integer', nullable: false, expression: `toInt64(${session_rules})` },
  ownColumn('session_version', 'integer'),
  ownColumn('is_deleted', 'boolean'),
  ownColumn('inserted_at', 'timestamp'),
];
const columns = made.map((column) => ({ ...column, expression: column.name }));

const isPage = "event IN ('$pageview', '$screen')";

/** Returns the sessions of events and removals that meet a condition, with each change. */
const changes = (condition: string) => changedIds('session_id', 'session_removals', condition);

/** Returns the ids that changed in the selection, except those with too many events. */
function changed(selection: Rectangle[], having: '<=' | '>' = '<='): string {
  const ids = `(SELECT session_id FROM ${changes(within(selection))})`;
  const known = `${asOf(selection)} AND session_id IN ${ids}`;
  return `(SELECT session_id FROM ${changes(known)}
    GROUP BY session_id HAVING count() ${having} ${session_events_max})`;
}

/**
 * Returns the sessions that changed in the selection, computed from all their events up to its end.
 * The projection `sessions`, which stores the insertions of an id, finds the events.
 */
function selectedSessions(teamId: number, selection: Rectangle[]): QueryText {
  const ids = changed(selection);
  const known = `${asOf(selection)} AND session_id IN ${ids}`;
  // If every session is wanted, every event is read anyway.
  const isWhole = selection.some(({ inserted_from }) => inserted_from === -Infinity);
  const found = isWhole ? '1' : `inserted_at IN (SELECT inserted_at FROM events WHERE ${known})`;
  const page = `JSONExtract(${readableJson('properties')}, '${tuple_type}')`;
  const rows = `(SELECT session_id, inserted_at AS changed_at, timestamp,
      toUInt128(uuid) AS number, event, distinct_id, person_id, ${page} AS page, 1 AS is_event
    FROM events WHERE ${known} AND ${found}
    UNION ALL SELECT session_id, inserted_at AS changed_at, inserted_at AS timestamp,
      toUInt128(0) AS number, '' AS event, '' AS distinct_id,
      toUUID('00000000-0000-0000-0000-000000000000') AS person_id,
      JSONExtract('{}', '${tuple_type}') AS page, 0 AS is_event
    FROM session_removals WHERE ${known})`;
  const aggregated = aggregates.map(({ name, expression }) => `${expression} AS ${name}`);
  const list = made.map(({ name, expression }) =>
    expression === name ? name : `${expression} AS ${name}`,
  );
  return {
    text: `(SELECT ${list.join(', ')}
      FROM (SELECT {team_id:Int64} AS team_id, session_id, ${aggregated.join(', ')},
        argMinIf(page, (NOT ${isPage}, timestamp, number), is_event = 1) AS entry,
        argMaxIf(page, (${isPage}, timestamp, number), is_event = 1) AS exit,
        argMaxIf((distinct_id, person_id), (timestamp, number), is_event = 1) AS latest,
        countIf(is_event = 1) = 0 AS is_deleted, max(changed_at) AS inserted_at,
        toUnixTimestamp64Micro(max(changed_at)) AS session_version
        FROM ${rows} GROUP BY session_id))`,
    parameters: teamParameter(teamId),
  };
}

/** Returns the sessions with more events than the limit, for warnings about them. */
export function largeSessions(teamId: number, selection: Rectangle[]): QueryText {
  return { text: changed(selection, '>'), parameters: teamParameter(teamId) };
}

/**
 * Sessions: the merged events of one `$session_id`, one row per changed session. An id's version is
 * its latest change: the insertion of an event, or a removal of events.
 */
export const sessions: Model = {
  name: 'sessions',
  has_event_time: false,
  changes,
  key: 'session_id',
  order: 'inserted_at, session_id',
  relation: selectedSessions,
  versions: (teamId, selection) => ({
    text: `(SELECT session_id, inserted_at FROM
      ${changes(`${within(selection)} AND session_id IN ${changed(selection)}`)})`,
    parameters: teamParameter(teamId),
    records: 'uniqExact(session_id)',
  }),
  columns: { files: columns, tables: columns },
  settings: {
    // ClickHouse aggregates the sessions of a long interval on disk.
    max_bytes_before_external_group_by: 500_000_000,
    max_bytes_ratio_before_external_group_by: 0,
    // The text contains the selection several times.
    max_query_size: 16_000_000,
  },
  words: {
    tables: ['session_removals'],
    columns: ['changed_at', 'number', 'page', 'is_event', 'entry', 'exit', 'latest'],
    functions: ['toUInt128', 'toUnixTimestamp64Micro', 'match', 'path', 'domain'],
  },
};
