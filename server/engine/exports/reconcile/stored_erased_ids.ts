import type { Engine } from '../engine.ts';
import { findErased } from '../../ingest/persons/erased_ids.ts';

const ids_per_batch = 5_000;

/**
 * Yields the stored distinct ids of a project that belong to erased persons; with `erasure_ids`,
 * only of these erasures.
 */
export async function* storedErasedIds(
  { clickhouse, db, secrets }: Engine,
  team_id: number,
  abort_signal: AbortSignal,
  erasure_ids?: string[],
): AsyncGenerator<string[]> {
  const found = await clickhouse.query({
    query: `SELECT distinct_id FROM events WHERE team_id = {team_id:Int64}
      UNION DISTINCT SELECT distinct_id FROM persons WHERE team_id = {team_id:Int64}`,
    query_params: { team_id },
    format: 'JSONEachRow',
    abort_signal,
  });
  let ids: string[] = [];
  const erased = () => findErased(db, secrets, team_id, ids, erasure_ids);
  for await (const rows of found.stream<{ distinct_id: string }>())
    for (const row of rows) {
      ids.push(row.json().distinct_id);
      if (ids.length < ids_per_batch) continue;
      yield await erased();
      ids = [];
    }
  yield await erased();
}
