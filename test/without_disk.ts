import type { Deps } from '../server/deps.ts';
import { openDiskRoom } from '../server/platform/disk/disk_room.ts';
import { openMetrics } from '../server/platform/metrics.ts';

/** Metrics, and a free space of disks that do not exist. */
export function withoutDisk(log: Deps['log']): Pick<Deps, 'metrics' | 'disk'> {
  const metrics = openMetrics({ process_metrics: false });
  const measure = async () => ({ places: [], used_bytes: undefined });
  const bounds = { free_bytes_min: undefined, budget_bytes: 0 };
  return { metrics, disk: openDiskRoom(measure, bounds, { log, metrics }) };
}
