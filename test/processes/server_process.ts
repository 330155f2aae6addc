import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { request } from 'undici';
import { pauseAfter } from '../eventually.ts';
import { dieWithParent } from '../../server/platform/embedded/programs.ts';

/** The server of this checkout. */
export const main = fileURLToPath(new URL('../../server/main.ts', import.meta.url));

/** A server as users run it: its own process, reached over HTTP. */
export type ServerProcess = {
  child: ChildProcess;
  address: string;
  /** Its whole output so far. */
  output(): string;
  /** Stops it, and returns its exit code. */
  stop(): Promise<number | null>;
  /** Kills the process itself with -9. */
  kill(): Promise<void>;
};

/**
 * The environment of a server process on its own folder; the key is fixed so that a test knows it.
 */
export function serverEnvironment(
  folder: string,
  key: string,
  more: Record<string, string> = {},
): Record<string, string> {
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter(
      ([name, value]) =>
        value !== undefined && !name.startsWith('SLUICE_') && !name.startsWith('NODE_TEST'),
    ) as [string, string][],
  );
  const cache = process.env['NODE_COMPILE_CACHE'];
  return {
    ...inherited,
    // V8 only accepts compiled code if its options are the same as at compilation, and a server
    // sets some. It would overwrite all entries of the tests, and the tests its own.
    ...(cache === undefined ? {} : { NODE_COMPILE_CACHE: join(cache, 'servers') }),
    // As in `npm start`.
    MALLOC_ARENA_MAX: '1',
    SLUICE_PORT: '0',
    SLUICE_DATA_DIR: `${folder}/data`,
    SLUICE_EXPORT_DIR: `${folder}/exports`,
    SLUICE_PLUGIN_DIR: `${folder}/plugins`,
    SLUICE_OWNER_API_KEY: key,
    SLUICE_OWNER_PASSWORD: 'correct horse battery staple',
    SLUICE_RATE_LIMIT_PER_MINUTE: '0',
    SLUICE_RATE_LIMIT_PER_HOUR: '0',
    SLUICE_OUTBOUND_ALLOW: '127.0.0.0/8',
    SLUICE_LOG_LEVEL: 'warn',
    ...more,
  };
}

/**
 * Starts a command of the server (`start`, `api`, `worker`) and waits until it reports that it is
 * ready. Fails with its output if it ends before. `program` is another checkout's main file, and
 * `before` are words before the command. A test process that is ended at its time limit ends it
 * too.
 */
export async function startServer(
  command: string[],
  environment: Record<string, string>,
  program = main,
  before: string[] = [],
): Promise<ServerProcess> {
  const words = [...before, ...dieWithParent('INT'), process.execPath, program, ...command];
  const child = spawn(words[0]!, words.slice(1), {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const exited = new Promise<number | null>((resolve) =>
    child.once('exit', (code) => resolve(code)),
  );
  const address = await new Promise<string>((resolve, reject) => {
    const take = (chunk: Buffer) => {
      output += chunk.toString();
      const ready = /Sluice (?:is ready at (\S+)|worker is ready)/.exec(output);
      if (ready !== null) resolve(ready[1] ?? '');
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    void exited.then((code) => reject(new Error(`The server ended with ${code}:\n${output}`)));
  });
  return {
    child,
    address,
    output: () => output,
    stop: async () => {
      child.kill('SIGTERM');
      return exited;
    },
    kill: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/** Sends a JSON request with a key; returns status and parsed body. */
export async function call(
  address: string,
  key: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: Record<string, unknown> }> {
  const content =
    body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) };
  const answer = await request(`${address}${path}`, {
    method: method as 'GET',
    headers: {
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...content,
  });
  const text = await answer.body.text();
  return {
    status: answer.statusCode,
    body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
  };
}

/**
 * Repeats a request every `pauseMs` until the answer is an expected one. Fails after `timeout_ms`
 * with the name of the expected answer.
 */
export async function until<Result>(
  what: string,
  timeoutMs: number,
  pauseMs: number,
  ask: () => Promise<Result | undefined>,
): Promise<Result> {
  const began = performance.now();
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    const waited = performance.now() - began;
    if (waited > timeoutMs) throw new Error(`Waited ${timeoutMs} ms for ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, pauseAfter(waited, pauseMs)));
  }
}

/**
 * Returns the processes of a kind on a folder, found by their command line and working folder, as
 * an operator would find them with ps.
 */
export function findProcesses(folder: string, kind: 'postgres' | 'clickhouse'): number[] {
  const pattern = kind === 'postgres' ? /\bpostgres\b/ : /embedded\/clickhouse\/server\.ts/;
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
        return (
          pattern.test(command) &&
          (command.includes(folder) || readlinkSync(`/proc/${pid}/cwd`).startsWith(folder))
        );
      } catch {
        return false;
      }
    });
}
