import { randomUUID } from 'node:crypto';
import type { Database } from '../../platform/postgres/database.ts';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import { batchSettings } from '../../platform/clickhouse/topology/request_settings.ts';
import { isoInstant } from '../../platform/clock.ts';
import { nextInsertion } from './flush.ts';
import { clearBatch, lockForWriting, noteBatch, readState } from './lock.ts';

const seconds_max = 60;

/** The kinds of noted rows that are made of events, each with the table of its removals. */
const removals = { session: 'session_removals', group: 'group_removals' } as const;

/**
 * Has the sessions and groups that an erasure noted exported again: gives each a change at an
 * instant of its own, like a batch of events behind all others of the project. False while a batch
 * of unknown fate is in the way, or when the project is gone; may be repeated.
 */
export async function remakeNoted(
  { db, clickhouse }: { db: Database; clickhouse: ClickHouse },
  team_id: number,
  erasure_id: string,
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
    for (const [kind, table] of Object.entries(removals))
      await clickhouse.command({
        query: `INSERT INTO ${table}
          SELECT DISTINCT {team_id:Int64}, key, fromUnixTimestamp64Milli({at:Int64}, 'UTC')
          FROM erasing_rows WHERE erasure_id = {erasure_id:UUID} AND kind = {kind:String}`,
        query_params: { team_id, erasure_id, kind, at },
        query_id: `${batch_id}-${table}`,
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
