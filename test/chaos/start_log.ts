import { appendFileSync } from 'node:fs';
import { pino } from 'pino';
import type { Logger } from '../../server/platform/log.ts';

/** The start times of a deployment's processes: each attempt in a file, and a summary. */
export type StartLog = {
  /** The log of an embedded store, which says when it is ready. */
  logOf(name: string): Logger;
  /** Starts a process and records the time that it took, or why it failed. */
  timed<Started>(name: string, start: () => Promise<Started>): Promise<Started>;
  /** By process, the longest start in milliseconds. */
  slowest(): Record<string, number>;
};

/** Opens the log; its file helps to find out why a deployment does not start. */
export function openStartLog(path: string): StartLog {
  const slowest: Record<string, number> = {};
  const log = pino(
    { level: 'debug' },
    {
      write: (line) => {
        appendFileSync(path, line);
        const { process, ms } = JSON.parse(line) as { process: string; ms?: number };
        if (ms !== undefined) slowest[process] = Math.max(slowest[process] ?? 0, ms);
      },
    },
  );
  return {
    logOf: (name) => log.child({ process: name }),
    timed: async (name, start) => {
      const began = performance.now();
      const ms = () => Math.round(performance.now() - began);
      try {
        const started = await start();
        log.info({ process: name, ms: ms() }, 'ready');
        return started;
      } catch (error) {
        log.warn({ process: name, failed_after_ms: ms(), err: error }, 'could not be started');
        throw error;
      }
    },
    slowest: () => slowest,
  };
}
