import type { Deps } from '../../server/deps.ts';

/** An event as the store has it. */
export type StoredEvent = {
  uuid: string;
  event: string;
  distinct_id: string;
  timestamp: string;
  properties: string;
  person_properties: string;
};

/** The events of a project that are stored, in the order of their times. */
export async function storedEvents(
  { clickhouse }: Pick<Deps, 'clickhouse'>,
  team_id: number,
): Promise<StoredEvent[]> {
  const found = await clickhouse.query({
    query: `SELECT uuid, event, distinct_id, toString(timestamp) AS timestamp, properties,
      person_properties FROM events WHERE team_id = {team_id:Int64} ORDER BY timestamp, uuid`,
    query_params: { team_id },
    format: 'JSONEachRow',
  });
  return found.json<StoredEvent>();
}
