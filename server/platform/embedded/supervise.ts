import type { ChildProcess } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from '../log.ts';

/**
 * A store that runs beside us: its URL stays the same until `stop()`, whatever happens to its
 * process.
 */
export type EmbeddedStore = {
  readonly url: string;
  /** The process that serves now; undefined between a crash and the restart. */
  readonly pid: number | undefined;
  stop(): Promise<void>;
};

/** A program to keep running. */
export type Program = {
  /** Its name for users, in the log and in errors. */
  name: string;
  log: Logger;
  /** Cleans up after a killed child and starts a new one. Its error is final: there is no retry. */
  spawn(): Promise<ChildProcess>;
  /** Called at every start, before the child answers. */
  spawned?: (() => void) | undefined;
  /** Resolves when the child answers `SELECT 1`; until then, it rejects or stays pending. */
  ready(child: ChildProcess, signal: AbortSignal): Promise<void>;
  /** Returns the child's last error message, or an empty text. */
  complaint?(): string;
  /**
   * Resolves when the ready child hangs; it is then killed and started again. Never resolves when
   * the child ends.
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

/** Returns true until the child has ended. */
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

/** Ends the child: asks it, waits `stop_seconds`, then kills it. Resolves when it is gone. */
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

/** Thrown for a program that did not start; the message contains its error message, if any. */
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
    log.error({ code: exitCode, signal: signalCode }, `${name} ended unexpectedly; restarting it`);
}

/** Returns pauses that double each time, until `reset`. */
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
 * Starts the program, resolves when it answers, and from then on restarts it whenever it crashes
 * (after 100 ms, growing to 5 s while it keeps crashing) or hangs. Rejects with a sentence if the
 * first start fails. `stop()` ends it in order, by force after `stop_seconds`, and is final.
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
    // Only stop() ends these attempts.
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
