import { readFileSync, readdirSync } from 'node:fs';

/** Returns the processes below one, each before its children. */
export function descendantsOf(pid: number): number[] {
  const parents = new Map<number, number[]>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
      parents.set(parent, [...(parents.get(parent) ?? []), Number(name)]);
    } catch {
      // It has ended meanwhile.
    }
  }
  const below = (parent: number): number[] =>
    (parents.get(parent) ?? []).flatMap((child) => [child, ...below(child)]);
  return below(pid);
}

/** Sends a signal to each of them, like a supervisor that signals a whole group. */
export function tell(pids: number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // A process of PostgreSQL that ended before its turn.
    }
  }
}
