import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import { caughtUp } from '../../platform/clickhouse/topology/caught_up.ts';
import { letGo } from './insert.ts';
import { storeInstant } from './parse/instant.ts';

/** Time limit for the store to count the rows, and to remove them. */
const seconds_max = 30;

/**
 * Ends a batch with an unknown end: afterwards it is stored completely or not at all. First makes
 * the store end its work on it. If its events are missing, it removes the versions of persons
 * written before them: when the events are sent again, they must find the persons as before.
 * Exports have not seen these versions, because their watermark stays before the batch. Returns
 * false if the store may still be working on it; rethrows the store's errors. The caller holds the
 * project's lock.
 */
export async function settleBatch(
  clickhouse: ClickHouse,
  team_id: number,
  batch: { batch_id: string | null; last_inserted_at: string | null },
): Promise<boolean> {
  if (batch.batch_id === null || batch.last_inserted_at === null) return true;
  const at = Date.parse(batch.last_inserted_at);
  const left = { batch_id: batch.batch_id, inserted_at: storeInstant(at) };
  const tables = ['persons', 'events'] as const;
  if (!(await letGo(clickhouse, left, tables))) return false;
  await caughtUp(clickhouse, tables, () => takeBack(clickhouse, team_id, at));
  return true;
}

/** Removes a batch's versions of persons if its events are missing. */
async function takeBack(clickhouse: ClickHouse, team_id: number, at: number): Promise<void> {
  const query_params = { team_id, at };
  const isOfBatch =
    "team_id = {team_id:Int64} AND inserted_at = fromUnixTimestamp64Milli({at:Int64}, 'UTC')";
  const abort_signal = AbortSignal.timeout(seconds_max * 1_000);
  const [counts] = await clickhouse.rows<{ events: number | string; persons: number | string }>({
    query: `SELECT (SELECT count() FROM events WHERE ${isOfBatch}) AS events,
      (SELECT count() FROM persons WHERE ${isOfBatch}) AS persons`,
    query_params,
    abort_signal,
  });
  if (Number(counts?.events) === 0 && Number(counts?.persons) > 0)
    await clickhouse.command({
      query: `ALTER TABLE persons DELETE WHERE ${isOfBatch}`,
      query_params,
      abort_signal,
      clickhouse_settings: { mutations_sync: '2' },
    });
}
