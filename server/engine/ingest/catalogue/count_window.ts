import type { ClickHouse } from '../../../platform/clickhouse/client.ts';
import { kindOf, pairsOf } from './value_kind.ts';
import type { ValueKind } from './value_kind.ts';

/** The most events of a window, and bytes of properties unless one batch has more. */
const window_max = { events: 20_000, bytes: 32 * 1024 * 1024 };
/** Most properties of one event that are counted. */
const pairs_max = 1_000;
/** Most different names of a window that the store groups; further ones are omitted. */
const groups_max = 50_000;
const question_seconds_max = 60;

/**
 * Insertions of a project: instants in milliseconds, half open. The calls that describe groups are
 * counted before `groups_from`, which is earlier than `from` if an earlier release has counted.
 */
export type Window = { team_id: number; from: number; to: number; groups_from: number };

/**
 * Events of a name and a day; instants in milliseconds. An event counts at its own time, but not
 * later than its ingestion.
 */
export type EventCount = {
  event: string;
  day: string;
  events: number;
  first: number;
  last: number;
};

/** Events of a name that have a property with a value of this kind. */
export type PropertyCount = {
  event: string;
  property: string;
  kind: ValueKind;
  events: number;
  first: number;
  last: number;
};

/** The counts of a window. */
export type WindowCounts = {
  window: Window & { groups_to: number };
  /** All events, including those without a row in `events`. */
  total: number;
  events: EventCount[];
  properties: PropertyCount[];
  /** The properties that calls set on groups; `event` is the type of the group. */
  groups: PropertyCount[];
};

type Stretch = Pick<Window, 'team_id' | 'from' | 'to'>;

const within = `team_id = {team_id:Int64}
  AND inserted_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')
  AND inserted_at < fromUnixTimestamp64Milli({to:Int64}, 'UTC')`;
const seen = 'toUnixTimestamp64Milli(least(timestamp, inserted_at))';
const is_call = "group_id != ''";

/**
 * Counts the events of the window, or of its first part if it is long: whole batches, at least one.
 * Calls that describe groups are counted with them, or alone and last if they are behind. It uses
 * one thread of the store. Rows below `to` must be final, and the replica must have them.
 */
export async function countWindow(
  clickhouse: ClickHouse,
  asked: Window,
  signal: AbortSignal,
  most = window_max,
): Promise<WindowCounts> {
  const rows = <Row>(query: string, stretch: Stretch) =>
    clickhouse.rows<Row>({
      query,
      query_params: stretch,
      clickhouse_settings: {
        max_threads: 1,
        max_execution_time: question_seconds_max,
        max_rows_to_group_by: String(groups_max),
        group_by_overflow_mode: 'any',
      },
      abort_signal: AbortSignal.any([
        signal,
        AbortSignal.timeout((question_seconds_max + 1) * 1_000),
      ]),
    });
  const { team_id, from, to, groups_from } = asked;
  const is_behind = groups_from < from;
  const catches_up = is_behind && to <= from;
  const asked_for = catches_up ? { from: groups_from, to: from } : { from, to };
  const wanted = { team_id, ...asked_for };
  const [bound] = await rows<{ to: number; total: number }>(boundedBy(most, catches_up), wanted);
  const stretch = {
    ...wanted,
    to: bound!.total === 0 ? wanted.to : Math.min(wanted.to, bound!.to),
  };
  const window = {
    ...asked,
    to: catches_up ? from : stretch.to,
    groups_to: is_behind && !catches_up ? groups_from : stretch.to,
  };
  const counts: WindowCounts = { window, total: 0, events: [], properties: [], groups: [] };
  if (bound!.total === 0) return counts;
  if (!catches_up) {
    counts.total = bound!.total;
    counts.events = await rows<EventCount>(events, stretch);
    counts.properties = await rows<PropertyCount>(properties, stretch);
  }
  const has_calls = counts.events.some(({ event }) => event === '$groupidentify');
  if (catches_up || (has_calls && !is_behind))
    counts.groups = await rows<PropertyCount>(groups, stretch);
  return counts;
}

// Returns the batches that fit, or the first one. The limit may cut off the last batch, which then
// exceeds the bound.
const boundedBy = (most: typeof window_max, are_calls: boolean) => `
  SELECT toUInt32(countIf(fits) AS fitting) AS fitting_batches,
    toUnixTimestamp64Milli(if(fitting = 0, min(inserted_at), maxIf(inserted_at, fits))) + 1 AS to,
    toUInt32(if(fitting = 0, argMin(events, inserted_at), sumIf(events, fits))) AS total
  FROM (
    SELECT inserted_at, events, sum(events) OVER upwards <= ${most.events}
      AND sum(bytes) OVER upwards <= ${most.bytes} AS fits
    FROM (
      SELECT inserted_at, count() AS events, sum(length(properties)) AS bytes
      FROM (SELECT inserted_at, properties FROM events
        WHERE ${within}${are_calls ? ` AND ${is_call}` : ''}
        ORDER BY team_id, inserted_at LIMIT ${most.events + 1})
      GROUP BY inserted_at)
    WINDOW upwards AS (ORDER BY inserted_at))`;

const events = `
  SELECT event, toString(toDate(fromUnixTimestamp64Milli(seen, 'UTC'))) AS day,
    toUInt32(count()) AS events, min(seen) AS first, max(seen) AS last
  FROM (SELECT event, ${seen} AS seen FROM events WHERE ${within})
  GROUP BY event, day`;

const properties = `
  SELECT event, property, kind, toUInt32(count()) AS events, min(seen) AS first, max(seen) AS last
  FROM (
    SELECT event, seen, pair.1 AS property, ${kindOf('pair.2')} AS kind
    FROM (SELECT event, ${seen} AS seen, arrayJoin(${pairsOf('properties', pairs_max)}) AS pair
      FROM events WHERE ${within}))
  GROUP BY event, property, kind`;

const groups = `
  SELECT event, property, kind, toUInt32(count()) AS events, min(seen) AS first, max(seen) AS last
  FROM (
    SELECT substring(group_id, 1, position(group_id, ':') - 1) AS event, seen,
      pair.1 AS property, ${kindOf('pair.2')} AS kind
    FROM (SELECT group_id, ${seen} AS seen,
        arrayJoin(arraySlice(group_set, 1, ${pairs_max})) AS pair
      FROM events WHERE ${within} AND ${is_call}))
  GROUP BY event, property, kind`;
