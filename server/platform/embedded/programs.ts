import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { compiledModules } from '../processes/compiled.ts';

const run = promisify(execFile);
const folders = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/sbin', '/sbin', '/opt/homebrew/bin'];

/**
 * The search path of the programs that we start: fixed, so that the environment cannot change what
 * runs.
 */
export const searchPath = folders.join(':');

/**
 * Returns the environment of a process that runs our own code: the fixed search path, and the
 * compile cache of this process, if it has one.
 */
export function ownEnvironment(): Record<string, string> {
  return { PATH: searchPath, ...compiledModules() };
}

/** Returns the full path of a system program, or undefined if it is not installed. */
export function findProgram(name: string): string | undefined {
  return folders.map((folder) => `${folder}/${name}`).find((path) => existsSync(path));
}

/**
 * Returns the command prefix that makes the kernel send `signal` to a program when its parent
 * process dies; empty if `setpriv` is missing. A change of credentials clears it, so it must be the
 * last step before the program.
 */
export function dieWithParent(signal: 'INT' | 'KILL'): string[] {
  const setpriv = process.platform === 'linux' ? findProgram('setpriv') : undefined;
  return setpriv ? [setpriv, '--pdeathsig', signal] : [];
}

/** Finds the parent and the command line of a process, or undefined if no process has this id. */
export async function findProcess(
  pid: number,
): Promise<{ parent_pid: number; command: string } | undefined> {
  try {
    if (process.platform === 'linux') {
      const [stat, command] = await Promise.all([
        readFile(`/proc/${pid}/stat`, 'utf8'),
        readFile(`/proc/${pid}/cmdline`, 'utf8'),
      ]);
      // The name is in parentheses and may contain any character, so the fields are counted from
      // its end.
      const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return state === 'Z'
        ? undefined
        : { parent_pid: Number(parent), command: command.split('\0').join(' ') };
    }
    const { stdout } = await run('/bin/ps', ['-ww', '-o', 'ppid=,args=', '-p', String(pid)]);
    const [, parent, command] = /^\s*(\d+)\s+(.*)$/m.exec(stdout) ?? [];
    return parent && command ? { parent_pid: Number(parent), command } : undefined;
  } catch {
    return undefined;
  }
}
