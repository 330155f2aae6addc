import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';

/**
 * Returns the pause before the next question: at least `least_ms`, and longer after a long wait,
 * because frequent questions keep the answering process busy.
 */
export function pauseAfter(waited_ms: number, least_ms: number): number {
  return Math.max(least_ms, Math.min(250, waited_ms / 10));
}

/**
 * Asks again until the answer is neither `false` nor `undefined`, and returns it. It waits a
 * minute, because a second of work takes twenty under load. Then the test fails with a sentence
 * that names what is missing.
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
