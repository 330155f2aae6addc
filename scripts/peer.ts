import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { root } from './child.ts';

const run = promisify(execFile);

/**
 * Installs packages of PyPI into their own environment below peers/, at the first call. Returns its
 * interpreter.
 */
export async function installPython(
  folder: string,
  packages: readonly string[],
  python = 'python3',
): Promise<string> {
  const environment = join(root, 'peers', folder);
  const interpreter = join(environment, 'bin', 'python');
  if (!existsSync(interpreter)) await run(python, ['-m', 'venv', environment]);
  const quiet = ['--quiet', '--disable-pip-version-check'];
  await run(interpreter, ['-m', 'pip', 'install', ...quiet, ...packages]);
  return interpreter;
}

/**
 * A program that reads a request from each line and ends its answers to it with `{}`, all as JSON.
 */
export type Peer = { ask<Answer>(asked: unknown): Promise<Answer[]>; stop(): Promise<void> };

/** Starts a peer, which answers one request after another. */
export function startPeer(
  program: string,
  given: string[],
  stderr: 'inherit' | 'ignore' = 'inherit',
): Peer {
  const child = spawn(program, given, { stdio: ['pipe', 'pipe', stderr] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    ask: async <Answer>(asked: unknown) => {
      child.stdin.write(`${JSON.stringify(asked)}\n`);
      const found: Answer[] = [];
      for (;;) {
        const { value, done } = await lines.next();
        if (done === true) throw new Error(`${program} ended.`);
        if (value === '{}') return found;
        found.push(JSON.parse(value) as Answer);
      }
    },
    stop: async () => {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.stdin.end();
      await ended;
    },
  };
}
