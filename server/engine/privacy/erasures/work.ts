import type { Engine } from '../../exports/engine.ts';
import { row_tables } from '../../model/removals/delete_rows.ts';
import { caughtUp } from '../../../platform/clickhouse/topology/caught_up.ts';
import { certify, clearFiles } from './certify.ts';
import { claimErasure, failed_sentence, giveBack, whileHeld } from './erasure.ts';
import type { Erasure, ErasureStep, StepEnd } from './erasure.ts';
import { noteRows } from './note_rows.ts';
import { removeNoted } from './remove_rows.ts';
import { noteTools } from '../../plugins/erasing/erasure_tools.ts';
import { allIds, resolve } from './resolve.ts';
import { rewriteCopies } from './rewrite.ts';
import { scrub } from './scrub.ts';
import { settleRuns } from './settle_runs.ts';

type Step = (
  engine: Engine,
  erasure: Erasure,
  signal: AbortSignal,
  memory_seconds: number,
) => Promise<StepEnd | 'done'>;

// Each step may be repeated, and is repeated after a kill.
const steps: Record<Exclude<ErasureStep, 'done'>, Step> = {
  resolve,
  note: noteRows,
  remove: removeNoted,
  settle: settleAndNote,
  rewrite: rewriteCopies,
  scrub,
  files: clearFiles,
  certify,
};

/** No plugin holds events of the persons now, so tools are told of the deletion last. */
async function settleAndNote(...given: Parameters<typeof settleRuns>): Promise<StepEnd> {
  const [engine, erasure, signal] = given;
  const end = await settleRuns(...given);
  if (end.step === 'settle' || erasure.kind !== 'persons') return end;
  const ids = await allIds(engine.clickhouse, erasure.id, signal);
  await noteTools(engine, { erasure_id: erasure.id, team_id: erasure.team_id }, ids);
  return end;
}

/** Tables of the analytics store that the steps read and write. */
const erasure_tables = [...row_tables, 'erasing_ids', 'erasing_rows'];
const failed_wait_seconds = 10;
/** Longer than the cache lifetimes of source/memo.ts. */
const default_memory_seconds = 12;

/**
 * Works on the requested erasures and returns the number of steps. Guarantees: after any kill,
 * another process continues. Several processes never do the same work at once. An erasure ends only
 * with its certificate, which requires that neither store has any of its rows. A failed step is
 * retried, and the erasure shows the reason. `memory_seconds`: how long processes cache reads of
 * the analytics store.
 */
export async function workErasures(
  engine: Engine,
  signal: AbortSignal,
  memory_seconds = default_memory_seconds,
): Promise<number> {
  let done = 0;
  while (!signal.aborted && (await workOneStep(engine, signal, memory_seconds))) done += 1;
  return done;
}

/** Runs one step of the longest waiting erasure; returns false if none waits. */
export async function workOneStep(
  engine: Engine,
  signal: AbortSignal,
  memory_seconds: number,
): Promise<boolean> {
  const erasure = await claimErasure(engine);
  if (erasure === undefined) return false;
  await workStep(engine, erasure, signal, memory_seconds);
  return true;
}

async function workStep(
  engine: Engine,
  erasure: Erasure,
  signal: AbortSignal,
  memory_seconds: number,
): Promise<void> {
  const step = steps[erasure.step as keyof typeof steps];
  try {
    const end = await whileHeld(engine, erasure, signal, (held) =>
      caughtUp(engine.clickhouse, erasure_tables, () =>
        step(engine, erasure, held, memory_seconds),
      ),
    );
    if (end !== 'done') return await giveBack(engine, erasure, end);
    engine.log.info({ erasure: erasure.id }, 'an erasure is done');
  } catch (error) {
    if (signal.aborted) return giveBack(engine, erasure, { step: erasure.step, detail: null });
    engine.log.error({ err: error, erasure: erasure.id, step: erasure.step }, 'an erasure failed');
    await giveBack(engine, erasure, {
      step: erasure.step,
      detail: `${failed_sentence} It is tried again in ${failed_wait_seconds} seconds.`,
      wait_seconds: failed_wait_seconds,
    });
  }
}
