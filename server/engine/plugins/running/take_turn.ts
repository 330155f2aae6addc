import { PluginError } from '../plugin.ts';
import type { Delivery } from './delivery.ts';
import { describeFailure, mayPass, retrySeconds } from './failures.ts';
import { forgetPersons } from './erased/forget_persons.ts';
import { HoldError } from './hold.ts';
import { findDueJob, postponeJob, removeJob } from './jobs.ts';
import { requireLease, saveProgress, saveWork } from './leases.ts';
import type { ConfigState } from './leases.ts';
import { deliverToTool } from './sending/send_to_tool.ts';
import { ToolRetryError } from './sending/tool_retry.ts';
import { stopConfig } from './stop_config.ts';

/**
 * The end of a turn: more work may follow at once, there is none now, or the config was stopped.
 */
export type TurnEnd = 'worked' | 'idle' | 'stopped';

/** The parts that count a failure. */
type Turn = Pick<Delivery, 'running' | 'lease' | 'log'>;

const job_tries_max = 15;

/**
 * Does one due piece of a config's work: a scheduled task, else a deletion to report, else a job,
 * else a batch of events. Counts failures in a row. Too many failures of tasks and jobs stop the
 * config; after failures of a delivery, its events wait. Throws LeaseLostError.
 */
export async function takeTurn(delivery: Delivery, state: ConfigState): Promise<TurnEnd> {
  const [task] = state.tasks;
  if (task !== undefined) return runTask(delivery, state, task);
  if (state.has_deletions) return forgetPersons(delivery);
  if (state.has_jobs) return runJob(delivery, state);
  const { tool } = delivery.plugin;
  if (!state.has_events || tool === undefined) return 'idle';
  const end = await deliverToTool(delivery, tool, state);
  if (end.kind === 'failed') await letWait(delivery, { ...state, ...end.progress }, end.error);
  return end.kind === 'waiting' ? 'idle' : 'worked';
}

/**
 * Defers the events of a delivery after a failure, with the reason; no event is lost, and the
 * config stays enabled.
 */
async function letWait(
  { running, lease, log }: Turn,
  state: ConfigState & { has_worked: boolean },
  error: Error,
): Promise<void> {
  if (error instanceof HoldError) {
    const held = tellHold(log, state, error);
    return saveProgress(running.db, lease, { ...state, held, retry_seconds: heldSeconds(running) });
  }
  const failures = state.failures + 1;
  const asked = error instanceof ToolRetryError ? error.retry_seconds : undefined;
  const retry_seconds = asked ?? retrySeconds(running.retry_seconds, failures);
  await saveProgress(running.db, lease, { ...state, failures, retry_seconds });
  log.write(
    'WARNING',
    `Sluice retries in ${retry_seconds} s (failure ${failures} in a row): ` +
      describeFailure(error),
  );
}

/**
 * Counts a failure of loading or of a task, which is retried after a pause. It stops the config
 * after too many failures, or if a retry is pointless. Throws LeaseLostError.
 */
export async function countFailure(
  turn: Turn,
  state: ConfigState,
  error: unknown,
): Promise<TurnEnd> {
  const { running, lease, log } = turn;
  const { work_failures } = state;
  if (error instanceof HoldError) {
    const held = tellHold(log, state, error);
    const retry_seconds = heldSeconds(running);
    await saveWork(running.db, lease, { work_failures, held, retry_seconds });
    return 'worked';
  }
  const failures = work_failures + 1;
  if (!(error instanceof PluginError))
    running.log.warn(
      { err: error, plugin_config_id: lease.config_id },
      'a plugin could not be served; Sluice retries',
    );
  const isRefused = error instanceof PluginError && error.code === 'refused';
  const retry_seconds = retrySeconds(running.retry_seconds, failures);
  await saveWork(running.db, lease, { work_failures: failures, retry_seconds });
  if (isRefused || failures >= running.failures_max) return stopFor(turn, failures, error);
  log.write(
    'WARNING',
    `Sluice retries in ${retry_seconds} s (failure ${failures} of ${running.failures_max} ` +
      `in a row): ${describeFailure(error)}`,
  );
  return 'worked';
}

/** Without a needed setting, retries are rare; a change of the settings ends the pause. */
function heldSeconds({ retry_seconds }: Turn['running']): number {
  return 12 * retry_seconds;
}

/** Logs once why the work waits, and returns the sentence. */
function tellHold(log: Turn['log'], { held_reason }: ConfigState, error: HoldError): string {
  const message = log.mask(error.message);
  if (held_reason !== message) log.write('WARNING', message);
  return message;
}

async function stopFor(
  { running, lease, log }: Turn,
  failures: number,
  error: unknown,
): Promise<TurnEnd> {
  const description = log.mask(describeFailure(error));
  await log.flush();
  await stopConfig(
    running,
    lease.config_id,
    failures === 1
      ? description
      : `Stopped after ${failures} failures in a row, the last: ${description}`,
  );
  return 'stopped';
}

/** A task that finally failed has run: the next run is in the next period. */
async function runTask(
  delivery: Delivery,
  state: ConfigState,
  task: ConfigState['tasks'][number],
): Promise<TurnEnd> {
  const { running, lease, plugin, log, signal } = delivery;
  const fault = await faultOf(signal, () =>
    plugin.call(`${task.name} ${task.period}`, task.name, null, signal),
  );
  if (fault !== undefined && mayPass(fault.error))
    return countFailure(delivery, state, fault.error);
  const failures = fault === undefined ? 0 : state.work_failures + 1;
  await saveWork(running.db, lease, { work_failures: failures, task });
  if (fault === undefined) return 'worked';
  log.write('ERROR', `${task.name} failed: ${describeFailure(fault.error)}`);
  return failures < running.failures_max ? 'worked' : stopFor(delivery, failures, fault.error);
}

/** A job with a temporary failure has its own pauses, so that it delays no other work. */
async function runJob(delivery: Delivery, state: ConfigState): Promise<TurnEnd> {
  const { running, lease, plugin, log, signal } = delivery;
  const job = await findDueJob(running.db, lease.config_id);
  if (job === undefined) return 'idle';
  const fault = await faultOf(signal, () =>
    plugin.call(job.id, `jobs.${job.name}`, job.payload, signal),
  );
  await requireLease(running.db, lease);
  if (fault?.error instanceof HoldError) {
    await postponeJob(running.db, job.id, heldSeconds(running), false);
    const held = tellHold(log, state, fault.error);
    await saveWork(running.db, lease, { work_failures: state.work_failures, held });
    return 'worked';
  }
  const failures = fault === undefined ? 0 : state.work_failures + 1;
  const isAgain = fault !== undefined && mayPass(fault.error) && job.failures + 1 < job_tries_max;
  if (isAgain) {
    const seconds = retrySeconds(running.retry_seconds, job.failures + 1);
    await postponeJob(running.db, job.id, seconds, true);
  } else await removeJob(running.db, job.id);
  if (failures !== state.work_failures || state.held_reason !== null)
    await saveWork(running.db, lease, { work_failures: failures });
  if (fault === undefined) {
    if (job.is_started_by_person) log.write('INFO', `The job ${job.name} (${job.id}) is done.`);
    return 'worked';
  }
  log.write(
    isAgain ? 'WARNING' : 'ERROR',
    `The job ${job.name} failed${isAgain ? ' and is tried again' : ''}: ` +
      describeFailure(fault.error),
  );
  return failures < running.failures_max ? 'worked' : stopFor(delivery, failures, fault.error);
}

/** Returns the error of the work; throws it if the worker must stop at once. */
async function faultOf(
  signal: AbortSignal,
  work: () => Promise<unknown>,
): Promise<{ error: unknown } | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    return { error };
  }
}
