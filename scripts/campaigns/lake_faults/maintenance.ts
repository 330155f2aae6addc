import sql from 'sql-template-tag';
import { maintainTable } from '../../../server/engine/exports/lake_maintenance/maintain.ts';
import { openMaintainedTable } from '../../../server/engine/exports/lake_maintenance/maintained_table.ts';
import type { MaintainedTable } from '../../../server/engine/exports/lake_maintenance/maintained_table.ts';
import type { Engine } from '../../../server/engine/exports/engine.ts';
import type { Draw } from '../../../test/factories/events/generated_json.ts';
import { faultyEngine } from '../../../test/factories/batch_exports/faulty_worker.ts';
import type { Answer } from '../../../test/factories/batch_exports/faulty_worker.ts';

/** No round of maintenance yet. */
export const nothing_maintained = {
  rounds: 0,
  rounds_killed: 0,
  round_answers: 0,
  files_compacted: 0,
  manifests_merged: 0,
  snapshots_expired: 0,
  files_deleted: 0,
};
/** Counts the rounds, their faults, and their results. */
export type Maintained = typeof nothing_maintained;

const boundaries_max = 120;
/**
 * Longer than any statement of a writer on a busy machine, whose snapshot must not expire before.
 */
const busy_ms = 30_000;
const days_ms = 4 * 24 * 3_600_000;
const everything = { is_daily: true, cleans: true };
type Faulty = ReturnType<typeof faultyEngine>;

/**
 * Maintains the table of a project as the server does. Half of the rounds die at one of their
 * calls, and some commits lose their answers. `is_quiet`: nobody else uses the table, so the round
 * acts as if four days had passed, and deletes all that nothing needs. Returns what is wrong.
 */
export async function maintain(
  engine: Engine,
  { team_id, draw, is_quiet }: { team_id: number; draw: Draw; is_quiet: boolean },
  done: Maintained,
): Promise<string | undefined> {
  const faults = {
    kill_at: draw(2) === 0 ? 1 + draw(boundaries_max) : undefined,
    answers: draw(3) === 0 ? [(['lost before', 'lost after'] as Answer[])[draw(2)]!] : [],
    before_commit: undefined,
    is_naive: false,
  };
  const { db } = engine;
  const row = await db.row<{ id: string }>(
    sql`SELECT id FROM lake_tables WHERE team_id = ${team_id}`,
  );
  // The first run may have died before it created the table.
  if (row === undefined) return undefined;
  const worker = new AbortController();
  const {
    engine: faulty,
    struck,
    between,
  } = faultyEngine(engine, faults, () => worker.abort('shutdown'));
  done.rounds += 1;
  try {
    const table = await openMaintainedTable(faulty, { ...row, team_id }, worker.signal);
    if (table === undefined) return 'the place of the table is not found';
    const own = withFaults(table, { between, is_quiet, done });
    const { result, detail, unreadable } = await maintainTable(own, everything);
    done.files_compacted += result.files_compacted;
    done.manifests_merged += result.manifests_merged;
    done.snapshots_expired += result.snapshots_expired;
    return detail ?? unreadable ?? undefined;
  } catch (error) {
    if (!struck.killed && struck.answers === 0) throw error;
    return undefined;
  } finally {
    done.rounds_killed += struck.killed ? 1 : 0;
    done.round_answers += struck.answers;
  }
}

/**
 * The table with calls to its files at which a worker may die, in the state that the round read.
 */
function withFaults(
  table: MaintainedTable,
  { between, is_quiet, done }: Pick<Faulty, 'between'> & { is_quiet: boolean; done: Maintained },
): MaintainedTable {
  const { files, rules } = table;
  return {
    ...table,
    files: {
      ...files,
      read: between(files.read),
      put: between(files.put),
      remove: between(async (uri: string) => {
        if ((await files.writtenAt(uri)) !== undefined) done.files_deleted += 1;
        await files.remove(uri);
      }),
      writtenAt: between(async (uri: string) => {
        const at = await files.writtenAt(uri);
        return at === undefined ? undefined : at - (is_quiet ? days_ms : 0);
      }),
    },
    // Small limits, so that each round has something to do.
    rules: {
      ...rules,
      snapshot_age_ms: is_quiet ? 1 : busy_ms,
      manifests_min: 3,
      file_records: 40,
    },
  };
}
