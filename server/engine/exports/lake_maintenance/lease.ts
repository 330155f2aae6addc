import type { Logger } from '../../../platform/log.ts';
import type { Engine } from '../engine.ts';
import type { MaintenanceResult } from './maintain.ts';

/** A process that has said nothing for this long was killed. */
export const claim_seconds = 60;
/** Seconds until the next round at a table. */
export const pause_seconds = 1_800;
/** Seconds until the next round after one that failed. */
export const failed_pause_seconds = 3_600;
/** Seconds between two rounds that also remove files. */
export const day_seconds = 24 * 3_600;
/** The detail of a round that failed. */
export const failed_detail =
  'The latest maintenance failed; the log of the server says why. It is tried again in an hour.';

const renew_ms = 15_000;

/** Maintains what `claim` gives, one table after the other, until nothing is due; their number. */
export async function maintainDue<Claimed>(
  signal: AbortSignal,
  claim: () => Promise<Claimed | undefined>,
  maintain: (claimed: Claimed) => Promise<void>,
): Promise<number> {
  for (let done = 0; ; done += 1) {
    const claimed = signal.aborted ? undefined : await claim();
    if (claimed === undefined) return done;
    await maintain(claimed);
  }
}

/**
 * Works while `renew` renews the lease, and gives what the work gives. Its signal ends when `renew`
 * returns 0, since another process has the table then.
 */
export async function whileRenewed<Result>(
  log: Logger,
  signal: AbortSignal,
  renew: () => Promise<number>,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const lost = new AbortController();
  const timer = setInterval(() => {
    renew().then(
      (held) => (held === 0 ? lost.abort() : undefined),
      (error: unknown) => log.warn({ err: error }, 'a lease could not be renewed'),
    );
  }, renew_ms);
  try {
    return await work(AbortSignal.any([signal, lost.signal]));
  } finally {
    clearInterval(timer);
  }
}

/** Counts what a round changed in the metric; true if it changed anything. */
export function countChanges(
  { metrics }: Pick<Engine, 'metrics'>,
  result: MaintenanceResult | undefined,
): boolean {
  const changes = Object.entries(result ?? {}).filter(([, count]) => count > 0);
  for (const [change, count] of changes) metrics.lake_maintenance.inc({ change }, count);
  return changes.length > 0;
}
