import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';

/**
 * How long to pause before asking again, in milliseconds: a little, and more the longer it was
 * waited for, since each question costs a store or a server some work.
 */
export function pauseAfter(waited_ms: number, least_ms: number): number {
  return Math.max(least_ms, Math.min(200, waited_ms / 10));
}

/**
 * Asks again until it is so, for fifteen seconds; then the test fails with the sentence that says
 * what is not.
 */
export async function eventually(
  otherwise: string,
  isSo: () => boolean | Promise<boolean>,
): Promise<void> {
  const began = performance.now();
  while (!(await isSo())) {
    const waited_ms = performance.now() - began;
    assert.ok(waited_ms < 15_000, otherwise);
    await pause(pauseAfter(waited_ms, 10));
  }
}
