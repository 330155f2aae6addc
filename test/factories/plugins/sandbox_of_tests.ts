import { after, before } from 'node:test';
import { openTestSandbox } from './plugin_sandbox.ts';
import type { TestSandbox } from './plugin_sandbox.ts';

/** Opened before the tests of the file that imports it, and closed after them. */
export let world: TestSandbox;

/**
 * Opens the exports of this file before the tests of the file that calls it, and closes them after.
 * Each test file calls it itself, because hooks of an imported module may run before its tests.
 * With `keeps_process`, an idle plugin keeps the process, which otherwise ends with each test's.
 */
export function openAroundTests({ keeps_process = false } = {}): void {
  before(async () => {
    world = await openTestSandbox();
    if (keeps_process) await world.loadCode('');
  });
  after(() => world.close());
}
