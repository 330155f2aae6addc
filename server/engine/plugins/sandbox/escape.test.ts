import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { inDepth, is_deep } from '../../../../test/depth.ts';
import { border_attempts } from '../../../../test/factories/plugins/border_attempts.ts';
import { reaching_attempts } from '../../../../test/factories/plugins/reaching_attempts.ts';
import {
  further_attempts,
  staying_attempts,
} from '../../../../test/factories/plugins/staying_attempts.ts';
import { never, openTestSandbox } from '../../../../test/factories/plugins/plugin_sandbox.ts';
import type { LoadedPlugin } from './sandbox.ts';
import { PluginCallError } from './fault.ts';
import { default_limits } from './limits.ts';
import type { SandboxLimits } from './limits.ts';
import { aroundTests } from '../../../../test/around_tests.ts';

// The mark in this process that an escape would find.
const marker = 'marker-of-the-server';
(globalThis as Record<string, unknown>)['escape_marker'] = marker;
/** Limits with more time than in production, because the machine may be slow. */
const patient: SandboxLimits = {
  ...default_limits,
  memory_megabytes: 32,
  slice_milliseconds: 10_000,
  cpu_milliseconds: 20_000,
};

let canary: LoadedPlugin;
const world = aroundTests(
  () =>
    openTestSandbox({
      slice_milliseconds: inDepth(120, 250),
      call_milliseconds: inDepth(400, 850),
      cpu_milliseconds: inDepth(240, 500),
      memory_megabytes: patient.memory_megabytes,
    }),
  async (opened) => {
    const code = 'exports.onEvent = (n) => n + 1;';
    canary = (await opened.loadCode(code, { limits: patient })).plugin;
  },
);

async function tryIt(
  body: string,
  limits: Partial<SandboxLimits>,
): Promise<{ gives: unknown } | { code: string }> {
  const code = body.startsWith('// ')
    ? `${body.slice(3)}\nexports.onEvent ??= () => null;`
    : `exports.onEvent = async function (event, meta) { ${body} };`;
  try {
    const { plugin } = await world.loadCode(code, { limits });
    const work = plugin.call('onEvent', 1, never).finally(() => void plugin.close());
    work.catch(() => {});
    return { gives: await Promise.race([work, pause(10_000, 'not stopped', { ref: false })]) };
  } catch (error) {
    if (!(error instanceof PluginCallError))
      return { code: (error as { code?: string }).code ?? String(error) };
    return { code: error.is_retry ? 'again' : error.code };
  }
}

const attempts = [
  ...reaching_attempts,
  ...border_attempts,
  ...staying_attempts,
  ...(is_deep ? further_attempts : []),
];
for (const [name, body, expected] of attempts) {
  test(`${name}: does not get out, and ends`, async () => {
    const isTimed = 'fails' in expected && expected.fails.includes('timeout');
    const outcome = await tryIt(body, isTimed ? {} : patient);
    if ('gives' in expected) assert.deepEqual(outcome, { gives: expected.gives });
    else
      assert.ok(
        'code' in outcome && (expected.fails as string[]).includes(outcome.code),
        `it came to ${JSON.stringify(outcome)?.slice(0, 200)}`,
      );
    assert.doesNotMatch(JSON.stringify(outcome), new RegExp(marker));
    assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
    // A process that was ended takes the canary with it once, and says that the call may be made
    // again.
    const alive = await canary
      .call('onEvent', 1, never)
      .catch((error: PluginCallError) =>
        error.is_retry ? canary.call('onEvent', 1, never) : Promise.reject(error),
      );
    assert.equal(alive, 2);
  });
}

test('a flood of lines is cut, and says so', async () => {
  const { plugin, record } = await world.loadCode(
    'exports.onEvent = () => { for (let n = 0; n < 1500; n += 1) console.log("x".repeat(5000)); };',
    { limits: patient },
  );
  await plugin.call('onEvent', 1, never);
  assert.deepEqual(
    [record.lines.length, record.lines[0]!.message.length, record.lines.at(-1)!.message],
    [1_001, 4_096, 'Further lines of this call are dropped.'],
  );
  await plugin.close();
});

test('two plugins share nothing', async () => {
  const writer = await world.loadCode(
    'exports.onEvent = () => { globalThis.shared = 1; Array.prototype.shared = 1; ' +
      'Object.prototype.shared = 1; sluice.shared = 1; };',
    { limits: patient },
  );
  const reader = await world.loadCode(
    'exports.onEvent = () => [typeof globalThis.shared, typeof [].shared, typeof ({}).shared, ' +
      'typeof sluice.shared];',
    { limits: patient },
  );
  await writer.plugin.call('onEvent', 1, never).catch(() => {});
  assert.deepEqual(await reader.plugin.call('onEvent', 1, never), [
    'undefined',
    'undefined',
    'undefined',
    'undefined',
  ]);
  await Promise.all([writer.plugin.close(), reader.plugin.close()]);
});

test('a package that is only inspected runs in another process than what is loaded', async () => {
  const pid = world.sandbox.pid;
  await assert.rejects(
    world.sandbox.inspect('Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);', never),
    { code: 'timeout' },
  );
  assert.equal(await canary.call('onEvent', 1, never), 2);
  assert.equal(world.sandbox.pid, pid);
});

test('a loop that asks the platform, or holds an error back, ends its plugin alone', async () => {
  assert.equal(await canary.call('onEvent', 1, never), 2);
  const pid = world.sandbox.pid;
  const loops = [
    'for (;;) console.log("x");',
    'const get = () => { for (;;); }; setTimeout(() => { throw Object.defineProperty(Error(), ' +
      '"message", { get }); }); await new Promise(() => {});',
  ];
  const tried = loops.map((body) => tryIt(body, { slice_milliseconds: 50 }));
  for (const outcome of await Promise.all(tried)) assert.deepEqual(outcome, { code: 'timeout' });
  assert.equal(await canary.call('onEvent', 1, never), 2);
  assert.equal(world.sandbox.pid, pid);
});

test('the sentence of a fault is one that every store takes', async () => {
  const { plugin } = await world.loadCode(
    'exports.onEvent = () => { throw new Error("a\\0b\\ud800"); };',
    { limits: patient },
  );
  await assert.rejects(plugin.call('onEvent', 1, never), { message: 'a\uFFFDb\uFFFD' });
  await plugin.close();
});
