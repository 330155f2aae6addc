import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  emptyRecord,
  never,
  openTestSandbox,
  platformInMemory,
} from '../../../../test/factories/plugins/plugin_sandbox.ts';
import { PluginCallError } from './fault.ts';
import type { SandboxLimits } from './limits.ts';
import { aroundTests } from '../../../../test/around_tests.ts';
import { eventually } from '../../../../test/eventually.ts';

const sandbox = aroundTests(
  () =>
    openTestSandbox({
      slice_milliseconds: 200,
      cpu_milliseconds: 300,
    }),
  async (opened) => {
    // It keeps the process, which else would end with each of the calls.
    await opened.loadCode('');
  },
);

const lines_wanted: [string, string, RegExp[]][] = [
  [
    'after the call, of each request and promise',
    `export async function onEvent(event, { storage }) {
      sluice.capture('x'.repeat(201)); storage.get('');
      (async () => { throw new TypeError('alone'); })();
    }`,
    [
      /^Something failed that the plugin did not await: TypeError: alone \(index\.ts:3:28\)$/,
      /^A capture that the plugin did not await failed: capture was called with wrong/,
      /^A storage\.get that the plugin did not await failed: storage\.get was called with/,
    ],
  ],
  [
    'during calls, which go on',
    `export async function onEvent({ n }) {
      if (n === 0) sluice.capture('x'.repeat(201));
      if (n === 1) setTimeout(() => { throw new Error('in a timer'); }, 1);
      await new Promise((done) => setTimeout(done, 50));
    }`,
    [
      /^Something failed that the plugin did not await: .*capture was called .*\(index\.ts:2/,
      /^Something failed that the plugin did not await: in a timer \(index\.ts:3/,
    ],
  ],
  [
    'while it is loaded',
    `Promise.reject(new Error('at the top'));
    export async function onEvent() {}`,
    [/^Something failed that the plugin did not await: at the top \(index\.ts:1:16\)$/],
  ],
];

for (const [name, code, expected] of lines_wanted) {
  test(`a failed call that nobody awaited is in the log: ${name}`, async () => {
    const { plugin, record } = await sandbox.load(code);
    await Promise.all([0, 1, 2].map((n) => plugin.call('onEvent', { n }, never)));
    for (const wanted of expected)
      await eventually(`${String(wanted)} is not in the log`, () =>
        record.lines.some(({ level, message }) => level === 'error' && wanted.test(message)),
      );
    await plugin.close();
  });
}

const busy = 'const work = () => { const end = Date.now() + 75; while (Date.now() < end); };';
const cases: [string, string, number | undefined, RegExp][] = [
  [
    'a loop',
    'export const onEvent = () => {\n  const inner = () => {\n    for (;;);\n  };\n  inner();\n};',
    3,
    /more than 0\.2 s without a pause/,
  ],
  [
    'a loop after an await',
    'export async function onEvent() {\n  await null;\n  for (;;);\n}',
    3,
    /without a pause/,
  ],
  ['a loop at the top level', 'export const onEvent = 1;\n\nfor (;;);', 3, /without a pause/],
  [
    'waiting for a timer',
    'export async function onEvent() {\n  ' +
      'await new Promise((done) => setTimeout(done, 60_000));\n}',
    2,
    /longer than 1\.5 s, and waited for this/,
  ],
  [
    'waiting for the platform',
    'export async function onEvent(_event, { storage }) {\n  await storage.set("a", 1);\n  ' +
      'await storage.get("never");\n}',
    3,
    /and waited for this/,
  ],
  [
    'waiting for nothing',
    'export const onEvent = () => new Promise(() => {});',
    undefined,
    /longer than 1\.5 s\.$/,
  ],
  [
    'many stretches',
    `export async function onEvent(_event, { storage }) {\n  ${busy}\n  for (;;) {\n    ` +
      'work();\n    await storage.get("a");\n  }\n}',
    5,
    /more than 0\.3 s of the processor/,
  ],
];

for (const [name, code, line, message] of cases) {
  test(`a call ended for its time says where it was: ${name}`, async () => {
    const call = async (): Promise<unknown> => {
      // Each has the one limit that it runs into, and much room to the others.
      const limits: Partial<SandboxLimits> = {
        ...(name.startsWith('waiting') ? { call_milliseconds: 1_500 } : {}),
        ...(name === 'many stretches' ? { slice_milliseconds: 5_000 } : {}),
      };
      const { plugin } = await sandbox.load(code, {
        limits,
        host: {
          ...platformInMemory(emptyRecord()),
          storage: {
            get: (key) => (key === 'never' ? new Promise(() => {}) : Promise.resolve(null)),
            set: async () => {},
            del: async () => {},
          },
        },
      });
      return plugin.call('onEvent', {}, never);
    };
    await assert.rejects(call, (error) => {
      assert.ok(error instanceof PluginCallError);
      assert.equal(error.code, 'timeout');
      assert.match(error.message, message);
      assert.deepEqual(
        [error.file, error.line],
        line === undefined ? [undefined, undefined] : ['index.ts', line],
      );
      return true;
    });
  });
}
