import { PluginError } from '../plugin.ts';
import { deliverEvents } from './deliver.ts';
import type { Delivery } from './delivery.ts';
import { describeFailure, mayPass, retrySeconds } from './failures.ts';
import { forgetPersons } from './forget_persons.ts';
import { HoldError } from './hold.ts';
import { findDueJob, postponeJob, removeJob } from './jobs.ts';
import { requireLease, saveProgress, saveTask } from './leases.ts';
import type { ConfigState } from './leases.ts';
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
 * Does one thing that is due for a config: a scheduled task, else a deletion to be told, else a
 * job, else a batch of events.
 * Failures in a row are counted, and too many stop the config. Throws LeaseLostError.
 */
export async function takeTurn(delivery: Delivery, state: ConfigState): Promise<TurnEnd> {
  const [task] = state.tasks;
  if (task !== undefined) return runTask(delivery, state, task);
  if (state.has_deletions) return forgetPersons(delivery);
  if (state.has_jobs) return runJob(delivery, state);
  if (!state.has_events) return 'idle';
  const end = await deliverEvents(delivery, state);
  if (end.kind === 'failed')
    return countFailure(delivery, { ...state, ...end.progress }, end.error);
  if (end.kind === 'paced') return 'worked';
  if (end.kind !== 'failed too often') return end.kind === 'waiting' ? 'idle' : 'worked';
  await saveProgress(delivery.running.db, delivery.lease, end.progress);
  return stopFor(delivery, end.progress.failures, end.error);
}

/**
 * Counts a failure after which the same is tried again, after a pause; stops the config when there
 * were too many, or when another try makes no sense. Throws LeaseLostError.
 */
export async function countFailure(
  turn: Turn,
  state: ConfigState,
  error: unknown,
): Promise<TurnEnd> {
  const { running, lease, log } = turn;
  if (error instanceof HoldError) {
    await hold(turn, state, error, heldSeconds(running));
    return 'worked';
  }
  const failures = state.failures + 1;
  if (!(error instanceof PluginError))
    running.log.warn(
      { err: error, plugin_config_id: lease.config_id },
      'a plugin could not be served and is tried again',
    );
  const isRefused = error instanceof PluginError && error.code === 'refused';
  const ofTool = error instanceof ToolRetryError ? error : undefined;
  const seconds = ofTool?.retry_seconds ?? retrySeconds(running.retry_seconds, failures);
  await saveProgress(running.db, lease, { ...state, failures, retry_seconds: seconds });
  // A tool that does not answer today may do so tomorrow: its events wait.
  const isOver = failures >= running.failures_max && ofTool === undefined;
  if (isRefused || isOver) return stopFor(turn, failures, error);
  const count = ofTool === undefined ? ` of ${running.failures_max}` : '';
  log.write(
    'WARNING',
    `What failed is tried again in ${seconds} s (failure ${failures}${count} in a row): ` +
      describeFailure(error),
  );
  return 'worked';
}

/**
 * While a setting is missing there is little to try for; a change of the settings does not wait for
 * it.
 */
function heldSeconds({ retry_seconds }: Turn['running']): number {
  return 12 * retry_seconds;
}

/**
 * Keeps everything as it is until a host is allowed, says so once, and counts no failure. Throws
 * LeaseLostError.
 */
async function hold(
  { running, lease, log }: Turn,
  state: ConfigState,
  error: HoldError,
  retry_seconds?: number,
): Promise<void> {
  const message = log.mask(error.message);
  if (state.held_reason !== message) log.write('WARNING', message);
  const pause = retry_seconds === undefined ? {} : { retry_seconds };
  await saveProgress(running.db, lease, { ...state, ...pause, held: message });
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

/** A task that fails for good has had its turn: the next one is in the next period. */
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
  const failures = fault === undefined ? 0 : state.failures + 1;
  await saveTask(running.db, lease, task, failures);
  if (fault === undefined) return 'worked';
  log.write('ERROR', `${task.name} failed: ${describeFailure(fault.error)}`);
  return failures < running.failures_max ? 'worked' : stopFor(delivery, failures, fault.error);
}

/** A job that may pass has pauses of its own, so that it keeps nothing else waiting. */
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
    await hold(delivery, state, fault.error);
    return 'worked';
  }
  const failures = fault === undefined ? 0 : state.failures + 1;
  const isAgain = fault !== undefined && mayPass(fault.error) && job.failures + 1 < job_tries_max;
  if (isAgain) {
    const seconds = retrySeconds(running.retry_seconds, job.failures + 1);
    await postponeJob(running.db, job.id, seconds, true);
  } else await removeJob(running.db, job.id);
  if (failures !== state.failures) await saveProgress(running.db, lease, { ...state, failures });
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
