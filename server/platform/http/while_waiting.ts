import { unavailable } from './errors.ts';

/** Longest wait of a request for the analytics store. */
const wait_ms_max = 30_000;

/**
 * The result of a query that a request waits for. A query that takes more than 30 seconds is killed
 * through the signal, and the request answers 503.
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
