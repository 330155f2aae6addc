import { readFileSync, readdirSync } from 'node:fs';

/**
 * Memory of running processes in MB (10^6 bytes). `proportional`: the proportional set size, which
 * counts shared memory once and is slow to read. `kept`: the same without pages of program files,
 * which the kernel can drop. `private`: anonymous pages, quick enough to sample during a
 * measurement.
 */
export function memoryOf(
  kind: 'proportional' | 'kept' | 'private',
  pids: ReadonlySet<number>,
): { total: number; by_process: { pid: number; command: string; megabytes: number }[] } {
  const by_process = [...pids].flatMap((pid) => {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
      if (command === '') return [];
      const kilobytes =
        kind === 'private'
          ? kilobytesOf(`/proc/${pid}/status`, 'RssAnon')
          : kilobytesOf(`/proc/${pid}/smaps_rollup`, 'Pss') -
            (kind === 'kept' ? kilobytesOf(`/proc/${pid}/smaps_rollup`, 'Pss_File') : 0);
      return [{ pid, command: command.slice(0, 100), megabytes: (kilobytes * 1024) / 1e6 }];
    } catch {
      return [];
    }
  });
  return { total: by_process.reduce((sum, one) => sum + one.megabytes, 0), by_process };
}

function kilobytesOf(file: string, name: string): number {
  const found = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(readFileSync(file, 'utf8'));
  return Number(found?.[1] ?? 0);
}

/** Returns the process and its descendants, found by parent ids. */
export function treeOf(root: number): Set<number> {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
    } catch {
      continue;
    }
  }
  const tree = new Set([root]);
  for (let size = 0; size !== tree.size;) {
    size = tree.size;
    for (const [pid, parent] of parents) if (tree.has(parent)) tree.add(pid);
  }
  return tree;
}
