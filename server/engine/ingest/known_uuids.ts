import type { ClickHouse } from '../../platform/clickhouse/client.ts';

/**
 * Finds the uuids that the project already has in the store. Guarantee: correct while the caller
 * holds the project's ingestion lock, because nobody else inserts then. Throws if `signal` aborts
 * first. Uuids must be checked lower-case text with dashes, because they become part of the
 * statement.
 */
export async function findKnownUuids(
  clickhouse: ClickHouse,
  teamId: number,
  uuids: string[],
  signal: AbortSignal,
): Promise<Set<string>> {
  if (uuids.length === 0) return new Set();
  // Uses the projection `uuids`: (team_id, toUInt128(uuid)). Compares the number instead of the
  // uuid, because a UUID's own order begins with its second half. One text literal, because parsing
  // ten thousand literals takes longer than the look-up.
  const rows = await clickhouse.rows<{ uuid: string }>({
    query: `SELECT uuid FROM events
      WHERE team_id = {team_id:Int64} AND toUInt128(uuid) IN (SELECT
        toUInt128(toUUID(arrayJoin(splitByChar(',', '${uuids.join(',')}')))))`,
    query_params: { team_id: teamId },
    clickhouse_settings: { max_query_size: '16000000' },
    abort_signal: signal,
  });
  return new Set(rows.map((row) => row.uuid));
}
