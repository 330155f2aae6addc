/** One limit: at most `requests_max` in any `window_seconds`. */
export type Policy = { name: string; requests_max: number; window_seconds: number };

/** Counts of one subject: requests in the current fixed window and in the one before. */
export type Counter = { index: number; previous: number; current: number };

/** The number of the fixed window in which an instant lies. */
export function windowIndex(now_ms: number, window_seconds: number): number {
  return Math.floor(now_ms / 1000 / window_seconds);
}

/** Moves the counter on to the window of `index`; what lies two windows back no longer counts. */
export function roll(counter: Counter, index: number): void {
  if (counter.index === index) return;
  counter.previous = counter.index === index - 1 ? counter.current : 0;
  counter.current = 0;
  counter.index = index;
}

/**
 * Requests in the window that ends now: the present fixed window and the part of the one before
 * that the sliding window still covers.
 */
export function used(counter: Counter, policy: Policy, now_ms: number): number {
  const window_ms = policy.window_seconds * 1000;
  // In whole milliseconds, so that the request after a told wait is not refused by a rounding
  // error.
  return counter.current + (counter.previous * (window_ms - (now_ms % window_ms))) / window_ms;
}

/**
 * Whole seconds (at least 1) until one more request fits, when nothing else is asked meanwhile. The
 * counter is at its limit.
 */
export function waitSeconds(counter: Counter, policy: Policy, now_ms: number): number {
  const { requests_max, window_seconds } = policy;
  const elapsed = elapsedPart(now_ms, policy);
  // The part of a window after which `count` requests of the window before have faded enough to
  // leave room for one more beside `present`.
  const fadedAfter = (count: number, present: number) =>
    Math.max(0, 1 - (requests_max - present - 1) / count);
  const windows =
    counter.current < requests_max
      ? fadedAfter(counter.previous, counter.current) - elapsed
      : 1 - elapsed + fadedAfter(counter.current, 0);
  return Math.max(1, Math.ceil(windows * window_seconds - 1e-6));
}

/** Whole seconds until the present fixed window ends. */
export function resetSeconds(policy: Policy, now_ms: number): number {
  return Math.ceil((1 - elapsedPart(now_ms, policy)) * policy.window_seconds - 1e-6);
}

function elapsedPart(now_ms: number, policy: Policy): number {
  const window_ms = policy.window_seconds * 1000;
  return (now_ms % window_ms) / window_ms;
}
