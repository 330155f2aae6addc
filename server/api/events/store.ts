import type { Static } from 'typebox';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import { caughtUpForAnswer } from '../../platform/clickhouse/topology/caught_up.ts';
import { whileWaiting } from '../../platform/http/while_waiting.ts';
import { looked_at_max } from './schema.ts';
import type { EventCounts, EventCountsQuery, NewestQuery, StoredEvent } from './schema.ts';

/**
 * Lists the newest stored events of a project, newest first. Reads the end of the table's own
 * order, so its time does not depend on the size of the project.
 */
export async function listNewestEvents(
  clickhouse: ClickHouse,
  team_id: number,
  limit: number,
  filter: EventFilter = {},
): Promise<Static<typeof StoredEvent>[]> {
  const instant = (column: string) =>
    `formatDateTime(e.${column}, '%Y-%m-%dT%H:%i:%S.%fZ', 'UTC') AS ${column}`;
  const conditions = filter_conditions.flatMap(([name, condition]) =>
    filter[name] === undefined ? [] : [condition],
  );
  const order = 'ORDER BY e.team_id DESC, e.inserted_at DESC, e.uuid DESC';
  const ofProject = 'FROM events e WHERE e.team_id = {team_id:Int64}';
  // A filter without matches would read all events of the project, so the search is limited.
  const source =
    conditions.length === 0
      ? `${ofProject} ${order}`
      : `FROM (SELECT * ${ofProject} ${order} LIMIT ${looked_at_max}) e
        WHERE ${conditions.join(' AND ')} ${order}`;
  return ask(clickhouse, {
    query:
      `SELECT toString(e.uuid) AS uuid, e.event, e.distinct_id, ${instant('timestamp')}, ` +
      `${instant('inserted_at')} ${source} LIMIT {limit:UInt32}`,
    query_params: { team_id, limit, ...filter },
  });
}

/** The texts that an event's name, id or property must have. */
type EventFilter = Omit<Static<typeof NewestQuery>, 'limit'>;

const filter_conditions: [name: keyof EventFilter, condition: string][] = [
  ['event', 'e.event = {event:String}'],
  ['distinct_id', 'e.distinct_id = {distinct_id:String}'],
  ['property', 'JSONHas(e.properties, {property:String})'],
  [
    'value',
    `{value:String} IN (JSONExtractString(e.properties, {property:String}),
      JSONExtractRaw(e.properties, {property:String}))`,
  ],
];

type CountsWanted = Omit<Static<typeof EventCounts>, 'results'> &
  Required<Pick<Static<typeof EventCountsQuery>, 'by' | 'by_event'>>;

/**
 * Counts a project's stored events in each minute, hour or day of a range, oldest first. By
 * insertion time, it reads one column of the range, in the table's own order. By event time, it
 * reads that column of the whole project.
 */
export async function countEvents(
  clickhouse: ClickHouse,
  team_id: number,
  { after, before, interval, by, by_event }: CountsWanted,
  limit: number,
): Promise<Static<typeof EventCounts>['results']> {
  const event = by_event ? ', e.event' : '';
  return ask(clickhouse, {
    query:
      `SELECT formatDateTime(date_trunc('${interval}', e.${by}), ` +
      `'%Y-%m-%dT%H:%i:%S.000000Z', 'UTC') AS start_at${event}, toUInt32(count()) AS events ` +
      'FROM events e WHERE e.team_id = {team_id:Int64} ' +
      `AND e.${by} >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') ` +
      `AND e.${by} < fromUnixTimestamp64Milli({to:Int64}, 'UTC') ` +
      `GROUP BY start_at${event} ORDER BY start_at${event} LIMIT {limit:UInt32}`,
    query_params: { team_id, from: known(after), to: known(before), limit },
  });
}

/** Queries events, with every acknowledged row. */
function ask<Row>(
  clickhouse: ClickHouse,
  question: { query: string; query_params: Record<string, unknown> },
): Promise<Row[]> {
  return whileWaiting((abort_signal) =>
    caughtUpForAnswer(clickhouse, ['events'], () =>
      clickhouse.rows<Row>({ ...question, abort_signal }),
    ),
  );
}

/** Returns the instant in milliseconds, within the years of stored events. */
function known(instant: string): number {
  return Math.min(Math.max(Date.parse(instant), 0), Date.UTC(2200, 0, 1));
}
