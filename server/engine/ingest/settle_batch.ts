import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import { caughtUp } from '../../platform/clickhouse/topology/caught_up.ts';
import { letGo } from './insert.ts';
import { storeInstant } from './parse/instant.ts';

/** Time limit for the store to report the rows, and to take them back. */
const seconds_max = 30;

/**
 * Settles a batch of which nobody said how it ended: afterwards it is stored whole or not at all.
 * The store works on it no longer, and where its events are not there, the versions of persons that
 * were written before them are taken back: sent again, its events must find persons as they were
 * before them. Exports have not seen these versions, because their watermark stays before the
 * batch. False when the store may still work on it; throws what the store throws. Call it under the
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

/** Removes the versions of persons of a batch whose events are not there. */
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
