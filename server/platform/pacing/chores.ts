import type { Logger } from '../log.ts';
import { startLoop } from './loop.ts';

/**
 * Work that a process repeats. The signal may stop `work` at any point, and other processes may do
 * the same work at the same time.
 */
export type Chore = {
  name: string;
  interval_ms: number;
  work(signal: AbortSignal): Promise<unknown>;
};

/**
 * Time between the first turns of two loops. Loops that start together stay together, and each
 * needs its own connection, of 10 MB.
 */
export const apart_ms = 20;

/** Runs every chore in its own loop, so that none waits for another; `stop` ends them all. */
export function startChores(chores: Chore[], log: Logger): { stop(): Promise<void> } {
  const loops = chores.map(({ name, interval_ms, work }, index) =>
    startLoop(name, interval_ms, log, work, index * apart_ms),
  );
  return { stop: async () => void (await Promise.all(loops.map((loop) => loop.stop()))) };
}
