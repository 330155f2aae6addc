import { randomUUID } from 'node:crypto';
import type { Database } from '../../platform/postgres/database.ts';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import { batchSettings } from '../../platform/clickhouse/topology/request_settings.ts';
import { isoInstant } from '../../platform/clock.ts';
import { nextInsertion } from './flush.ts';
import { clearBatch, lockForWriting, noteBatch, readState } from './lock.ts';

const seconds_max = 60;

/** The kinds of noted rows that are computed from events, each with the table of its removals. */
const removals = { session: 'session_removals', group: 'group_removals' } as const;

/**
 * Makes exports deliver the sessions and groups again that an erasure noted. It gives each a change
 * at a new instant, like a batch of events after all others of the project. Returns false while a
 * batch with an unknown end is in the way, or if the project is gone; may be repeated.
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
    // A late or repeated write only changes the version: the rows say no more than that events were
    // removed.
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
