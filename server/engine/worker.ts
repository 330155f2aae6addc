import sql from 'sql-template-tag';
import { advanceBackfills } from './backfill.ts';
import type { Engine } from './engine.ts';
import { executeRun } from './execute.ts';
import type { StopReason } from './execute.ts';
import { resolveBatches } from './ingest/resolve.ts';
import { planDueExports } from './plan.ts';
import { run_queue } from './queue.ts';
import type { Queue, RunJob } from './queue.ts';

/** How often plans are made and active runs are looked after. */
const tick_ms = 1_000;
/** A run that no job carries for this long is sent again. */
const orphan_seconds = 30;

/** One job in this process. A run can have two for a moment: one that was believed dead, and the one that took over. */
type ActiveRun = { run_id: string; controller: AbortController };

/** A running worker: plans due exports and executes runs until it is stopped. */
export type Worker = {
  /** Makes the next plan at once instead of at the next tick. */
  wake(): void;
  /** Takes no new runs, asks the active ones to stop at a safe point, and returns when they have. What was not finished is taken up by another worker. */
  stop(): Promise<void>;
};

/**
 * Starts a worker. Guarantees: a cancel, a deletion or a takeover by another worker reaches the run within about two seconds; at most `project_runs_max` runs of one project are
 * executed at a time over all workers, so that one project cannot keep the others waiting; a run whose job was lost is found and sent again.
 */
export async function startWorker(engine: Engine, queue: Queue, options: { concurrency: number; project_runs_max: number }): Promise<Worker> {
  const active = new Set<ActiveRun>();
  const loop = startLoop(engine, () => tick(engine, active));
  await queue.boss.work<RunJob>(
    run_queue,
    {
      localConcurrency: options.concurrency,
      batchSize: 1,
      groupConcurrency: options.project_runs_max,
      heartbeatRefreshSeconds: 2,
      pollingIntervalSeconds: 0.5,
      notifyPollingIntervalSeconds: 0.5,
    },
    async ([job]) => {
      if (job !== undefined) await work(engine, job, active);
      loop.wake();
    },
  );
  return {
    wake: loop.wake,
    stop: async () => {
      const off = queue.boss.offWork(run_queue, { wait: true });
      for (const { controller } of active) controller.abort('shutdown' satisfies StopReason);
      await Promise.all([off, loop.stop()]);
    },
  };
}

async function work(engine: Engine, job: { data: RunJob; signal: AbortSignal }, active: Set<ActiveRun>): Promise<void> {
  const controller = new AbortController();
  // pg-boss aborts the job's signal when the job was taken from this worker, and also after it has ended, when nobody listens any more.
  const onLost = () => controller.abort('lost' satisfies StopReason);
  job.signal.addEventListener('abort', onLost, { once: true });
  const entry: ActiveRun = { run_id: job.data.run_id, controller };
  active.add(entry);
  engine.metrics.runs_active.set(active.size);
  try {
    await executeRun(engine, job.data.run_id, controller.signal);
  } finally {
    job.signal.removeEventListener('abort', onLost);
    active.delete(entry);
    engine.metrics.runs_active.set(active.size);
  }
}

async function tick(engine: Engine, active: Set<ActiveRun>): Promise<void> {
  const steps: [string, () => Promise<unknown>][] = [
    ['stopping unwanted runs', () => stopUnwanted(engine, active)],
    ['settling batches of unknown fate', () => resolveBatches(engine.db, engine.clickhouse, engine.log)],
    ['planning', () => planAll(engine)],
    ['advancing backfills', () => advanceBackfills(engine)],
    ['sending runs without a job', () => sendOrphans(engine)],
  ];
  // Each step on its own: what keeps one from its work must not keep the others.
  for (const [name, step] of steps) await step().catch((error: unknown) => engine.log.warn({ err: error }, `${name} failed and is tried again`));
}

async function planAll(engine: Engine): Promise<void> {
  while ((await planDueExports(engine)) > 0);
}

async function stopUnwanted(engine: Engine, active: Set<ActiveRun>): Promise<void> {
  if (active.size === 0) return;
  const ids = [...new Set([...active].map((entry) => entry.run_id))];
  const wanted = await engine.db.rows<{ id: string; is_cancelled: boolean }>(sql`
    SELECT run.id, run.committing_at IS NULL AND (run.cancel_requested_at IS NOT NULL OR export.deleted_at IS NOT NULL OR export.revision <> run.revision) AS is_cancelled
    FROM batch_export_runs run JOIN batch_exports export ON export.id = run.batch_export_id WHERE run.id = ANY (${ids}::uuid[])`);
  const states = new Map(wanted.map((row) => [row.id, row.is_cancelled]));
  for (const { run_id, controller } of active) {
    const isCancelled = states.get(run_id);
    if (ids.includes(run_id) && isCancelled !== false) controller.abort((isCancelled === undefined ? 'gone' : 'cancelled') satisfies StopReason);
  }
}

async function sendOrphans(engine: Engine): Promise<void> {
  await engine.db.transaction(async (tx) => {
    // SKIP LOCKED: two workers that look at once do not send a run twice; twice would be harmless, since a claim fences the other off.
    const orphans = await tx.rows<{ id: string; team_id: number }>(sql`
      SELECT run.id, export.team_id FROM batch_export_runs run JOIN batch_exports export ON export.id = run.batch_export_id
      WHERE run.status IN ('Starting', 'Running') AND (
        (run.last_updated_at < now() - make_interval(secs => ${orphan_seconds})
          AND NOT EXISTS (SELECT 1 FROM pgboss.job WHERE name = ${run_queue} AND state < 'completed' AND data ->> 'run_id' = run.id::text))
        -- a cancelled run that waits for its next attempt is not kept waiting
        OR (run.cancel_requested_at IS NOT NULL
          AND NOT EXISTS (SELECT 1 FROM pgboss.job WHERE name = ${run_queue} AND (state = 'active' OR (state < 'active' AND start_after <= now())) AND data ->> 'run_id' = run.id::text)))
      LIMIT 100 FOR UPDATE OF run SKIP LOCKED`);
    for (const orphan of orphans) {
      engine.log.info({ run_id: orphan.id }, 'a run without a job is sent to the workers');
      await tx.run(sql`UPDATE batch_export_runs SET last_updated_at = now() WHERE id = ${orphan.id}`);
      await engine.jobs.send(tx, orphan);
    }
  });
}

function startLoop(engine: Engine, work: () => Promise<void>): { wake(): void; stop(): Promise<void> } {
  let stopping = false;
  let wakeUp = () => {};
  let isWoken = false;
  const pause = () =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, isWoken ? 0 : tick_ms);
      isWoken = false;
      wakeUp = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  const run = async () => {
    while (!stopping) {
      await work().catch((error: unknown) => engine.log.warn({ err: error }, 'planning failed and is tried again'));
      if (!stopping) await pause();
    }
  };
  const done = run();
  const wake = () => {
    isWoken = true;
    wakeUp();
  };
  return {
    wake,
    stop: async () => {
      stopping = true;
      wake();
      await done;
    },
  };
}
