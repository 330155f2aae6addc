import { after, before } from 'node:test';
import { openTestSandbox } from './plugin_sandbox.ts';
import type { TestSandbox } from './plugin_sandbox.ts';

/** Opened before the tests of the file that imports it, and closed after them. */
export let world: TestSandbox;

/**
 * Opens what this file exports before the tests of the file that calls it, and closes it after
 * them. Called by each test file itself: hooks of an imported module may run before its tests.
 */
export function openAroundTests(): void {
  before(async () => {
    world = await openTestSandbox();
  });
  after(() => world.close());
}
