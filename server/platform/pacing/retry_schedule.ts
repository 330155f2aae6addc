const second_ms = 1_000;
const minute_ms = 60 * second_ms;

/**
 * The longest pause between two attempts, even if a receiver asks for more: waiting items arrive at
 * most this long after their receiver is back.
 */
const pause_ms_max = 60 * minute_ms;
/** The first pauses; later ones have the maximum. */
const first_pauses_ms = [
  5 * second_ms,
  30 * second_ms,
  2 * minute_ms,
  10 * minute_ms,
  30 * minute_ms,
];
const attempts_max = 28;
/**
 * Pauses are longer by up to this fraction, so that items that failed together are not retried
 * together.
 */
const jitter_max = 0.1;
/** Pause for a receiver that asks for one without a duration. */
const throttled_ms = 30 * second_ms;

/**
 * Returns when the next attempt is due, in milliseconds since the epoch, after the failed one with
 * this number (from 1). The pauses grow up to an hour, and are never shorter than the receiver
 * requested. Null after the 28th, about a day after the first. `random` returns numbers from 0 to
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
 * Returns the pause that an answer asks for, in milliseconds, at most an hour. For a 429 or 5xx it
 * is `Retry-After`, in seconds or as an HTTP date. A 429 without a readable one gives half a
 * minute, any other answer 0.
 */
export function restAskedFor(status: number, retryAfter: string | null, now: number): number {
  if (status !== 429 && status < 500) return 0;
  const text = retryAfter?.trim() ?? '';
  // Date.parse accepts much that is no HTTP date, such as -5.
  const asked_ms = /^\d+$/.test(text)
    ? Number(text) * second_ms
    : text.endsWith(' GMT')
      ? Date.parse(text) - now
      : NaN;
  if (Number.isNaN(asked_ms)) return status === 429 ? throttled_ms : 0;
  return Math.min(Math.max(asked_ms, 0), pause_ms_max);
}
