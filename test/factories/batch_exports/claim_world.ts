import { randomUUID } from 'node:crypto';
import sql from 'sql-template-tag';
import { claimRuns } from '../../../server/engine/exports/workers/claims.ts';
import type { RunBounds } from '../../../server/engine/exports/workers/claims.ts';
import type { ClaimedRun } from '../../../server/engine/model/run.ts';
import { insertRunRow, newExport } from './batch_exports.ts';
import type { Harness } from '../../harness.ts';

/**
 * A worker from the claims' point of view. It remembers its runs and the last served project, like
 * the real one.
 */
export type TestClaimant = {
  worker_id: string;
  /** Claims runs, and returns their ids. */
  claim(count: number): Promise<string[]>;
  claimed(): ClaimedRun[];
  /** Simulates that the destination of the run is silent. */
  stall(id: string): void;
  /** Stops work on the run. */
  forget(id: string): void;
};

/** Waiting runs of three projects, and workers that claim them. */
export type ClaimWorld = {
  /** An export of each project, in the order of the projects. */
  exports: { id: string; team_id: number }[];
  /**
   * Adds a waiting run to the project's export, at a host or at none, and returns its id. A higher
   * hour means a later run.
   */
  newRun(project: number, wanted?: { hour?: number; host?: string }): Promise<string>;
  /** Ends a run without its worker. */
  end(id: string): Promise<unknown>;
  openClaimant(bounds?: RunBounds): TestClaimant;
  /** Makes the worker's last heartbeat as old as that of a dead one. */
  fallSilent(worker: { worker_id: string }): Promise<unknown>;
  /** Removes all runs and workers. */
  clear(): Promise<unknown>;
};

const wide: RunBounds = { project_runs_max: 100, host_runs_max: 100 };

/** Creates the projects and their exports in the stores of a test file. */
export async function openClaimWorld(harness: Harness): Promise<ClaimWorld> {
  const { db } = harness.deps;
  const exports: ClaimWorld['exports'] = [];
  for (let count = 0; count < 3; count += 1) {
    const home = await harness.newOrganization();
    exports.push({
      id: ((await newExport(home)) as { id: string }).id,
      team_id: home.project.id,
    });
  }
  return {
    exports,
    newRun: async (project, wanted = {}) => {
      const id = await insertRunRow(harness, exports[project]!.id, { hour: wanted.hour ?? 0 });
      await db.run(sql`
        UPDATE batch_export_runs SET delivery_id = gen_random_uuid(), host = ${wanted.host ?? null},
          due_at = now() - interval '1 day' + make_interval(hours => ${wanted.hour ?? 0})
          WHERE id = ${id}`);
      return id;
    },
    end: (id) =>
      db.run(
        sql`UPDATE batch_export_runs SET status = 'Completed', finished_at = now()
          WHERE id = ${id}`,
      ),
    openClaimant: (bounds = wide) => openClaimant(harness, bounds),
    fallSilent: ({ worker_id }) =>
      db.run(
        sql`UPDATE workers SET heartbeat_at = now() - interval '9 seconds' WHERE id = ${worker_id}`,
      ),
    clear: () => db.text('DELETE FROM batch_export_runs; DELETE FROM workers'),
  };
}

function openClaimant({ deps }: Harness, bounds: RunBounds): TestClaimant {
  const claimant = {
    worker_id: randomUUID(),
    run_ids: [] as string[],
    stalled_run_ids: [] as string[],
    last_team_id: 0,
  };
  let claimed: ClaimedRun[] = [];
  return {
    worker_id: claimant.worker_id,
    claim: async (count) => {
      claimed = await claimRuns(deps.db, claimant, bounds, count);
      claimant.run_ids.push(...claimed.map((run) => run.id));
      claimant.last_team_id = claimed.at(-1)?.team_id ?? claimant.last_team_id;
      return claimed.map((run) => run.id);
    },
    claimed: () => claimed,
    stall: (id) => void claimant.stalled_run_ids.push(id),
    forget: (id) => void claimant.run_ids.splice(claimant.run_ids.indexOf(id), 1),
  };
}
