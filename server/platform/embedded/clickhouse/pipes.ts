import { execFile } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from '../programs.ts';

const run = promisify(execFile);

/** Named pipes, one for each operation under way: they bound how many there are. */
export type Pipes = {
  /** A pipe of one's own, as soon as one is free; the others wait in turn. */
  take(signal: AbortSignal): Promise<string>;
  /**
   * Gives a pipe back. One that may still have an end open in the engine (`clean` false) is
   * replaced by a new one.
   */
  give(pipe: string, clean: boolean): void;
  /** How many are taken. */
  busy(): number;
  close(): Promise<void>;
};

/** Makes `count` pipes in `folder`, which is emptied first and readable by us alone. */
export async function openPipes(folder: string, count: number): Promise<Pipes> {
  const mkfifo = findProgram('mkfifo');
  if (!mkfifo)
    throw new Error(
      'The program mkfifo is missing. Install it, or set SLUICE_CLICKHOUSE_URL to a ' +
        'ClickHouse server.',
    );
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true, mode: 0o700 });
  let made = 0;
  const make = async (n: number): Promise<string[]> => {
    const paths = Array.from({ length: n }, () => join(folder, String(made++)));
    await run(mkfifo, ['-m', '600', ...paths]);
    return paths;
  };
  return share(await make(count), folder, make);
}

function share(idle: string[], folder: string, make: (n: number) => Promise<string[]>): Pipes {
  let taken = 0;
  const replacements = new Set<Promise<void>>();
  const waiting = new Set<(pipe: string) => void>();
  const put = (pipe: string): void => {
    const [next] = waiting;
    if (!next) {
      idle.push(pipe);
      return;
    }
    waiting.delete(next);
    next(pipe);
  };
  return {
    take(signal) {
      const pipe = idle.pop();
      if (pipe) {
        taken += 1;
        return Promise.resolve(pipe);
      }
      return new Promise((resolve, reject) => {
        const next = (free: string): void => {
          signal.removeEventListener('abort', leave);
          taken += 1;
          resolve(free);
        };
        const leave = (): void => {
          waiting.delete(next);
          reject(new Error('The client has left.'));
        };
        waiting.add(next);
        signal.addEventListener('abort', leave, { once: true });
      });
    },
    give(pipe, clean) {
      taken -= 1;
      if (clean) {
        put(pipe);
        return;
      }
      const replacement = rm(pipe, { force: true })
        .then(() => make(1))
        .then(([fresh = pipe]) => put(fresh))
        .catch(() => {})
        .finally(() => replacements.delete(replacement));
      replacements.add(replacement);
    },
    busy: () => taken,
    async close() {
      // A pipe made while the folder is being removed would keep it.
      await Promise.all(replacements);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/**
 * The reading end, open before the engine writes, with nothing to read until then. It occupies no
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
 * otherwise. Call it when the engine has done.
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

/**
 * The writing end, once the engine reads; undefined when the operation is over before it ever does.
 */
export async function openWriter(pipe: string, over: () => boolean): Promise<Socket | undefined> {
  while (!over()) {
    const fd = openWriteEnd(pipe);
    if (fd !== undefined) return new Socket({ fd, readable: false, writable: true });
    await new Promise((done) => setTimeout(done, 1));
  }
  return undefined;
}
