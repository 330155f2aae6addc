import type { ChildProcess } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from '../log.ts';

/**
 * A store that runs beside us: its URL stays the same until `stop()`, whatever happens to the
 * process behind it.
 */
export type EmbeddedStore = {
  readonly url: string;
  /** The process that serves now; undefined between an unasked end and the restart. */
  readonly pid: number | undefined;
  stop(): Promise<void>;
};

/** A program that is to be kept running. */
export type Program = {
  /** As users know it, for the log and for errors. */
  name: string;
  log: Logger;
  /**
   * Cleans up after a killed child and starts a new one. An error that it throws is final: there is
   * no retry.
   */
  spawn(): Promise<ChildProcess>;
  /** Told of every start: there is a child, which does not answer yet. */
  spawned?: (() => void) | undefined;
  /** Resolves when the child answers `SELECT 1`; rejects, or stays open, while it does not. */
  ready(child: ChildProcess, signal: AbortSignal): Promise<void>;
  /** Returns the child's last complaint, or an empty text. */
  complaint?(): string;
  /**
   * Resolves when the child that was ready does nothing any more; it is killed then, and started
   * again. Never resolves when the child ends.
   */
  hung?(child: ChildProcess): Promise<void>;
  /** Asks the child to end in order. */
  askToStop(child: ChildProcess): void;
  stop_seconds: number;
  start_seconds: number;
  /**
   * Time limit for repeated first starts of a child that ends at once: a killed predecessor
   * releases its locks meanwhile.
   */
  start_seconds_max: number;
};

const pauseMsMin = 100;
const pauseMsMax = 5_000;
const healthyMs = 30_000;

/** True until the child has ended. */
function isAlive(child: ChildProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
}

/** Resolves when the child has ended, at once if it already has. */
function ended(child: ChildProcess): Promise<void> {
  if (!isAlive(child)) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
}

/** Ends the child: asks, waits `stop_seconds`, then kills it. Resolves when it is gone. */
async function endChild(child: ChildProcess, program: Program): Promise<void> {
  if (!isAlive(child)) return;
  program.askToStop(child);
  const { name, log, stop_seconds } = program;
  const waiting = new AbortController();
  const late = pause(stop_seconds * 1000, 'late', { signal: waiting.signal }).catch(() => 'gone');
  if ((await Promise.race([ended(child), late])) === 'late') {
    log.warn({ pid: child.pid }, `${name} does not stop within ${stop_seconds} s; killing it`);
    child.kill('SIGKILL');
  }
  waiting.abort();
  await ended(child);
}

/** A program that did not start; the message says why, as far as it complained. */
export class StartFailure extends Error {}

async function startOnce(
  program: Program,
  stopping: AbortSignal,
  started: (child: ChildProcess) => void,
): Promise<ChildProcess> {
  const child = await program.spawn();
  child.on('error', (error) =>
    program.log.error({ err: error }, `${program.name} could not be started`),
  );
  started(child);
  program.spawned?.();
  const over = new AbortController();
  const late = pause(program.start_seconds * 1000, 'late' as const, { signal: over.signal }).catch(
    () => 'late' as const,
  );
  const gone = ended(child).then(() => 'gone' as const);
  try {
    stopping.throwIfAborted();
    const outcome = await Promise.race([
      program.ready(child, AbortSignal.any([stopping, over.signal])),
      gone,
      late,
    ]);
    if (outcome === 'gone') {
      const why = program.complaint?.();
      const what = `${program.name} ended while it was starting`;
      throw new StartFailure(why ? `${what}: ${why}` : `${what}.`);
    }
    if (outcome === 'late')
      throw new StartFailure(
        `${program.name} did not answer within ${program.start_seconds} seconds of its start.`,
      );
    return child;
  } catch (error) {
    child.kill('SIGKILL');
    await gone;
    throw error instanceof StartFailure
      ? error
      : new StartFailure((error as Error).message, { cause: error });
  } finally {
    over.abort();
  }
}

async function startWatched(
  program: Program,
  stopping: AbortSignal,
  started: (child: ChildProcess) => void,
): Promise<ChildProcess> {
  const child = await startOnce(program, stopping, started);
  const watch = async (): Promise<void> => {
    if (program.hung === undefined) return;
    await program.hung(child);
    program.log.error({ pid: child.pid }, `${program.name} hangs; killing it`);
    child.kill('SIGKILL');
  };
  void watch();
  return child;
}

function logEnd({ log, name }: Program, { exitCode, signalCode }: ChildProcess): void {
  if (exitCode === 0) log.warn(`${name} was stopped from outside; restarting it`);
  else
    log.error({ code: exitCode, signal: signalCode }, `${name} ended unasked; starting it again`);
}

/** Pauses that double from one to the next, until `reset`. */
function growingPauses(signal: AbortSignal) {
  let nextMs = pauseMsMin;
  return {
    nextMs: () => nextMs,
    reset: () => {
      nextMs = pauseMsMin;
    },
    rest: (): Promise<void> => {
      const ms = nextMs;
      nextMs = Math.min(ms * 2, pauseMsMax);
      return pause(ms, undefined, { signal });
    },
  };
}

/**
 * Starts the program, resolves when it answers, and from then on starts it again whenever it ends
 * unasked (after 100 ms, growing to 5 s while it keeps ending), or hangs. Rejects with a sentence
 * when the first start fails. `stop()` ends it in order, by force after `stop_seconds`, and is
 * final.
 */
export async function supervise(program: Program): Promise<Omit<EmbeddedStore, 'url'>> {
  const { log, name } = program;
  const stopping = new AbortController();
  let child: ChildProcess | undefined;
  let work: Promise<void> = Promise.resolve();
  const lastResort = () => {
    if (child && isAlive(child)) program.askToStop(child);
  };

  const { nextMs, reset, rest } = growingPauses(stopping.signal);

  const launch = async (start_ms_max: number): Promise<void> => {
    for (const began = performance.now(); ; await rest()) {
      try {
        const startedAt = performance.now();
        const running = await startWatched(program, stopping.signal, (fresh) => {
          child = fresh;
        });
        log.debug(
          { pid: running.pid, ms: Math.round(performance.now() - startedAt) },
          `${name} is ready`,
        );
        void ended(running).then(() => onEnd(running, performance.now() - startedAt));
        return;
      } catch (error) {
        const isFinal =
          start_ms_max !== Infinity &&
          (!(error instanceof StartFailure) || performance.now() - began + nextMs() > start_ms_max);
        if (isFinal || stopping.signal.aborted) throw error;
        log.warn({ reason: (error as Error).message }, `${name} did not start; trying again`);
      }
    }
  };

  const onEnd = (dead: ChildProcess, livedMs: number): void => {
    if (stopping.signal.aborted) return;
    if (livedMs > healthyMs) reset();
    logEnd(program, dead);
    // The only thing that ends these attempts is stop().
    work = rest()
      .then(() => launch(Infinity))
      .catch(() => {});
  };

  await launch(program.start_seconds_max * 1000);
  reset();
  process.on('exit', lastResort);
  return {
    get pid() {
      return child && isAlive(child) ? child.pid : undefined;
    },
    async stop() {
      stopping.abort();
      const last = child;
      if (last) await endChild(last, program);
      await work;
      process.off('exit', lastResort);
    },
  };
}
