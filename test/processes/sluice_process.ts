import { fork, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The output of a command, and its exit code. */
export type Said = { code: number | null; out: string; err: string };

/** A command line for a process that runs several of them. */
export type CommandLine = { words: string[]; environment: Record<string, string> };

/** The minimal environment of a process that a test starts, so that it compiles nothing again. */
export function leastEnvironment(): Record<string, string> {
  const { PATH = '', NODE_COMPILE_CACHE = '', NODE_OPTIONS = '', PLANTED_FAULT } = process.env;
  const planted: Record<string, string> =
    PLANTED_FAULT === undefined ? {} : { NODE_OPTIONS, PLANTED_FAULT };
  // The profiles of the person who runs the tests have no effect.
  return { PATH, NODE_COMPILE_CACHE, XDG_CONFIG_HOME: '/nowhere', ...planted };
}

const main = join(import.meta.dirname, '..', '..', 'server', 'main.ts');
const program = fileURLToPath(new URL('./command_process.ts', import.meta.url));

/**
 * Runs `sluice` with these words, in an environment that only has `environment` and the cache of
 * compiled modules. `meanwhile` gets a function that ends it with a signal.
 */
export function runSluice(
  words: string[],
  environment: Record<string, string>,
  meanwhile?: (kill: (signal: NodeJS.Signals) => void) => Promise<unknown>,
): Promise<Said> {
  const child = spawn(process.execPath, [main, ...words], {
    env: { ...leastEnvironment(), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said.out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said.err += text));
  return new Promise((resolve, reject) => {
    meanwhile?.((signal) => void child.kill(signal)).catch(reject);
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, ...said }));
  });
}

/** Runs command lines in a separate process; `close` ends it. */
export type Sluice = {
  run(words: string[], environment: Record<string, string>): Promise<Said>;
  close(): Promise<void>;
};

/**
 * One process that runs command lines in the order of the requests. It is for tests of the output
 * and the exit code of commands, not of how a process starts, reads its input or ends. It loads the
 * commands once, at the first request.
 */
export function openSluice(): Sluice {
  let child: ChildProcess | undefined;
  let last: Promise<unknown> = Promise.resolve();
  const ask = async (line: CommandLine): Promise<Said> => {
    child ??= fork(program, { execArgv: [], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    child.send(line);
    const answered = new AbortController();
    const { signal } = answered;
    const ended = once(child, 'exit', { signal }).then(() => {
      throw new Error(`The process of the commands ended at: sluice ${line.words.join(' ')}`);
    });
    try {
      const [said] = (await Promise.race([once(child, 'message', { signal }), ended])) as [Said];
      return said;
    } finally {
      ended.catch(() => undefined);
      answered.abort();
    }
  };
  return {
    run: (words, given) => {
      const environment = { XDG_CONFIG_HOME: '/nowhere', ...given };
      const answer = last.then(() => ask({ words, environment }));
      last = answer.catch(() => undefined);
      return answer;
    },
    close: async () => {
      if (child?.connected !== true) return;
      child.disconnect();
      await once(child, 'exit');
    },
  };
}
