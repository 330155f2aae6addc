import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { stop } from 'esbuild';
import { plain_manifest } from '../../../../test/factories/plugins/plugin_sandbox.ts';
import type { PluginFiles } from '../plugin.ts';
import { readManifest } from '../packages/manifest.ts';
import { bundlePackage } from './bundle.ts';

after(() => stop());

const faults: [string, PluginFiles, number][] = [
  ['broken JavaScript', { 'index.js': 'const a = 1;\nconst b = ;\n' }, 2],
  [
    'broken TypeScript under a name of JavaScript',
    { 'index.js': 'const a: number = 1;\n\nconst b: string = ;\n' },
    3,
  ],
  ['JSX that is broken', { 'index.jsx': 'const a = <b>;\n</c>;' }, 2],
];

test('a .js file in neither language shows the fault of the longer reading', async () => {
  for (const [name, files, line] of faults) {
    const bundles = await bundlePackage(files, plain_manifest);
    assert.ok('fault' in bundles, name);
    assert.deepEqual([bundles.fault.file, bundles.fault.line], [Object.keys(files)[0], line], name);
  }
});

test('names that are imported from the platform are asked for as the code is loaded', async () => {
  const files = {
    'index.ts': `import { a, b as c, type D, type E, unused } from "util";
import f, { g } from 'zlib';
import { h } from './h';
export { i } from 'url';
export const onEvent = (e: E): D => a(c, f, g, h);`,
    'h.ts': 'export const h = 1;',
  };
  const bundles = await bundlePackage(files, plain_manifest);
  assert.ok(!('fault' in bundles));
  const asked: unknown[] = [];
  runInNewContext(`(function (module, exports, require) {\n${bundles.server}\n})`)(
    { exports: {} },
    {},
    (name: string, needed: string[]) => {
      asked.push([name, needed === undefined ? [] : [...needed]]);
      return {};
    },
  );
  assert.deepEqual(asked.sort(), [
    ['url', []],
    ['util', ['a', 'b']],
    ['zlib', ['g']],
  ]);
});

/** Returns the functions that the platform would find. */
async function offered(files: PluginFiles): Promise<string[]> {
  const bundles = await bundlePackage(files, plain_manifest);
  assert.ok(!('fault' in bundles), JSON.stringify(bundles));
  const module = { exports: {} };
  // Our own texts of this file.
  runInNewContext(`(function (module, exports, require) {\n${bundles.server}\n})`)(
    module,
    module.exports,
    () => ({}),
  );
  return Object.keys(module.exports).sort();
}

test('names at the top level count where nothing is exported, and only there', async () => {
  const shapes: [PluginFiles, string[]][] = [
    [
      { 'index.js': 'function onEvent() {} const metrics = {}; let helper = 1;' },
      ['metrics', 'onEvent'],
    ],
    [
      {
        'index.ts': "import './other'; async function runEveryHour(): Promise<void> {}",
        'other.ts': 'function onEvent() {}',
      },
      ['runEveryHour'],
    ],
    [{ 'index.js': 'function onEvent() {} // and a last line' }, ['onEvent']],
    [{ 'index.js': 'function onEvent() {} exports.setupPlugin = () => {};' }, ['setupPlugin']],
    [{ 'index.ts': 'function onEvent() {} export const jobs = {};' }, ['jobs']],
    [{ 'index.js': 'module.exports = { default: 1 }; class processEvent {}' }, ['default']],
    [{ 'index.js': '"use strict"; const helper = 1;' }, []],
  ];
  for (const [files, names] of shapes)
    assert.deepEqual(await offered(files), names, JSON.stringify(files));
});

test('defaults and conditions of a config become text where text is meant', () => {
  const config = [
    { key: 'n', type: 'string', default: 1.5 },
    { key: 'b', default: false },
    { key: 'j', type: 'json', default: [1] },
    { key: 't', type: 'json', default: '{"a": 1}' },
    { key: 'c', type: 'choice', choices: ['1', '2'], default: 1 },
    { key: 'v', type: 'string', visible_if: [['n', 1.5], ['b']] },
  ];
  const { fields, config_schema } = readManifest({
    'plugin.json': JSON.stringify({ name: 'x', config }),
  });
  assert.deepEqual(
    fields.map((field) => field.default),
    ['1.5', 'false', '[1]', '{"a": 1}', '1', undefined],
  );
  assert.deepEqual(fields.at(-1)!.visible_if, [['n', '1.5'], ['b']]);
  assert.deepEqual(config_schema, config);
});
