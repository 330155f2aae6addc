import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import sql from 'sql-template-tag';
import { executeRun } from '../../server/engine/exports/delivery/execute.ts';
import type { Engine } from '../../server/engine/exports/engine.ts';
import { deliveredOf, inHandOf } from '../../server/engine/model/ledger/ledger.ts';
import { fromStored, subtract } from '../../server/engine/model/ledger/rectangles.ts';
import type { StoredRectangle } from '../../server/engine/model/ledger/rectangles.ts';
import { attempts_max } from '../../server/engine/model/run.ts';
import { advanceBackfills } from '../../server/engine/exports/runs/advance_backfills.ts';
import { claimRun } from '../../server/engine/exports/workers/claims.ts';
import { projectBase } from '../factories/batch_exports/batch_exports.ts';
import type { QueryHarness } from '../factories/batch_exports/query_exports.ts';
import type { TestOrganization } from '../harness.ts';

/** The state of a selection in the ledger after its run has ended. */
type Held = 'delivered' | 'uncertain' | 'nothing';

/** An answer to a COMMIT, and its consequences. */
export type CommitCase = {
  destination: string;
  /** The answer to the last COMMIT of the run's last attempt, in a few words for readers. */
  answer: string;
  /** The actual outcome of the COMMIT at the server. */
  server: 'rolled back' | 'committed';
  run: 'Failed' | 'FailedRetryable' | 'Completed';
  code: string | null;
  ledger: Held;
  /** Number of rows that the next backfill delivers. */
  backfill: number;
  prepare(): Promise<CommitScene>;
};

/** A case's own place, and the fault of its commit. */
export type CommitScene = {
  config: Record<string, unknown>;
  /** Number of visible rows at the place; 0 without a table. */
  visible(): Promise<number>;
  strike(): Promise<unknown>;
  lift(): Promise<unknown>;
  engine?(engine: Engine): Engine;
};

/** Rows of each delivery. */
export const records = 3;

/** The test bed of all cases: a project with three events, whose exports run on demand. */
export async function openCommits(exporting: QueryHarness) {
  const home = await exporting.harness.newOrganization();
  const hour = Array.from({ length: records }, (_, index) => ({
    event: 'seen',
    at: `2026-01-01T00:1${index}:00Z`,
  }));
  await exporting.insert(home, hour);
  return { happen: (one: CommitCase) => happen(exporting, home, one) };
}

async function happen(
  exporting: QueryHarness,
  home: TestOrganization,
  one: CommitCase,
): Promise<void> {
  const { db, engine } = exporting.harness.deps;
  const scene = await one.prepare();
  const own = (given: Engine) => scene.engine?.(given) ?? given;
  const destination = { type: one.destination, config: scene.config };
  const { id } = await exporting.scheduled(home, { destination }, 1);
  const [run] = await exporting.plan(id);
  // The last attempt, which decides the end of the run.
  await db.run(sql`
    UPDATE batch_export_runs SET failures = ${attempts_max - 1} WHERE id = ${run!.id}`);
  await scene.strike();
  // Short if the answer is silence; otherwise long enough that a busy machine causes no silence.
  const silence = { destination_silence_seconds_max: one.code === 'timed_out' ? 4 : 60 };
  await execute(exporting, run!.id, own({ ...engine, ...silence }));
  const ended = await db.row<{ status: string; error_code: string; selection: StoredRectangle[] }>(
    sql`SELECT status, error_code, selection FROM batch_export_runs WHERE id = ${run!.id}`,
  );
  const wanted = [{ id, revision: 1 }];
  const isIn = async (areas: typeof deliveredOf) =>
    subtract(fromStored(ended!.selection), (await areas(db, wanted)).get(id) ?? []).length === 0;
  const ledger: Held = (await isIn(deliveredOf))
    ? 'delivered'
    : (await isIn(inHandOf))
      ? 'uncertain'
      : 'nothing';
  await scene.lift();
  const before = await scene.visible();
  await backfill(exporting, home, id, own(engine));
  const after = await scene.visible();
  assert.deepEqual(
    {
      server: before === 0 ? 'rolled back' : 'committed',
      run: ended!.status,
      code: ended!.error_code,
      ledger,
      backfill: after - before,
    },
    {
      server: one.server,
      run: one.run,
      code: one.code,
      ledger: one.ledger,
      backfill: one.backfill,
    },
  );
  assert.equal(after, records, 'every row is there, once');
}

async function execute({ harness }: QueryHarness, id: string, engine: Engine): Promise<void> {
  const run = await claimRun(harness.deps.db, id, randomUUID());
  assert.ok(run, 'the run cannot be taken');
  await executeRun(engine, run, new AbortController().signal);
}

/** Starts a backfill of the missing rows, and works until all runs of the export have ended. */
async function backfill(
  exporting: QueryHarness,
  home: TestOrganization,
  id: string,
  engine: Engine,
): Promise<void> {
  const { db } = exporting.harness.deps;
  const asked = await home.ask('POST', `${projectBase(home)}${id}/backfill/`, {
    start_at: '2026-01-01T00:00:00Z',
    end_at: '2026-01-01T01:00:00Z',
  });
  assert.equal(asked.status, 200, asked.text);
  for (;;) {
    await advanceBackfills({ ...engine, settle_seconds: 0 });
    const open = await db.rows<{ id: string }>(sql`
      SELECT id FROM batch_export_runs WHERE batch_export_id = ${id}
        AND status IN ('Starting', 'Running')`);
    for (const run of open) await execute(exporting, run.id, engine);
    const left = await db.row(sql`
      SELECT 1 FROM batch_export_backfills WHERE batch_export_id = ${id} AND finished_at IS NULL`);
    if (left === undefined && open.length === 0) return;
  }
}

const held_words: Record<Held, string> = {
  delivered: 'delivered',
  uncertain: 'uncertain',
  nothing: 'not delivered',
};

/** Returns the table of docs/commit_answers.md. */
export function commitsMarkdown(cases: CommitCase[]): string {
  const lines = cases.map(
    ({ destination, answer, server, run, ledger, backfill: rows }) =>
      `| ${destination} | ${answer} | ${server} | ${run} | ${held_words[ledger]} | ${rows} |`,
  );
  return [
    '| destination | answer to the commit | the server has | the run ends as | the ledger says | ' +
      'rows of the next backfill |',
    '| --- | --- | --- | --- | --- | --- |',
    ...lines,
  ].join('\n');
}
