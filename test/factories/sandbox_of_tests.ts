import { after, before } from 'node:test';
import { openTestSandbox } from './plugin_sandbox.ts';
import type { TestSandbox } from './plugin_sandbox.ts';

/** Opened before the tests of the file that imports it, and closed after them. */
export let world: TestSandbox;

before(async () => {
  world = await openTestSandbox();
});

after(() => world.close());
