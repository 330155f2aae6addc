import type { ClickHouse } from '../../../platform/clickhouse/client.ts';
import { caughtUp } from '../../../platform/clickhouse/topology/caught_up.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Logger } from '../../../platform/log.ts';
import type { Database } from '../../../platform/postgres/database.ts';
import { countWindow } from './count_window.ts';
import { addCounts, claimWindow } from './store.ts';

/** Time for one turn, so that ingestion has the store for the rest of the time. */
const turn_ms_max = 500;

type Parts = { db: Database; clickhouse: ClickHouse; clock: Clock; log: Logger };

/**
 * Adds new events to the catalogues of their projects, one window of a project after the other,
 * until none waits or the turn is over; returns the number of windows. Guarantees: each stored
 * event counts once, in any number of processes and after any kill; ingestion does not wait for the
 * counts. A window that cannot be counted is retried after its claim expires.
 */
export async function countEvents(
  { db, clickhouse, clock, log }: Parts,
  signal: AbortSignal,
  turn_ms = turn_ms_max,
): Promise<number> {
  const began = performance.now();
  let windows = 0;
  for (; !signal.aborted && performance.now() - began < turn_ms; windows += 1) {
    const window = await claimWindow(db);
    if (window === undefined) break;
    try {
      const counts = await caughtUp(clickhouse, ['events'], () =>
        countWindow(clickhouse, window, signal),
      );
      await addCounts(db, counts, clock.now());
    } catch (error) {
      if (signal.aborted) break;
      log.warn({ err: error, team_id: window.team_id }, 'events could not be counted');
    }
  }
  return windows;
}
