import type { Static } from 'typebox';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import type { StoredEvent } from './schema.ts';

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
  const found = await clickhouse.query({
    query:
      `SELECT toString(e.uuid) AS uuid, e.event, e.distinct_id, ${instant('timestamp')}, ` +
      `${instant('inserted_at')} FROM events e WHERE e.team_id = {team_id:Int64} ` +
      'ORDER BY e.team_id DESC, e.inserted_at DESC, e.uuid DESC LIMIT {limit:UInt32}',
    query_params: { team_id, limit },
    format: 'JSONEachRow',
  });
  return found.json();
}
