/** Waits for progress, however long it takes. */
export type StallTimer = { signal: AbortSignal; refresh(): void; end(): void };

/**
 * Opens a signal that aborts with a TimeoutError with `sentence` if it is not refreshed for this
 * long.
 */
export function openStallTimer(stall_ms: number, sentence: string): StallTimer {
  const stop = new AbortController();
  const late = () => stop.abort(new DOMException(sentence, 'TimeoutError'));
  const timer = setTimeout(late, stall_ms);
  return {
    signal: stop.signal,
    refresh: () => void timer.refresh(),
    end: () => clearTimeout(timer),
  };
}
