import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ChannelListener } from 'node:diagnostics_channel';
import { writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { inDepth, is_deep } from '../../../../test/depth.ts';
import { plain_manifest } from '../../../../test/factories/plugins/plugin_sandbox.ts';
import { PluginError } from '../plugin.ts';
import type { PluginFiles } from '../plugin.ts';
import { bundlePackage } from './bundle.ts';
import type { CompileFault } from './bundle.ts';
import { compilePlugin } from './compile.ts';
import { readCode } from './fault.ts';
import { openAroundTests, run } from '../../../../test/factories/plugins/compiled_code.ts';
import { folderAroundTests } from '../../../../test/around_tests.ts';

const folder = folderAroundTests();

openAroundTests();

const works: [string, PluginFiles, unknown][] = [
  [
    'TypeScript',
    {
      'index.ts':
        'type A = { b: number }; export const value = (a: A): number => a.b!; export const ' +
        'result = value({ b: 1 } as A);',
    },
    1,
  ],
  ['JavaScript with module.exports', { 'index.js': 'module.exports = { result: 2 };' }, 2],
  [
    'relative imports without ending',
    {
      'index.ts': "import { a } from './lib/a'; export const result = a;",
      'lib/a.ts': "export * from './b';",
      'lib/b.js': 'exports.a = 3;',
    },
    3,
  ],
  [
    'the ending that TypeScript will have',
    {
      'index.ts': "import { a } from './a.js'; export const result = a;",
      'a.ts': 'export const a = 4;',
    },
    4,
  ],
  [
    'a folder with an index',
    {
      'index.ts': "import { a } from './lib'; export const result = a;",
      'lib/index.ts': 'export const a = 5;',
    },
    5,
  ],
  [
    'JSON',
    {
      'index.ts': "import data from './data.json'; export const result = data.n;",
      'data.json': '{"n":6}',
    },
    6,
  ],
  [
    'files that import each other',
    {
      'index.ts': "import { f } from './a'; export const n = () => 7; export const result = f();",
      'a.ts': "import { n } from './index'; export const f = () => n();",
    },
    7,
  ],
  [
    'types of packages that are not there',
    {
      'index.ts':
        "import type { A } from '@posthog/plugin-scaffold'; import { B } from 'missing'; " +
        'export const result: A | B = 8 as B;',
    },
    8,
  ],
  [
    'names that stand in every object',
    {
      'index.ts': "import { a } from './constructor'; export const result = a;",
      'constructor.ts': 'export const a = 9;',
    },
    9,
  ],
];

for (const [name, files, expected] of works)
  test(`compiles ${name}`, async () => assert.equal((await run(files))['result'], expected));

test('begins with what plugin.json names', async () => {
  assert.equal(
    (
      await run(
        { 'index.ts': 'export const result = 1;', 'dist/main.js': 'exports.result = 2;' },
        './dist/main.js',
      )
    )['result'],
    2,
  );
});

const faults: [string, PluginFiles, Partial<CompileFault>][] = [
  [
    'a missing value',
    { 'index.ts': 'export const a = 1;\nexport const b = ;\n' },
    { file: 'index.ts', line: 2, column: 18 },
  ],
  [
    'an unfinished file',
    { 'index.ts': 'function f() {' },
    { file: 'index.ts', line: 1, column: 15 },
  ],
  [
    'a fault in an imported file',
    { 'index.ts': "import './lib/a';", 'lib/a.ts': '\n\n  let let = 1;' },
    { file: 'lib/a.ts', line: 3, column: 7 },
  ],
  [
    'JSON that is none',
    { 'index.ts': "import './a.json';", 'a.json': '{\n  "a": }' },
    { file: 'a.json', line: 2, column: 8 },
  ],
  [
    'await outside of a function',
    { 'index.ts': 'export const a = await 1;' },
    { file: 'index.ts', line: 1, column: 18 },
  ],
  [
    'a fault in the site',
    { 'index.ts': '', 'site.ts': 'export function inject( {' },
    { file: 'site.ts', line: 1, column: 26 },
  ],
];

for (const [name, files, place] of faults) {
  test(`refuses ${name}, with its place`, async () => {
    const { fault } = (await bundlePackage(files, plain_manifest)) as { fault: CompileFault };
    assert.deepEqual(
      [fault.file, fault.line, fault.column],
      [place.file, place.line, place.column],
      fault.message,
    );
  });
}

test('gives faults as PluginErrors, and outlives a compiler that breaks', async () => {
  await assert.rejects(
    compilePlugin({ 'index.ts': '\nexport const a = ;' }, plain_manifest),
    (error: PluginError) => {
      assert.ok(error instanceof PluginError);
      assert.deepEqual(
        [error.code, error.file, error.line, error.column],
        ['compile', 'index.ts', 2, 18],
      );
      return true;
    },
  );
  // To nest so deeply that it breaks takes two seconds of the processor.
  const source = `export const a = ${'('.repeat(inDepth(1, 1_500_000))}`;
  if (!is_deep) killNextProcess();
  await assert.rejects(compilePlugin({ 'index.ts': source }, plain_manifest), {
    code: 'compile',
    file: undefined,
    message: /gave up/,
  });
});

/** kill -9 of the next process that this one starts. */
function killNextProcess(): void {
  const kill: ChannelListener = (message) => {
    unsubscribe('child_process', kill);
    const { process: child } = message as { process: ChildProcess };
    child.once('spawn', () => child.kill('SIGKILL'));
  };
  subscribe('child_process', kill);
}

test('refuses a main that the package does not have', async () => {
  await assert.rejects(
    compilePlugin({ 'index.ts': '' }, { ...plain_manifest, main: '../../etc/passwd' }),
    { code: 'compile', file: 'plugin.json' },
  );
});

test('reads no file of the server, whatever is imported', async () => {
  await writeFile(join(folder, 'secret.js'), 'exports.marker = "marker-of-the-server";');
  await writeFile(
    join(folder, 'secret.json'),
    '{"version":3,"sources":["marker-of-the-server"],"mappings":"AAAA"}',
  );
  const up = relative(process.cwd(), folder);
  const files = {
    'index.ts': [
      `export const a = async (n: string) => import(\`./${up}/\${n}.js\`);`,
      `export const b = (n: string) => require('./${up}/' + n);`,
      `export const c = () => require('./${up}/secret.js');`,
      `export const d = () => require('${folder}/secret.js');`,
      `export const e = () => new URL('./${up}/secret.js', import.meta.url);`,
      `export const f = async (n: string) => import('./' + n + '.json');`,
      `//# sourceMappingURL=${folder}/secret.json`,
    ].join('\n'),
    'lib/a.ts': '',
    'tsconfig.json': `{"extends":"${folder}/secret.json"}`,
  };
  const { server } = await compilePlugin(files, plain_manifest);
  assert.doesNotMatch(server!, /marker-of-the-server/);
  assert.doesNotMatch(
    Buffer.from(server!.split('base64,')[1]!, 'base64').toString('utf8'),
    /marker-of-the-server/,
  );
  const exported = await run(files);
  for (const name of ['b', 'c', 'd']) assert.throws(() => exported[name]('secret.js'), /outside: /);
  await assert.rejects(exported['a']('secret'), /outside: /);
});

test('finds the place of an error through the source map', async () => {
  const { server } = await compilePlugin(
    {
      'index.ts': "import { a } from './lib/a';\na();",
      'lib/a.ts': 'type T = 1;\nexport function a(): T {\n  throw new Error("x");\n}',
    },
    plain_manifest,
  );
  const code = readCode(server!);
  const line = code.text.split('\n').findIndex((text) => text.includes('throw new Error')) + 1;
  assert.deepEqual(code.locate(`Error: x\n    at a (plugin.js:${line}:9)`), {
    file: 'lib/a.ts',
    line: 3,
    column: 9,
  });
  assert.deepEqual(code.locate('Error: x\n    at a (plugin.js:99999:9)'), {});
  assert.deepEqual(code.locate('no stack'), {});
});

test('compiles what pages load, and parts that are missing are null', async () => {
  const site = {
    'site.ts':
      "import { greet } from './greet'; export function inject({ config }: { config: { name: " +
      'string } }) { return greet(config.name); }',
    'greet.ts': 'export const greet = (n: string) => `hello ${n}`;',
  };
  const compiled = await compilePlugin(site, plain_manifest);
  assert.equal(compiled.server, null);
  assert.equal(compiled.frontend, null);
  assert.equal(runInNewContext(compiled.site!).inject({ config: { name: 'page' } }), 'hello page');
  const { frontend } = await compilePlugin(
    {
      'frontend.tsx':
        "import React from 'react'; export const scene = { component: () => <b>{1}</b> };",
    },
    plain_manifest,
  );
  const react = { createElement: (...parameters: unknown[]) => parameters };
  assert.deepEqual(
    JSON.stringify(runInNewContext(frontend!)(() => react).scene.component()),
    '["b",null,1]',
  );
});
