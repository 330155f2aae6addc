import type { ClickHouse } from '../../../platform/clickhouse/client.ts';
import type { Position } from './leases.ts';

/**
 * An event as plugins get it. `timestamp` and `inserted_at` are ISO 8601 in UTC with microseconds.
 */
export type PluginEvent = {
  uuid: string;
  event: string;
  distinct_id: string;
  team_id: number;
  timestamp: string;
  inserted_at: string;
  properties: Record<string, unknown>;
  $set: unknown;
  $set_once: unknown;
  ip: unknown;
  elements_chain: string;
  person: { id: string; properties: unknown };
};

/**
 * Events of a project after a position and inserted before `until` (ISO 8601), with these names if
 * given, up to a number of rows and of bytes. The first event may exceed the bytes.
 */
type Wanted = {
  team_id: number;
  after: Position;
  until: string;
  names: string[] | null;
  rows_max: number;
  bytes_max: number;
};

/** Events in order, and whether there are no more before `until`. */
type EventBatch = { events: PluginEvent[]; is_end: boolean };

type Row = {
  uuid: string;
  event: string;
  distinct_id: string;
  person_id: string;
  properties: string;
  person_properties: string;
  elements_chain: string;
  timestamp: string;
  inserted_at: string;
};

const columns = `uuid, event, distinct_id, person_id, properties, person_properties,
      elements_chain, timestamp, inserted_at`;

/** Reads the stored events of a project among these, by uuid. Uses the projection `uuids`. */
export async function readEventsOf(
  clickhouse: ClickHouse,
  team_id: number,
  uuids: string[],
  signal: AbortSignal,
): Promise<Map<string, PluginEvent>> {
  if (uuids.length === 0) return new Map();
  const rows = await clickhouse.rows<Row>({
    query: `SELECT ${columns} FROM events WHERE team_id = {team_id:Int64}
      AND toUInt128(uuid) IN (
        SELECT toUInt128(toUUID(arrayJoin({uuids:Array(String)}))))`,
    query_params: { team_id, uuids },
    abort_signal: signal,
  });
  return new Map(rows.map((row) => [row.uuid, eventOf(team_id, row)]));
}

/** Reads the event of a project with this uuid; undefined: it is not stored. */
export async function readEvent(
  clickhouse: ClickHouse,
  team_id: number,
  uuid: string,
  signal: AbortSignal,
): Promise<PluginEvent | undefined> {
  const events = await readEventsOf(clickhouse, team_id, [uuid], signal);
  return [...events.values()][0];
}

/** Reads the events at these positions, by uuid; erased ones are missing. */
export async function readEventsAt(
  clickhouse: ClickHouse,
  team_id: number,
  places: { inserted_at: string; event_uuid: string }[],
  signal: AbortSignal,
): Promise<Map<string, PluginEvent>> {
  if (places.length === 0) return new Map();
  const rows = await clickhouse.rows<Row>({
    query: `SELECT ${columns} FROM events WHERE team_id = {team_id:Int64}
      AND inserted_at IN {instants:Array(DateTime64(6, 'UTC'))} AND uuid IN {uuids:Array(UUID)}`,
    query_params: {
      team_id,
      instants: places.map(({ inserted_at }) => plain(inserted_at).replace('T', ' ')),
      uuids: places.map(({ event_uuid }) => event_uuid),
    },
    abort_signal: signal,
  });
  return new Map(rows.map((row) => [row.uuid, eventOf(team_id, row)]));
}

/**
 * Reads events in the total order (inserted_at, timestamp, uuid), as ClickHouse compares them.
 * Events of one request share the instant of insertion, and their timestamps give their order.
 * `bytes_max` and one event bound the memory.
 */
export async function readEvents(
  clickhouse: ClickHouse,
  { team_id, after, until, names, rows_max, bytes_max }: Wanted,
  signal: AbortSignal,
): Promise<EventBatch> {
  const found = await clickhouse.query({
    // The table has the order of insertion: the store reads from the position and stops at LIMIT.
    query: `SELECT ${columns} FROM events
      WHERE team_id = {team_id:Int64} AND inserted_at >= {from:DateTime64(6, 'UTC')}
        AND ${isAfter(after)} AND inserted_at < {until:DateTime64(6, 'UTC')}
        ${names === null ? '' : 'AND event IN {names:Array(String)}'}
      ORDER BY inserted_at, timestamp, uuid LIMIT {rows:UInt32}`,
    query_params: {
      team_id,
      from: plain(after.inserted_at),
      timestamp: after.within === null ? undefined : plain(after.within.timestamp),
      uuid: after.within?.uuid ?? after.event_uuid ?? undefined,
      until: plain(until),
      names: names ?? undefined,
      rows: rows_max,
    },
    format: 'JSONEachRow',
    clickhouse_settings: { max_block_size: '128' },
    abort_signal: signal,
  });
  const events: PluginEvent[] = [];
  let bytes = 0;
  const stream = found.stream<Row>();
  for await (const rows of stream) {
    for (const { text } of rows) {
      bytes += text.length;
      // Leaving the loop ends the stream and its query.
      if (events.length > 0 && bytes > bytes_max) return { events, is_end: false };
      events.push(eventOf(team_id, JSON.parse(text) as Row));
    }
  }
  return { events, is_end: events.length < rows_max };
}

/** Returns the condition that an event comes after a position. */
function isAfter({ event_uuid, within }: Position): string {
  if (event_uuid === null && within === null) return 'true';
  const isLater =
    within === null
      ? 'uuid > {uuid:UUID}'
      : "(timestamp, uuid) > ({timestamp:DateTime64(6, 'UTC')}, {uuid:UUID})";
  return `(inserted_at > {from:DateTime64(6, 'UTC')} OR ${isLater})`;
}

function eventOf(
  team_id: number,
  { uuid, event, distinct_id, person_id, timestamp, inserted_at, elements_chain, ...row }: Row,
): PluginEvent {
  return withProperties({
    uuid,
    event,
    distinct_id,
    team_id,
    timestamp,
    inserted_at,
    properties: JSON.parse(row.properties) as PluginEvent['properties'],
    elements_chain,
    person: { id: person_id, properties: JSON.parse(row.person_properties) as unknown },
  });
}

/** Returns the event with the fields that repeat its properties. */
export function withProperties(event: Omit<PluginEvent, '$set' | '$set_once' | 'ip'>): PluginEvent {
  const { $set, $set_once, $ip = null } = event.properties;
  return { ...event, $set, $set_once, ip: $ip };
}

/** Returns ISO 8601 as a query parameter, whose type implies UTC. */
function plain(instant: string): string {
  return instant.replace('Z', '');
}

/** Counts the events of a project that were stored in a range, with these names if given. */
export async function countEvents(
  clickhouse: ClickHouse,
  team_id: number,
  {
    start_at,
    end_at,
    events,
  }: { start_at: string | null; end_at: string; events: string[] | null },
): Promise<number> {
  const [row] = await clickhouse.rows<{ count: number | string }>({
    query: `SELECT count() AS count FROM events WHERE team_id = {team_id:Int64}
      AND inserted_at >= {from:DateTime64(6, 'UTC')} AND inserted_at < {until:DateTime64(6, 'UTC')}
      ${events === null ? '' : 'AND event IN {names:Array(String)}'}`,
    query_params: {
      team_id,
      from: plain(start_at ?? '1970-01-01T00:00:00Z'),
      until: plain(end_at),
      names: events ?? undefined,
    },
    clickhouse_settings: { max_execution_time: 15 },
  });
  return Number(row?.count ?? 0);
}
