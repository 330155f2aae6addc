import { v7 as uuidv7 } from 'uuid';
import { advanceBackfills } from '../runs/advance_backfills.ts';
import { claimRuns, slotsOf } from './claims.ts';
import type { RunBounds } from './claims.ts';
import { outlast } from '../../../platform/store_away.ts';
import type { Engine } from '../engine.ts';
import { executeRun } from '../delivery/execute.ts';
import type { StopReason } from '../delivery/attempt.ts';
import { lookAfter } from './look_after.ts';
import type { Active } from './look_after.ts';
import { resolveBatches } from '../../ingest/resolve.ts';
import { removeLeftovers } from './leftovers.ts';
import { apart_ms } from '../../../platform/pacing/chores.ts';
import { startLoop } from '../../../platform/pacing/loop.ts';
import { workVerifications } from '../verification/work.ts';
import { completeEmptyRuns } from '../runs/empty_runs.ts';
import { planDueExports } from '../runs/plan_due_exports.ts';
import type { ClaimedRun } from '../../model/run.ts';
import { beat, beginStop, leave } from './heartbeat.ts';

/** Interval of planning and of checks on active runs. */
const tick_ms = 1_000;
/** Interval at which an idle worker looks for runs that others have planned. */
const claim_pause_ms = 500;

/**
 * Capacity of a worker: the slots of its own runs (`slotsOf`), within the bounds over all workers.
 * Runs whose destination shows no progress do not count, up to `stalled_runs_factor` times as many,
 * because they only wait.
 */
export type WorkerLimits = RunBounds & { runs_max: number };

/** They are bounded too: each has a connection and buffers, and all may continue at once. */
const stalled_runs_factor = 4;

/** A running worker: it plans due exports and executes runs until it is stopped. */
export type Worker = {
  /** Plans at once instead of at the next tick. */
  wake(): void;
  /**
   * Claims no new runs, asks the active ones to stop at a safe point, and resolves once they have.
   * Another worker continues unfinished runs. With `is_fault`, the process ends because of an
   * unhandled fault: an active run may be its cause, so it counts as a worker crash.
   */
  stop(end?: { is_fault: boolean }): Promise<void>;
};

/**
 * Starts a worker. Guarantees: a cancel, a deletion or a claim by another worker reaches the run
 * within about two seconds. The runs of a dead worker are claimed again after at most
 * `heartbeat_age_seconds_max` and two seconds. The bounds hold over all workers, and projects take
 * turns. Runs whose destination shows no progress delay no others.
 */
export async function startWorker(engine: Engine, limits: WorkerLimits): Promise<Worker> {
  const worker = openDuties(engine, limits, {
    wake: (duty) => loops[duty].wake(),
    // Between two ticks, so that no interval waits for the next one.
    planIn: (wait_ms) => {
      if (wait_ms < tick_ms) setTimeout(() => loops.plan.wake(), wait_ms).unref();
    },
  });
  const { worker_id, duties } = worker;
  await beat(engine.db, worker_id);
  let delay_ms = 0;
  const start = (duty: Duty, name: string, pause_ms = tick_ms) =>
    startLoop(name, pause_ms, engine.log, duties[duty], (delay_ms += apart_ms));
  const watch = start('watch', 'looking after runs');
  const loops = {
    settle: start('settle', 'settling batches with an unknown outcome'),
    plan: start('plan', 'planning'),
    empty: start('empty', 'completing runs without rows', claim_pause_ms),
    backfills: start('backfills', 'advancing backfills'),
    leftovers: start('leftovers', 'removing what deleted runs left'),
    verify: start('verify', 'verifying deliveries'),
    look: start('look', 'looking at deliveries on schedule'),
    claim: start('claim', 'claiming runs', claim_pause_ms),
  };
  return {
    wake: () => {
      loops.plan.wake();
      loops.backfills.wake();
    },
    stop: async (end = { is_fault: false }) => {
      worker.leave();
      // Sent first: a process that gets no time for an orderly stop must not look dead.
      const announced = end.is_fault ? undefined : announceStop(engine, worker_id);
      await Promise.all([announced, ...Object.values(loops).map((loop) => loop.stop())]);
      await stopRuns(worker.active);
      await watch.stop();
      await outlast(() => leave(engine.db, worker_id, end));
    },
  };
}

/** The repeated duties of a worker; `watch` continues until its last run has stopped. */
type Duty =
  | 'watch'
  | 'settle'
  | 'plan'
  | 'empty'
  | 'backfills'
  | 'leftovers'
  | 'verify'
  | 'look'
  | 'claim';

/** The duties of one worker, one turn each, and its runs. */
export type Duties = {
  worker_id: string;
  active: Active;
  duties: Record<Duty, () => Promise<unknown>>;
  /** Stops it from starting anything new. */
  leave(): void;
};

/**
 * Opens the duties of a passive worker: the caller runs each turn, one at a time. `wake` is called
 * for a duty with immediate work, `planIn` when an interval may be due.
 */
export function openDuties(
  engine: Engine,
  limits: WorkerLimits,
  {
    wake,
    planIn,
  }: { wake(duty: 'empty' | 'claim' | 'backfills'): void; planIn(wait_ms: number): void },
): Duties {
  const worker_id = uuidv7();
  const active: Active = new Map();
  let last_team_id = 0;
  const leaving = new AbortController();
  const onPlanned = () => (['empty', 'claim'] as const).forEach(wake);
  const take = (run: ClaimedRun): void => {
    last_team_id = run.team_id;
    takeOn(engine, active, run, {
      onRoom: () => wake('claim'),
      onEnd: () => (run.backfill_id === null ? undefined : wake('backfills')),
    });
  };
  const claim = async () => {
    const { free, stalled } = slotsLeft(active, limits);
    if (free <= 0) return;
    const claimant = {
      worker_id,
      run_ids: [...active.keys()].map((run) => run.id),
      stalled_run_ids: stalled.map((run) => run.id),
      last_team_id,
    };
    for (const run of await claimRuns(engine.db, claimant, limits, free)) take(run);
  };
  return {
    worker_id,
    active,
    leave: () => leaving.abort('shutdown' satisfies StopReason),
    duties: {
      watch: lookAfter(engine, worker_id, active),
      settle: () => resolveBatches(engine.db, engine.clickhouse, engine.log),
      plan: async () => {
        const options = { onPlanned, onNothingDue: planIn };
        while ((await planDueExports(engine, options)) > 0);
      },
      empty: async () => {
        while (!leaving.signal.aborted && (await completeEmptyRuns(engine)) > 0) wake('claim');
      },
      backfills: async () => {
        while (!leaving.signal.aborted && (await advanceBackfills(engine)) > 0) wake('claim');
      },
      leftovers: () => removeLeftovers(engine),
      verify: () => workVerifications(engine, leaving.signal),
      look: () => workVerifications(engine, leaving.signal, { is_scheduled: true }),
      claim,
    },
  };
}

/** Starts work on a run. Calls `onRoom` at each instant from which another run may fit. */
function takeOn(
  engine: Engine,
  active: Active,
  run: ClaimedRun,
  { onRoom, onEnd }: { onRoom(): void; onEnd(): void },
): void {
  const controller = new AbortController();
  const onStall = (isStalled: boolean): void => {
    const entry = active.get(run);
    if (entry !== undefined) entry.is_stalled = isStalled;
    if (isStalled) onRoom();
  };
  const ended = work(engine, run, controller.signal, onStall).finally(() => {
    active.delete(run);
    engine.metrics.runs_active.set(active.size);
    onRoom();
    onEnd();
  });
  active.set(run, { controller, ended, is_stalled: false });
  engine.metrics.runs_active.set(active.size);
}

/** Returns the free capacity of this worker, and its runs that only wait. */
function slotsLeft(active: Active, limits: WorkerLimits): { free: number; stalled: ClaimedRun[] } {
  const stalled = [...active].filter(([, { is_stalled }]) => is_stalled).map(([run]) => run);
  const taken = sumOfSlots([...active.keys()]);
  const free = Math.min(
    limits.runs_max - (taken - sumOfSlots(stalled)),
    (1 + stalled_runs_factor) * limits.runs_max - taken,
  );
  return { free, stalled };
}

function announceStop(engine: Engine, workerId: string): Promise<void> {
  return outlast(() => beginStop(engine.db, workerId)).catch((error: unknown) =>
    engine.log.warn({ err: error }, 'the stop could not be announced'),
  );
}

async function stopRuns(active: Active): Promise<void> {
  for (const { controller } of active.values()) controller.abort('shutdown' satisfies StopReason);
  await Promise.all([...active.values()].map(({ ended }) => ended));
}

function sumOfSlots(runs: ClaimedRun[]): number {
  return runs.reduce((sum, run) => sum + slotsOf(run), 0);
}

/**
 * Never rejects. If the control store does not learn of its end, the next claim finds the run,
 * because no worker has it.
 */
async function work(
  engine: Engine,
  run: ClaimedRun,
  signal: AbortSignal,
  onStall: (isStalled: boolean) => void,
): Promise<void> {
  try {
    await executeRun(engine, run, signal, onStall);
  } catch (error) {
    if (signal.reason !== 'shutdown')
      engine.log.warn({ err: error, run_id: run.id }, 'a run was interrupted and continues');
  }
}
