import { setTimeout as pause } from 'node:timers/promises';

/**
 * So many batches a second one process begins on a store with replicas. A batch is two inserts, and
 * each of them some ten records of the coordination service, which bears some hundred inserts a
 * second of a whole cluster: this leaves room for four such processes.
 */
export const batches_per_second_max = 50;

/**
 * Lets callers pass one after the other, so many a second at most and none in advance: what waits
 * meanwhile goes together.
 */
export function openPace(per_second: number): () => Promise<void> {
  let next_at = -Infinity;
  return async () => {
    const now = performance.now();
    const at = Math.max(now, next_at);
    next_at = at + 1_000 / per_second;
    if (at > now) await pause(at - now);
  };
}
