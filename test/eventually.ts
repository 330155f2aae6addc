import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';

/**
 * Returns the pause before the next attempt: at least `least_ms`, and longer after a long wait,
 * because frequent requests keep the server busy.
 */
export function pauseAfter(waited_ms: number, least_ms: number): number {
  return Math.max(least_ms, Math.min(250, waited_ms / 10));
}

/**
 * Repeats the request until the answer is neither `false` nor `undefined`, and returns it. It waits
 * a minute, because a second of work takes twenty under load. Then the test fails with a sentence
 * that names the missing answer.
 */
export async function eventually<Found>(
  otherwise: string,
  ask: () => Found | false | undefined | Promise<Found | false | undefined>,
): Promise<Found> {
  const began = performance.now();
  for (;;) {
    const found = await ask();
    if (found !== false && found !== undefined) return found;
    const waited = performance.now() - began;
    assert.ok(waited < 60_000, otherwise);
    await pause(pauseAfter(waited, 10));
  }
}
