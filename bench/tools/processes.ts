import { readFileSync } from 'node:fs';
import { treeOf } from '../measure/process_memory.ts';
import { processorTime } from '../measure/processor_time.ts';

/** The largest process of tools below the server, by its resident memory in MB. */
export function childMemory(server_pid: number): number {
  let largest = 0;
  for (const pid of treeOf(server_pid))
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      if (!words.includes('--permission') || !words.includes('--max-semi-space-size')) continue;
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      largest = Math.max(largest, (Number(/^VmRSS:\s+(\d+) kB/m.exec(status)![1]) * 1024) / 1e6);
    } catch {
      // It has ended meanwhile.
    }
  return largest;
}

/** Processor time in microseconds of the server, its stores and the processes of tools. */
export function timesByKind(server_pid: number): Map<string, number> {
  const times = new Map<string, number>();
  for (const pid of treeOf(server_pid)) {
    const kind = pid === server_pid ? 'server' : kindOf(pid);
    times.set(kind, (times.get(kind) ?? 0) + processorTime(pid, 'alone'));
  }
  return times;
}

function kindOf(pid: number): string {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    if (words.includes('--permission')) return 'processes of tools';
    if (words.includes('postgres')) return 'PostgreSQL';
    return words.includes('clickhouse') || words.includes('chdb') ? 'ClickHouse' : 'others';
  } catch {
    return 'others';
  }
}
