import { readFileSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';

/**
 * Gives priority to the API and PostgreSQL, which answer in milliseconds if they get the processor
 * at once. Call it before this process creates threads, which inherit the first one's priority. The
 * higher the number (1 to 19), the lower the priority; alone on the machine, it is as fast as
 * before. If the system does not allow it, nothing changes.
 *
 * Linux may first share the processor between sessions (autogroups), and then only compares the
 * niceness of threads within one. A process that leads its session lowers the whole session by
 * `session_niceness`; a session that others started contains other processes.
 */
export function lowerPriority(niceness: number, session_niceness = niceness): void {
  try {
    setPriority(niceness);
    if (leadsSession()) lowerSession(session_niceness);
  } catch {
    // Only the waiting time of others depends on it.
  }
}

/**
 * Returns true if this process may raise the priority of a thread again. On Linux, that is
 * `CAP_SYS_NICE`.
 */
export function mayRaisePriority(): boolean {
  try {
    const [, held] = /^CapEff:\s*(\w+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))!;
    return (BigInt(`0x${held}`) & sysNice) !== 0n;
  } catch {
    return false;
  }
}

const sysNice = 1n << 23n;

function leadsSession(): boolean {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  // The name is in parentheses and may contain any character; state, parent, group and session
  // follow it.
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[3]) === process.pid;
}

function lowerSession(niceness: number): void {
  try {
    writeFileSync('/proc/self/autogroup', String(niceness));
  } catch (error) {
    // Linux accepts one change per tenth of a second from all users together.
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EAGAIN') setTimeout(() => lowerSession(niceness), 100).unref();
  }
}
