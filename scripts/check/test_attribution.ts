/**
 * Node's test runner follows every promise and timer of its process, to know which test it belongs
 * to. It uses that where `test`, `before` and `after` are called, and for an uncaught error. The
 * files of a process call these functions while they load. Loaded before `node:test`.
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
 * From here on, nothing is followed. An uncaught error still fails the process, but not its test;
 * the error shows where it came from.
 */
export function stopFollowing(): void {
  async_hooks.createHook = createHook;
  for (const hook of hooks) hook.disable();
  for (const event of ['uncaughtException', 'unhandledRejection'])
    process.on(event, (error) => console.error(`Nobody caught (${event}):`, error));
}
