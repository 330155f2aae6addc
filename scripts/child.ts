import { spawn } from 'node:child_process';
import { delimiter, dirname, join } from 'node:path';
import process from 'node:process';

/** The repository's folder, in which every tool runs. */
export const root = join(import.meta.dirname, '..');

const tools = join(root, 'node_modules', '.bin');
/** A child that was asked to end is killed after this long. */
const patience_ms = 20_000;

let child_pid: number | undefined;
let is_interrupted = false;

/** True once this process was asked to end. */
export function isInterrupted(): boolean {
  return is_interrupted;
}

/**
 * Passes the signal on to the running child and all that it started; a second one, or too long a
 * wait, kills them.
 */
export function interrupt(signal: NodeJS.Signals): void {
  const isSecond = is_interrupted;
  is_interrupted = true;
  signalChild(isSecond ? 'SIGKILL' : signal);
  setTimeout(() => signalChild('SIGKILL'), patience_ms).unref();
}

/** Runs a tool of node_modules with this process's output and gives whether it succeeded. */
export function runTool(name: string, options: string[]): Promise<boolean> {
  return run(join(tools, name), options, {});
}

/** Runs the Node that runs this process; otherwise as `runTool`. */
export function runNode(options: string[], environment: Record<string, string>): Promise<boolean> {
  return run(process.execPath, options, environment);
}

function run(
  program: string,
  options: string[],
  environment: Record<string, string>,
): Promise<boolean> {
  return new Promise((resolve) => {
    // The tools are scripts for `node`: they shall get this one. A process group of its own lets a
    // signal reach the whole tree below, and only that.
    const path = [dirname(process.execPath), tools, process.env['PATH']].join(delimiter);
    const child = spawn(program, options, {
      cwd: root,
      env: { ...process.env, ...environment, PATH: path },
      stdio: ['ignore', 'inherit', 'inherit'],
      detached: true,
    });
    child_pid = child.pid;
    child.on('error', (error) => {
      console.log(`${program} did not start: ${error.message}. Is everything installed? (npm ci)`);
      resolve(false);
    });
    child.on('exit', (code) => {
      child_pid = undefined;
      resolve(code === 0);
    });
  });
}

function signalChild(signal: NodeJS.Signals): void {
  if (child_pid === undefined) return;
  try {
    process.kill(-child_pid, signal);
  } catch {
    // It has ended in between.
  }
}
