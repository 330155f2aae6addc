import { execFile } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from '../programs.ts';

const run = promisify(execFile);
/** Pause before pipes are created again for the waiting callers after a failure. */
const try_again_ms = 100;

/** Named pipes, one for each operation in progress: they bound the number of operations. */
export type Pipes = {
  /** Returns a pipe as soon as one is free; callers wait in turn. */
  take(signal: AbortSignal): Promise<string>;
  /**
   * Returns a pipe. One that may still be open elsewhere (`clean` false) is replaced by a new one,
   * together with others: when none is left, or half of all must be replaced.
   */
  give(pipe: string, clean: boolean): void;
  /** Returns the number of pipes in use. */
  busy(): number;
  close(): Promise<void>;
};

/** Creates `count` pipes in `folder`, which is emptied first and only readable by this user. */
export async function openPipes(folder: string, count: number): Promise<Pipes> {
  const mkfifo = findProgram('mkfifo');
  if (!mkfifo)
    throw new Error(
      'The program mkfifo is missing. Install it, or set SLUICE_CLICKHOUSE_URL to a ' +
        'ClickHouse server.',
    );
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true, mode: 0o700 });
  let created = 0;
  const create = async (n: number): Promise<string[]> => {
    const paths = Array.from({ length: n }, () => join(folder, String(created++)));
    await run(mkfifo, ['-m', '600', ...paths]);
    return paths;
  };
  return share(await create(count), folder, create);
}

function share(idle: string[], folder: string, create: (n: number) => Promise<string[]>): Pipes {
  const many = Math.ceil(idle.length / 2);
  let taken = 0;
  let missing = 0;
  let isClosed = false;
  const replacements = new Set<Promise<void>>();
  const line = waitingLine();
  const put = (pipe: string): void => {
    if (!line.hand(pipe)) idle.push(pipe);
  };
  const replace = (): void => {
    const wanted = missing;
    missing = 0;
    const replacement = create(wanted)
      .then(
        (fresh) => fresh.forEach(put),
        // Memory or disk is short for the moment: creation is retried for the waiting callers, or
        // for the next one.
        () => {
          missing += wanted;
          if (line.isWaitedIn()) setTimeout(tryAgain, try_again_ms);
        },
      )
      .finally(() => replacements.delete(replacement));
    replacements.add(replacement);
  };
  const tryAgain = (): void => {
    if (!isClosed && missing > 0) replace();
  };
  return {
    async take(signal) {
      const pipe = idle.pop();
      if (idle.length === 0 && missing > 0) replace();
      const own = pipe ?? (await line.stand(signal));
      taken += 1;
      return own;
    },
    give(pipe, clean) {
      taken -= 1;
      if (clean) {
        put(pipe);
        return;
      }
      void rm(pipe, { force: true }).catch(() => {});
      missing += 1;
      if (idle.length === 0 || missing >= many) replace();
    },
    busy: () => taken,
    async close() {
      isClosed = true;
      // A pipe created while the folder is being removed would keep it.
      await Promise.all(replacements);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The callers that wait for a pipe, in order. */
function waitingLine() {
  const waiting = new Set<(pipe: string) => void>();
  return {
    /** Gives a pipe to the first one; false if nobody waits. */
    hand(pipe: string): boolean {
      const [next] = waiting;
      if (next === undefined) return false;
      waiting.delete(next);
      next(pipe);
      return true;
    },
    isWaitedIn: () => waiting.size > 0,
    stand: (signal: AbortSignal) =>
      new Promise<string>((resolve, reject) => {
        const next = (pipe: string): void => {
          signal.removeEventListener('abort', leave);
          resolve(pipe);
        };
        const leave = (): void => {
          waiting.delete(next);
          reject(new Error('The client has left.'));
        };
        waiting.add(next);
        signal.addEventListener('abort', leave, { once: true });
      }),
  };
}

/**
 * Opens the reading end before the engine writes, with nothing to read until then. It occupies no
 * thread.
 */
export function openReader(pipe: string): Socket {
  return new Socket({
    fd: openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK),
    readable: true,
    writable: false,
  });
}

/**
 * Makes a reader of `pipe` see the end although the engine never opened it; changes nothing
 * otherwise. Call it after the engine has finished.
 */
export function touchReader(pipe: string): void {
  const writer = openWriteEnd(pipe);
  if (writer !== undefined) closeSync(writer);
}

function openWriteEnd(pipe: string): number | undefined {
  try {
    return openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENXIO') return undefined;
    throw error;
  }
}

/** Opens the writing end once the engine reads; undefined if the operation ends before. */
export async function openWriter(pipe: string, over: () => boolean): Promise<Socket | undefined> {
  while (!over()) {
    const fd = openWriteEnd(pipe);
    if (fd !== undefined) return new Socket({ fd, readable: false, writable: true });
    await new Promise((done) => setTimeout(done, 1));
  }
  return undefined;
}
