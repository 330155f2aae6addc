import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileServer, never } from '../../../../test/factories/plugins/plugin_sandbox.ts';
import type { PluginCallError } from './fault.ts';
import { openAroundTests, world } from '../../../../test/factories/plugins/sandbox_of_tests.ts';

openAroundTests({ keeps_process: true });

test('inspects code without calling it', async () => {
  const code = await compileServer(`
    export async function setupPlugin() { throw new Error('called'); }
    export function onEvent() {}
    export const processEventBatch = (events) => events;
    export function runEveryHour() {}
    export function runEveryFortnight() {}
    export function unknownMethod() {}
    export const jobs = { sync: async () => {}, broken: 5 };
    export const metrics = { seen: 'SUM', most: 'max', odd: 5 };
    export const publicJobs = { sync: { payload: { from: { type: 'date' } } }, other: {} };`);
  assert.deepEqual(await world.sandbox.inspect(code, never), {
    capabilities: {
      methods: ['setupPlugin', 'processEvent', 'onEvent'],
      jobs: ['sync'],
      scheduled_tasks: ['runEveryFortnight', 'runEveryHour'],
    },
    metrics: { seen: 'sum', most: 'max' },
    public_jobs: { sync: { payload: { from: { type: 'date' } } } },
  });
});

const faultyCode: [string, string, Partial<PluginCallError>][] = [
  [
    'an error at load',
    'const a = 1;\nthrow new TypeError("at load");',
    { code: 'runtime', message: 'TypeError: at load', file: 'index.ts', line: 2 },
  ],
  [
    'an import that is not allowed',
    '\nimport fs from "node:fs";\nexport const a = fs;',
    { code: 'runtime', file: 'index.ts', line: 2 },
  ],
  [
    'a file that the package does not have',
    'import { a } from "./lib/nothing";\nexport const b = a;',
    {
      code: 'runtime',
      message:
        'The package has no file ./lib/nothing for this import. Correct the path (from the file ' +
        'that imports), or add the file.',
      file: 'index.ts',
      line: 1,
    },
  ],
  [
    'a name that a module of the platform does not have',
    'import { createHash } from "crypto";\n' +
      'import { TextEncoder, promisify } from "util";\n' +
      'export const onEvent = () => promisify(createHash, TextEncoder);',
    {
      code: 'runtime',
      message:
        'util has no promisify here: it has TextDecoder, TextEncoder. Bundle other modules ' +
        'into the files.',
      file: 'index.ts',
      line: 2,
    },
  ],
  [
    'a metric of an unknown kind',
    'export const metrics = { a: "average" };',
    { code: 'runtime', message: 'The metric a has the operation average: use sum, max or min.' },
  ],
  [
    'too many names',
    'exports.jobs = Object.fromEntries(Array.from({ length: 101 }, (_, n) => ["job" + n, () ' +
      '=> {}]));',
    { code: 'runtime' },
  ],
];

for (const [name, source, expected] of faultyCode) {
  test(`inspection tells of ${name}`, async () => {
    const error = await world.sandbox.inspect(await compileServer(source), never).then(
      () => assert.fail('nothing was thrown'),
      (fault: PluginCallError) => fault,
    );
    assert.deepEqual(
      Object.fromEntries(
        Object.keys(expected).map((key) => [key, error[key as keyof PluginCallError]]),
      ),
      expected,
      error.message,
    );
  });
}

test('calls each method with what it takes', async () => {
  const { plugin, record } = await world.load(
    `
    export function setupPlugin(meta) { meta.global.started = meta.config.name; }
    export function teardownPlugin(meta) { console.log('teardown', meta.global.started); }
    export function processEvent(event, meta) {
      return event.event === 'drop' ? null : { ...event, by: meta.global.started };
    }
    export async function onEvent(event, { attachments }) {
      return [event, attachments.key.contents.toString(), attachments.key.file_name];
    }
    export async function exportEvents(events) { return events.length; }
    export function composeWebhook(event) {
      const body = JSON.stringify(event);
      return { url: 'https://a.example', method: 'POST', headers: {}, body };
    }
    export function getSettings() { return { handlesLargeBatches: true }; }
    export async function runEveryMinute(meta) { return Object.keys(meta).sort(); }
    export const jobs = { retry: async (payload, meta) => [payload, meta.global.started] };`,
    {
      config: { name: 'x' },
      attachments: {
        key: { content_type: 'text/plain', file_name: 'a.txt', contents: Buffer.from('käse') },
      },
    },
  );
  const cases: [string, unknown, unknown][] = [
    ['processEvent', { event: 'a' }, { event: 'a', by: 'x' }],
    ['processEvent', { event: 'drop' }, null],
    ['onEvent', 1, [1, 'käse', 'a.txt']],
    ['exportEvents', [1, 2, 3], 3],
    [
      'composeWebhook',
      { a: 1 },
      { url: 'https://a.example', method: 'POST', headers: {}, body: '{"a":1}' },
    ],
    ['getSettings', undefined, { handlesLargeBatches: true }],
    [
      'runEveryMinute',
      undefined,
      ['attachments', 'cache', 'config', 'global', 'jobs', 'metrics', 'storage', 'utils'],
    ],
    ['jobs.retry', { n: 1 }, [{ n: 1 }, 'x']],
  ];
  for (const [method, payload, expected] of cases)
    assert.deepEqual(await plugin.call(method, payload, never), expected, method);
  await assert.rejects(plugin.call('onSnapshot', {}, never), {
    code: 'runtime',
    message: 'The plugin does not export onSnapshot.',
  });
  await assert.rejects(plugin.call('jobs.constructor', {}, never), { code: 'runtime' });
  await plugin.close();
  assert.deepEqual(record.lines, [{ level: 'log', message: 'teardown x' }]);
  await assert.rejects(plugin.call('processEvent', {}, never), /closed/);
});

test('keeps the order of calls that overlap', async () => {
  const { plugin } = await world.load(
    'let n = 0; export const processEvent = (event) => ({ event, n: n++ });',
  );
  const results = await Promise.all(
    Array.from({ length: 200 }, (_, event) => plugin.call('processEvent', event, never)),
  );
  assert.deepEqual(
    results,
    results.map((_, n) => ({ event: n, n })),
  );
  await plugin.close();
});

test('asks the platform for its services', async () => {
  const { plugin, record } = await world.load(`
    export async function onEvent(event, { storage, cache, utils, jobs }) {
      await storage.set('a', { deep: [1] });
      await storage.set('gone', 1);
      await storage.set('gone', undefined);
      await cache.lpush('list', [1, 2]);
      await utils.cursor.init('cursor', 10);
      await posthog.capture('imported', { distinct_id: 'ada', timestamp: new Date(0), n: 1 });
      await sluice.capture('plain');
      await jobs.sync({ n: 1 }).runIn(2, 'minutes');
      await jobs.sync({ n: 2 }).runNow();
      await jobs.sync().runAt(new Date(0));
      console.warn('a', { b: 1 }, new TypeError('c').message);
      return [
        await storage.get('a'),
        await storage.get('gone', 'fallback'),
        await cache.lrange('list', 0, -1),
        await utils.cursor.increment('cursor', 5),
      ];
    }
    export const jobs = { sync: async () => {} };`);
  assert.deepEqual(await plugin.call('onEvent', {}, never), [
    { deep: [1] },
    'fallback',
    [2, 1],
    15,
  ]);
  assert.deepEqual(record.captured, [
    {
      event: 'imported',
      distinct_id: 'ada',
      timestamp: '1970-01-01T00:00:00.000Z',
      properties: { n: 1 },
    },
    { event: 'plain', distinct_id: null, timestamp: null, properties: {} },
  ]);
  assert.deepEqual(record.jobs, [
    { name: 'sync', payload: { n: 1 }, delay_ms: 120_000 },
    { name: 'sync', payload: { n: 2 }, delay_ms: 0 },
    { name: 'sync', payload: null, delay_ms: 0 },
  ]);
  assert.deepEqual(record.lines, [{ level: 'warn', message: 'a {"b":1} c' }]);
  await plugin.close();
});

test('tells errors apart and where they are', async () => {
  const { plugin } = await world.load({
    'index.ts': `import { deep } from './lib/deep';
      export async function onEvent(kind: string, meta: any) {
        if (kind === 'retry') throw new RetryError('later');
        if (kind === 'own') throw Object.assign(new Error('named'), { name: 'RetryError' });
        if (kind === 'text') throw 'just text';
        if (kind === 'service') return meta.storage.set('x'.repeat(300), 1);
        await null;
        return deep(kind);
      }`,
    'lib/deep.ts':
      'interface A { b: null }\nexport function deep(kind: string): string {\n  return (kind ' +
      'as any).missing.value;\n}',
  });
  const cases: [string, Partial<PluginCallError>][] = [
    ['retry', { message: 'later', is_retry: true, file: 'index.ts', line: 3 }],
    ['own', { message: 'named', is_retry: true, file: 'index.ts', line: 4 }],
    ['text', { message: 'just text', is_retry: false }],
    ['service', { is_retry: false, file: 'index.ts', line: 6 }],
    [
      'deep',
      {
        message: "TypeError: Cannot read properties of undefined (reading 'value')",
        is_retry: false,
        file: 'lib/deep.ts',
        line: 3,
        column: 32,
      },
    ],
  ];
  for (const [kind, expected] of cases) {
    const error = await plugin.call('onEvent', kind, never).then(
      () => assert.fail('nothing was thrown'),
      (fault: PluginCallError) => fault,
    );
    const seen = Object.fromEntries(
      Object.keys(expected).map((key) => [key, error[key as keyof PluginCallError]]),
    );
    assert.deepEqual({ code: error.code, ...seen }, { code: 'runtime', ...expected }, kind);
  }
  await plugin.close();
});
