import { after, before } from 'node:test';
import { openTestSandbox } from './plugin_sandbox.ts';
import type { TestSandbox } from './plugin_sandbox.ts';

/** Opened before the tests of the file that imports it, and closed after them. */
export let world: TestSandbox;

/**
 * Opens what this file exports before the tests of the file that calls it, and closes it after
 * them. Called by each test file itself: hooks of an imported module may run before its tests. With
 * `keeps_process` a plugin that does nothing keeps the process, which else ends with each test's.
 */
export function openAroundTests({ keeps_process = false } = {}): void {
  before(async () => {
    world = await openTestSandbox();
    if (keeps_process) await world.loadCode('');
  });
  after(() => world.close());
}
