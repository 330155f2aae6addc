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

// Each may be repeated: after a kill in the middle of one it is done once more.
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

/** No plugin holds events of the persons any more: tools are told of the deletion after all. */
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
/** Longer than source/memo.ts keeps anything. */
const default_memory_seconds = 12;

/**
 * Does the current work of the requested erasures and returns the number of steps. Guarantees:
 * after any kill, another process continues; several processes never do the same work at once; an
 * erasure ends only with its certificate, and gets it only when neither store has any of its rows.
 * A failed step is retried, and the erasure says why. `memory_seconds` is the time for which
 * processes cache their readings of the analytics store.
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

/** Does one step of the erasure that waits longest; false where none waits. */
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
