import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import process from 'node:process';

/** The repository's folder, in which every tool runs. */
export const root = join(import.meta.dirname, '..');

/** Receives a part of a child's output. */
export type Write = (text: string) => void;

const tools = join(root, 'node_modules', '.bin');
/** Time after which a child that was asked to end is killed. */
const stop_wait_ms = 20_000;
/** Time to wait for the rest of the output after a child has ended. */
const output_wait_ms = 2_000;

const child_pids = new Set<number>();
let is_interrupted = false;

/** True once this process was asked to end. */
export function isInterrupted(): boolean {
  return is_interrupted;
}

/**
 * Passes the signal on to the running children and all their descendants. A second signal, or too
 * long a wait, kills them.
 */
export function interrupt(signal: NodeJS.Signals): void {
  const isSecond = is_interrupted;
  is_interrupted = true;
  signalChildren(isSecond ? 'SIGKILL' : signal);
  setTimeout(() => signalChildren('SIGKILL'), stop_wait_ms).unref();
}

/**
 * Runs a tool of node_modules, passes its output to `write`, and returns whether it succeeded. The
 * tools in Go may use much memory: they collect garbage only near a limit. They get half of the
 * cores: on one core the linter needs half of the processor time that it needs on two.
 */
export function runTool(name: string, options: string[], write: Write): Promise<boolean> {
  const cores = Math.max(1, Math.floor(availableParallelism() / 2));
  const environment = { GOGC: 'off', GOMEMLIMIT: '2GiB', GOMAXPROCS: String(cores) };
  return run(join(tools, name), options, environment, { write });
}

/**
 * Runs the Node that runs this process, and returns whether it succeeded. Its output goes to this
 * process's output, or to `write`; `hear` gets its messages.
 */
export function runNode(
  options: string[],
  environment: Record<string, string>,
  write?: Write,
  hear?: (message: unknown) => void,
): Promise<boolean> {
  return run(process.execPath, options, environment, { write, hear });
}

function run(
  program: string,
  options: string[],
  environment: Record<string, string>,
  { write, hear }: { write?: Write; hear?: (message: unknown) => void },
): Promise<boolean> {
  return new Promise((resolve) => {
    // The tools are scripts for `node`, so they get this one. With its own process group, a signal
    // reaches the whole tree below, and nothing else.
    const path = [dirname(process.execPath), tools, process.env['PATH']].join(delimiter);
    const colors = write !== undefined && process.stdout.isTTY ? { FORCE_COLOR: '1' } : {};
    const output = write === undefined ? 'inherit' : 'pipe';
    const child = spawn(program, options, {
      cwd: root,
      env: { ...process.env, ...colors, ...environment, PATH: path },
      stdio: ['ignore', output, output, ...(hear === undefined ? [] : ['ipc' as const])],
      detached: true,
    });
    const { pid } = child;
    if (pid !== undefined) child_pids.add(pid);
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (part: string) => write?.(part));
    if (hear !== undefined) child.on('message', hear);
    child.on('error', (error) => {
      console.log(`${program} did not start: ${error.message}. Is everything installed? (npm ci)`);
      resolve(false);
    });
    child.on('exit', (code) => {
      if (pid !== undefined) child_pids.delete(pid);
      // A process that the child left running may hold its output open.
      const timer = setTimeout(() => resolve(code === 0), output_wait_ms);
      child.on('close', () => {
        clearTimeout(timer);
        resolve(code === 0);
      });
    });
  });
}

function signalChildren(signal: NodeJS.Signals): void {
  for (const pid of child_pids)
    try {
      process.kill(-pid, signal);
    } catch {
      // It has ended in between.
    }
}
