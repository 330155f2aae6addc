import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';

/**
 * Opens a resource of one test file before its tests, and closes and drops it after them. The
 * returned value stands for the resource in hooks and tests; before and after them it is empty.
 * `prepare` creates what the tests find there, since a hook of the file itself may run before it.
 */
export function aroundTests<Thing extends { close(): Promise<unknown> }>(
  open: () => Promise<Thing>,
  prepare?: (opened: Thing) => Promise<unknown>,
): Thing {
  let opened: Thing | undefined;
  const present = () => opened ?? assert.fail('It is there in the hooks and tests of its file.');
  before(async () => {
    opened = await open();
    await prepare?.(opened);
  });
  after(async () => {
    await opened?.close();
    opened = undefined;
  });
  return new Proxy({} as Thing, {
    get: (_, key) => Reflect.get(present(), key),
    set: (_, key, value) => Reflect.set(present(), key, value),
  });
}

/**
 * Returns a folder for a test file. It exists as soon as the file is loaded, and is removed after
 * the tests.
 */
export function folderAroundTests(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-test-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
