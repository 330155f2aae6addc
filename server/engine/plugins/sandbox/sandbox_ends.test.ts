import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { never, openTestSandbox } from '../../../../test/factories/plugins/plugin_sandbox.ts';
import type { HostServices } from './host_services.ts';
import { openAroundTests, world } from '../../../../test/factories/plugins/sandbox_of_tests.ts';

openAroundTests();

test('a fault of the platform reaches the plugin as a RetryError without details', async () => {
  const broken = () => Promise.reject(new Error('password of the database'));
  const { plugin } = await world.load(
    'export const onEvent = (event, { storage }) => storage.get("a");',
    {
      host: { storage: { get: broken } } as unknown as HostServices,
    },
  );
  await assert.rejects(plugin.call('onEvent', {}, never), {
    message: 'The platform could not do storage.get now.',
    is_retry: true,
  });
  await plugin.close();
});

test('a killed process fails the call for a retry, and the next call works', async () => {
  const { plugin } = await world.load(
    'let n = 0; export function setupPlugin() { n = 100; } export const onEvent = (wait) => ' +
      '(wait ? new Promise(() => {}) : ++n);',
  );
  const other = await world.load('export const onEvent = () => "other";');
  assert.equal(await plugin.call('onEvent', false, never), 101);
  const waiting = plugin.call('onEvent', true, never);
  process.kill(world.sandbox.pid!, 'SIGKILL');
  await assert.rejects(waiting, { code: 'runtime', is_retry: true });
  assert.equal(await plugin.call('onEvent', false, never), 101);
  assert.equal(await other.plugin.call('onEvent', {}, never), 'other');
  await Promise.all([plugin.close(), other.plugin.close()]);
  assert.equal(world.sandbox.pid, undefined);
});

test('an aborted call ends the instance and nothing else', async () => {
  const { plugin } = await world.load(
    'let n = 0; export const onEvent = (wait) => (wait ? new Promise(() => {}) : ++n);',
  );
  const control = new AbortController();
  const waiting = plugin.call('onEvent', true, control.signal);
  control.abort(new Error('no longer wanted'));
  await assert.rejects(waiting, /no longer wanted/);
  await assert.rejects(plugin.call('onEvent', true, control.signal), /no longer wanted/);
  assert.equal(await plugin.call('onEvent', false, never), 1);
  await plugin.close();
});

test('a failing setupPlugin fails the load, and loads again later', async () => {
  await assert.rejects(
    world.load('export function setupPlugin() { throw new RetryError("not yet"); }'),
    { message: 'not yet', is_retry: true },
  );
  await assert.rejects(world.load('export function setupPlugin() { throw new Error("never"); }'), {
    message: 'never',
    is_retry: false,
  });
});

test('requests beyond 64 wait for their turn, and a call ends when all are sent', async () => {
  const kept: unknown[] = [];
  let under_way = 0;
  let most = 0;
  const { plugin } = await world.load(
    `export function onEvent(count, { storage }) {
      for (let n = 0; n < count; n += 1) storage.set(n, n);
    }`,
    {
      host: {
        storage: {
          set: async (_key: string, value: unknown) => {
            most = Math.max(most, (under_way += 1));
            await new Promise(setImmediate);
            under_way -= 1;
            kept.push(value);
          },
        },
      } as unknown as HostServices,
    },
  );
  await plugin.call('onEvent', 300, never);
  // A call in progress at the end still completes.
  while (under_way > 0) await new Promise(setImmediate);
  await plugin.close();
  assert.deepEqual(kept, [...Array(300).keys()]);
  assert.ok(most <= 64, `${most} at a time`);
});

test('between calls nothing of a plugin runs', async () => {
  const { plugin, record } = await world.load(`
    let ticks = 0;
    export async function onEvent(kind, { storage }) {
      if (kind === 'leave') {
        setTimeout(() => { ticks += 1000; }, 1);
        storage.get('a').then(() => { ticks += 1000; });
        return 'left';
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
      return ticks;
    }`);
  assert.equal(await plugin.call('onEvent', 'leave', never), 'left');
  assert.equal(await plugin.call('onEvent', 'look', never), 0);
  assert.deepEqual(record.lines, []);
  await plugin.close();
});

test('the sandbox process has no environment and few rights', async (t) => {
  if (process.platform !== 'linux') return t.diagnostic('only Linux shows them');
  const { plugin } = await world.load('export const onEvent = () => 1;');
  const pid = world.sandbox.pid!;
  assert.equal(await readFile(`/proc/${pid}/environ`, 'utf8'), '');
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8');
  for (const flag of ['--jitless', '--permission', '--max-old-space-size='])
    assert.ok(command.includes(flag), flag);
  assert.doesNotMatch(command, /--allow-(child-process|worker|fs-write|wasi)/);
  await plugin.close();
});

test('a package is inspected undisturbed by one that takes its process down', async () => {
  const { sandbox, close } = await openTestSandbox({ slice_milliseconds: 120 });
  const bad = sandbox.inspect('Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);', never);
  const good = Array.from({ length: 2 }, () =>
    sandbox.inspect('exports.onEvent = () => 1;', never),
  );
  await assert.rejects(bad, { code: 'timeout' });
  for (const { capabilities } of await Promise.all(good))
    assert.deepEqual(capabilities.methods, ['onEvent']);
  await close();
});
