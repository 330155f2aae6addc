import { setTimeout as pause } from 'node:timers/promises';
import sql from 'sql-template-tag';
import type { Database } from '../../server/platform/postgres/database.ts';

/** The runs seen while PostgreSQL failed over, and the faults in them. */
export type History = {
  /** Ends the watch, and returns a line for each run that ended twice or whose end was undone. */
  findFaults(): Promise<string[]>;
  /** Returns the number of ended runs. */
  count(): number;
};

const look_ms = 500;

type Ended = { id: string; end: string };

/**
 * The ends of runs that a standby has too. An old primary also shows ends that nobody waits for any
 * more. The log is sent in order, so the commit of this statement proves that the standby has all
 * that it saw.
 */
async function readConfirmed(db: Database): Promise<Ended[]> {
  return db.transaction(async (tx) => {
    const rows = await tx.rows<Ended>(sql`
      SELECT id, status || ' ' || wire_instant(finished_at) AS end FROM batch_export_runs
      WHERE finished_at IS NOT NULL`);
    await tx.run(sql`INSERT INTO server_facts (name, value) VALUES ('campaign', '{}')
      ON CONFLICT (name) DO UPDATE SET created_at = clock_timestamp()`);
    return rows;
  });
}

/** Records the end of each run as soon as it can be read. */
export function watchRuns(db: Database): History {
  const seen = new Map<string, string>();
  const faults = new Set<string>();
  let isStopping = false;
  const look = async () => {
    const rows = await readConfirmed(db);
    const now = new Map(rows.map(({ id, end }) => [id, end]));
    for (const [id, end] of seen)
      if (now.get(id) !== end) faults.add(`run ${id} was ${end} and is ${now.get(id) ?? 'open'}`);
    for (const [id, end] of now) seen.set(id, end);
  };
  const done = (async () => {
    while (!isStopping) {
      await look().catch(() => undefined);
      await pause(look_ms);
    }
  })();
  return {
    count: () => seen.size,
    findFaults: async () => {
      isStopping = true;
      await done;
      await look();
      const twice = await db.rows<{ run_id: string; ends: number }>(sql`
        SELECT run_id, count(*)::int AS ends FROM batch_export_logs
        WHERE message LIKE 'Run completed%' OR message LIKE 'Run ended as %'
        GROUP BY run_id HAVING count(*) > 1`);
      return [...faults, ...twice.map(({ run_id, ends }) => `run ${run_id} ended ${ends} times`)];
    },
  };
}
