import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';

/**
 * Asks again until it is so, for fifteen seconds; then the test fails with the sentence that says
 * what is not.
 */
export async function eventually(
  otherwise: string,
  isSo: () => boolean | Promise<boolean>,
): Promise<void> {
  const end = performance.now() + 15_000;
  while (!(await isSo())) {
    assert.ok(performance.now() < end, otherwise);
    await pause(10);
  }
}
