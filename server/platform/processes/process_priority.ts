import { readFileSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';

/**
 * Lets the API and PostgreSQL, which answer in milliseconds when they get the processor at once, go
 * before this process: to be called before it has created threads, which have what the first one
 * has. The higher the number (1 to 19), the further it stands back; alone on the machine it is as
 * fast as ever. A system that does not allow it does without.
 *
 * Linux may share the processor between sessions first (autogroups), and looks at the niceness of
 * threads within one only. A process that leads its session takes that back as a whole, by
 * `session_niceness`; a session that others began has others in it.
 */
export function lowerPriority(niceness: number, session_niceness = niceness): void {
  try {
    setPriority(niceness);
    if (leadsSession()) lowerSession(session_niceness);
  } catch {
    // Nothing depends on it but how long others wait.
  }
}

/** May this process raise the priority of a thread again? On Linux, that is `CAP_SYS_NICE`. */
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
  // The name stands in parentheses and may hold any character; state, parent, group and session
  // follow it.
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[3]) === process.pid;
}

function lowerSession(niceness: number): void {
  try {
    writeFileSync('/proc/self/autogroup', String(niceness));
  } catch (error) {
    // One change in a tenth of a second is what Linux takes of all users together.
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EAGAIN') setTimeout(() => lowerSession(niceness), 100).unref();
  }
}
