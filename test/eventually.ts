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
 * Asks again until the answer is neither `false` nor `undefined`, and gives it; for a minute: what
 * takes a second alone takes twenty beside much else. Then the test fails with the sentence that
 * says what is not.
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
