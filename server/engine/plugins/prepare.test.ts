import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { test } from 'node:test';
import { openTestSandbox } from '../../../test/factories/plugins/plugin_sandbox.ts';
import { openAroundTests, world } from '../../../test/factories/plugins/sandbox_of_tests.ts';
import { preparePlugin } from './prepare.ts';
import { sandboxProgram } from './sandbox/program.ts';

openAroundTests();

const files = (number: number) => ({
  'index.ts': `export const onEvent = (): number => ${number};`,
});

/** Returns how many processes are started for the work. */
async function startedFor(work: () => Promise<unknown>): Promise<number> {
  let started = 0;
  const count = (): void => void (started += 1);
  subscribe('child_process', count);
  try {
    await work();
  } finally {
    unsubscribe('child_process', count);
  }
  return started;
}

test('the same files a moment later are not compiled again, by each sandbox', async () => {
  await sandboxProgram();
  const first = await preparePlugin(files(1), 'one', world.sandbox);
  const again = await startedFor(async () => {
    const { tag, ...rest } = await preparePlugin({ ...files(1) }, 'two', world.sandbox);
    assert.deepEqual({ ...rest, tag: 'one' }, first);
    assert.equal(tag, 'two');
  });
  assert.equal(again, 0);
  assert.equal(await startedFor(() => preparePlugin(files(2), null, world.sandbox)), 2);
  const other = await openTestSandbox();
  try {
    assert.equal(await startedFor(() => preparePlugin(files(1), null, other.sandbox)), 2);
  } finally {
    await other.close();
  }
});

test('few compiled plugins are kept, and no large ones', async () => {
  const compiled: string[] = [];
  const sandbox = { inspect: world.sandbox.inspect };
  const prepare = (code: string) =>
    preparePlugin({ 'site.ts': code }, null, sandbox, async (given) => {
      compiled.push(given['site.ts']!);
      return { server: null, site: given['site.ts']!, frontend: null };
    });
  const large = 'x'.repeat(1024 * 1024 + 1);
  for (const code of [large, large]) await prepare(code);
  assert.equal(compiled.length, 2);
  const codes = Array.from({ length: 17 }, (_, number) => String(number));
  for (const code of [...codes, '16', '1', '0']) await prepare(code);
  assert.deepEqual(compiled.slice(2), [...codes, '0']);
});
