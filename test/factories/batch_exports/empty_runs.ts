import sql from 'sql-template-tag';
import { newExport } from './batch_exports.ts';
import { fillEvents } from '../events/fill_events.ts';
import { betweenFiles } from '../../between_files.ts';
import { openHarness } from '../../harness.ts';
import type { Harness, TestOrganization } from '../../harness.ts';
import type { Engine } from '../../../server/engine/exports/engine.ts';
import { completeEmptyRuns } from '../../../server/engine/exports/runs/empty_runs.ts';

/** The first hour that has an event. */
export const first_hour = Date.parse('2026-01-01T00:00:00Z');

/** The milliseconds of an hour. */
export const hour_ms = 3_600_000;

/** Opened before the tests of the files that import it, and closed after them. */
export let harness: Harness;

/** The engine of the server. */
export let engine: Engine;

/** A project with one event in each of the first two hours. */
export let busy: TestOrganization;

/** A row of runs. */
export type Run = Record<string, unknown> & {
  status: string;
  receipt: string;
  needs_worker: boolean;
  is_small: boolean;
};

/** The row of a run. */
export const runOf = async (id: string): Promise<Run> =>
  (await harness.deps.db.row<Run>(sql`SELECT * FROM batch_export_runs WHERE id = ${id}`))!;

/** The id of a new export. */
export const exportOf = async (home: TestOrganization, body: Record<string, unknown> = {}) =>
  ((await newExport(home, body)) as { id: string }).id;

/** Returns the status of a run, and whether a worker must deliver it. */
export const statusOf = async (id: string) =>
  (({ status, needs_worker }) => [status, needs_worker])(await runOf(id));

/** Checks runs until none is left, and returns their number. */
export async function lookAtAll(): Promise<number> {
  let count = 0;
  for (let more = await completeEmptyRuns(engine); more > 0; more = await completeEmptyRuns(engine))
    count += more;
  return count;
}

/** Opens the exports of this file; files that need it run one after another. */
export const openAroundTests = betweenFiles(
  async () => {
    harness = await openHarness();
    engine = harness.deps.engine;
    busy = await harness.newOrganization();
    for (const from of [first_hour, first_hour + hour_ms])
      await fillEvents(harness.deps.clickhouse, {
        team_id: busy.project.id,
        events: 1,
        from,
        to: from + hour_ms,
      });
  },
  () => harness.close(),
);
