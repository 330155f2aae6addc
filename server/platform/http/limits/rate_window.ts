/** One limit: at most `requests_max` in any `window_seconds`. */
export type Policy = { name: string; requests_max: number; window_seconds: number };

/** Counts of one subject: requests in the current fixed window and in the one before. */
export type Counter = { index: number; previous: number; current: number };

/** Returns the number of the fixed window that contains an instant. */
export function windowIndex(now_ms: number, window_seconds: number): number {
  return Math.floor(now_ms / 1000 / window_seconds);
}

/** Moves the counter to the window of `index`; counts from two windows back no longer apply. */
export function roll(counter: Counter, index: number): void {
  if (counter.index === index) return;
  counter.previous = counter.index === index - 1 ? counter.current : 0;
  counter.current = 0;
  counter.index = index;
}

/**
 * Returns the requests in the window that ends now: the present fixed window and the part of the
 * previous one that the sliding window still covers.
 */
export function used(counter: Counter, policy: Policy, now_ms: number): number {
  const window_ms = policy.window_seconds * 1000;
  // In whole milliseconds, so that rounding cannot refuse the request after the announced wait.
  return counter.current + (counter.previous * (window_ms - (now_ms % window_ms))) / window_ms;
}

/**
 * Returns the whole seconds (at least 1) until one more request fits, if no other request comes
 * meanwhile. The counter is at its limit.
 */
export function waitSeconds(counter: Counter, policy: Policy, now_ms: number): number {
  const { requests_max, window_seconds } = policy;
  const elapsed = elapsedPart(now_ms, policy);
  // Returns the part of a window after which `count` requests of the previous window have faded
  // enough for one more beside `present`.
  const fadedAfter = (count: number, present: number) =>
    Math.max(0, 1 - (requests_max - present - 1) / count);
  const windows =
    counter.current < requests_max
      ? fadedAfter(counter.previous, counter.current) - elapsed
      : 1 - elapsed + fadedAfter(counter.current, 0);
  return Math.max(1, Math.ceil(windows * window_seconds - 1e-6));
}

/** Returns the whole seconds until the present fixed window ends. */
export function resetSeconds(policy: Policy, now_ms: number): number {
  return Math.ceil((1 - elapsedPart(now_ms, policy)) * policy.window_seconds - 1e-6);
}

function elapsedPart(now_ms: number, policy: Policy): number {
  const window_ms = policy.window_seconds * 1000;
  return (now_ms % window_ms) / window_ms;
}
