import { randomUUID } from 'node:crypto';
import type { Database } from '../../platform/postgres/database.ts';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import { batchSettings } from '../../platform/clickhouse/topology/request_settings.ts';
import { isoInstant } from '../../platform/clock.ts';
import { nextInsertion } from './flush.ts';
import { clearBatch, lockForWriting, noteBatch, readState } from './lock.ts';

const seconds_max = 60;

/**
 * Has sessions exported again: gives each a change at an instant of its own, like a batch of events
 * behind all others of the project. `ids` is a SELECT of the column `session_id`. False while a
 * batch of unknown fate is in the way, or when the project is gone; may be repeated.
 */
export async function remakeSessions(
  { db, clickhouse }: { db: Database; clickhouse: ClickHouse },
  team_id: number,
  ids: { query: string; query_params: Record<string, unknown> },
): Promise<boolean> {
  return db.transaction(async (tx) => {
    await lockForWriting(tx, team_id);
    const state = await readState(tx, team_id);
    if (!state.has_project) return true;
    if (state.batch_id !== null) return false;
    const { epoch, last_inserted_at } = state;
    const batch_id = randomUUID();
    const last = last_inserted_at === null ? 0 : Date.parse(last_inserted_at);
    const at = nextInsertion(state, last);
    const noted = await noteBatch(db, {
      team_id,
      epoch,
      batch_id,
      inserted_at: isoInstant(at),
      last_inserted_at,
      writes_persons: false,
      seconds_max,
    });
    if (noted !== 'noted') return noted === 'project_gone';
    // Late or twice it changes only the version: the rows say no more than that something went.
    await clickhouse.command({
      query: `INSERT INTO session_removals (team_id, session_id, inserted_at)
        SELECT {team_id:Int64}, session_id, fromUnixTimestamp64Milli({at:Int64}, 'UTC')
        FROM (${ids.query})`,
      query_params: { ...ids.query_params, team_id, at },
      query_id: `${batch_id}-session_removals`,
      clickhouse_settings: batchSettings(clickhouse.mode, {
        token: batch_id,
        milliseconds: seconds_max * 1_000,
      }),
      abort_signal: AbortSignal.timeout(seconds_max * 1_000),
    });
    await clearBatch(tx, team_id, batch_id);
    return true;
  });
}
