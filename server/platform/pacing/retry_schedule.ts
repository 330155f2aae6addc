const second_ms = 1_000;
const minute_ms = 60 * second_ms;

/**
 * The longest pause between two attempts, also where a receiver asks for a longer one: what waits
 * arrives at most so long after its receiver is back.
 */
const pause_ms_max = 60 * minute_ms;
/** The first pauses; from then on it is the longest. */
const first_pauses_ms = [
  5 * second_ms,
  30 * second_ms,
  2 * minute_ms,
  10 * minute_ms,
  30 * minute_ms,
];
const attempts_max = 28;
/**
 * Pauses are longer by up to this part of them, so that what failed together does not come back
 * together.
 */
const jitter_max = 0.1;
/** Pause for a receiver that asks for one without saying how long. */
const throttled_ms = 30 * second_ms;

/**
 * When the attempt after the failed one with this number (from 1) is due, in milliseconds since the
 * epoch: after growing pauses of up to an hour, not before the rest is over that the receiver asked
 * for. Null when it was the 28th, about a day after the first. `random` gives numbers from 0 to
 * below 1.
 */
export function nextAttempt(
  attempts: number,
  now: number,
  rest_ms = 0,
  random: () => number = Math.random,
): number | null {
  if (attempts >= attempts_max) return null;
  const pause_ms = first_pauses_ms[attempts - 1] ?? pause_ms_max;
  return now + Math.max(Math.round(pause_ms * (1 + jitter_max * random())), rest_ms);
}

/**
 * Returns the pause that an answer asks for, in milliseconds, an hour at most: `Retry-After` of a
 * 429 or 5xx in seconds or as an HTTP date, half a minute for a 429 without a readable one,
 * otherwise 0.
 */
export function restAskedFor(status: number, retryAfter: string | null, now: number): number {
  if (status !== 429 && status < 500) return 0;
  const text = retryAfter?.trim() ?? '';
  // Date.parse reads much that is no HTTP date, such as -5.
  const asked_ms = /^\d+$/.test(text)
    ? Number(text) * second_ms
    : text.endsWith(' GMT')
      ? Date.parse(text) - now
      : NaN;
  if (Number.isNaN(asked_ms)) return status === 429 ? throttled_ms : 0;
  return Math.min(Math.max(asked_ms, 0), pause_ms_max);
}
