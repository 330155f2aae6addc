/**
 * Node's test runner follows every promise and timer of its process, to know of which test it is:
 * it asks this where `test`, `before` and `after` are called, and when nobody caught an error. The
 * files of a process call them while they are loaded. Loaded before `node:test`.
 */
import async_hooks from 'node:async_hooks';
import type { AsyncHook } from 'node:async_hooks';
import process from 'node:process';

const { createHook } = async_hooks;
const hooks: AsyncHook[] = [];

async_hooks.createHook = (callbacks) => {
  const hook = createHook(callbacks);
  hooks.push(hook);
  return hook;
};

/**
 * From here on nothing is followed. An error that nobody catches still fails the process, but not
 * its test: where it came from is told.
 */
export function stopFollowing(): void {
  async_hooks.createHook = createHook;
  for (const hook of hooks) hook.disable();
  for (const event of ['uncaughtException', 'unhandledRejection'])
    process.on(event, (error) => console.error(`Nobody caught (${event}):`, error));
}
