import type { Static } from 'typebox';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import { caughtUpForAnswer } from '../../platform/clickhouse/topology/caught_up.ts';
import { whileWaiting } from '../../platform/http/while_waiting.ts';
import type { EventCounts, StoredEvent } from './schema.ts';

/**
 * The events of a project that were stored last, newest first. Reads the end of the table's own
 * order, so it takes as long in a large project as in a small one.
 */
export async function listNewestEvents(
  clickhouse: ClickHouse,
  team_id: number,
  limit: number,
): Promise<Static<typeof StoredEvent>[]> {
  const instant = (column: string) =>
    `formatDateTime(e.${column}, '%Y-%m-%dT%H:%i:%S.%fZ', 'UTC') AS ${column}`;
  return ask(clickhouse, {
    query:
      `SELECT toString(e.uuid) AS uuid, e.event, e.distinct_id, ${instant('timestamp')}, ` +
      `${instant('inserted_at')} FROM events e WHERE e.team_id = {team_id:Int64} ` +
      'ORDER BY e.team_id DESC, e.inserted_at DESC, e.uuid DESC LIMIT {limit:UInt32}',
    query_params: { team_id, limit },
  });
}

/**
 * Counts a project's stored events in each minute, hour or day of a range, oldest first. Reads one
 * column of the range, in the table's own order.
 */
export async function countEvents(
  clickhouse: ClickHouse,
  team_id: number,
  { after, before, interval }: Omit<Static<typeof EventCounts>, 'results'>,
  limit: number,
): Promise<Static<typeof EventCounts>['results']> {
  return ask(clickhouse, {
    query:
      `SELECT formatDateTime(date_trunc('${interval}', e.inserted_at), ` +
      `'%Y-%m-%dT%H:%i:%S.000000Z', 'UTC') AS start_at, toUInt32(count()) AS events ` +
      'FROM events e WHERE e.team_id = {team_id:Int64} ' +
      "AND e.inserted_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') " +
      "AND e.inserted_at < fromUnixTimestamp64Milli({to:Int64}, 'UTC') " +
      'GROUP BY start_at ORDER BY start_at LIMIT {limit:UInt32}',
    query_params: { team_id, from: known(after), to: known(before), limit },
  });
}

/** Rows of events; none that was answered for is missing. */
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

/** The instant in milliseconds, within the years that events are stored in. */
function known(instant: string): number {
  return Math.min(Math.max(Date.parse(instant), 0), Date.UTC(2200, 0, 1));
}
