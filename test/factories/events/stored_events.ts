import type { Deps } from '../../../server/deps.ts';

/** An event as the store has it. */
export type StoredEvent = {
  uuid: string;
  event: string;
  distinct_id: string;
  timestamp: string;
  properties: string;
  person_properties: string;
};

/** Returns the stored events of a project, in the order of their times. */
export async function storedEvents(
  { clickhouse }: Pick<Deps, 'clickhouse'>,
  team_id: number,
): Promise<StoredEvent[]> {
  return clickhouse.rows<StoredEvent>({
    query: `SELECT uuid, event, distinct_id, toString(timestamp) AS timestamp, properties,
      person_properties FROM events WHERE team_id = {team_id:Int64} ORDER BY timestamp, uuid`,
    query_params: { team_id },
  });
}

/** Returns the distinct ids of each known person of a project. */
export async function storedPeople(
  { clickhouse }: Pick<Deps, 'clickhouse'>,
  team_id: number,
): Promise<string[][]> {
  const found = await clickhouse.rows<{ ids: string[] }>({
    query: `SELECT arraySort(groupArray(distinct_id)) AS ids FROM (
        SELECT distinct_id, person_id FROM person_distinct_ids WHERE team_id = {team_id:Int64}
        ORDER BY distinct_id, version DESC LIMIT 1 BY distinct_id)
      GROUP BY person_id ORDER BY ids`,
    query_params: { team_id },
  });
  return found.map(({ ids }) => ids);
}
