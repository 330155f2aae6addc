import { unavailable } from './errors.ts';

/** Longest wait of a request for the analytics store. */
const wait_ms_max = 30_000;

/**
 * Returns the result of a query that a request waits for. The signal kills a query that takes more
 * than 30 seconds, and the request gets a 503.
 */
export async function whileWaiting<Result>(
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const signal = AbortSignal.timeout(wait_ms_max);
  try {
    return await work(signal);
  } catch (error) {
    if (signal.aborted) throw unavailable();
    throw error;
  }
}
