import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plain_manifest } from '../../../../test/factories/plugins/plugin_sandbox.ts';
import { compilePlugin } from './compile.ts';
import { readCode } from './fault.ts';
import { findEntry, resolveModule } from './package_modules.ts';
import { openAroundTests, run } from '../../../../test/factories/plugins/compiled_code.ts';

openAroundTests();

test('resolves within the package alone', () => {
  const files = {
    'index.ts': '',
    'lib/a.ts': '',
    'lib/index.js': '',
    'data.json': '',
    'readme.md': '',
  };
  const cases: [string, string, string | undefined][] = [
    ['index.ts', './lib/a', 'lib/a.ts'],
    ['lib/a.ts', '..', 'index.ts'],
    ['lib/a.ts', '.', 'lib/index.js'],
    ['lib/a.ts', './', 'lib/index.js'],
    ['lib/a.ts', '../data.json', 'data.json'],
    ['index.ts', './readme.md', undefined],
    ['index.ts', '../index', undefined],
    ['index.ts', './lib/../../index', undefined],
    ['index.ts', '/index.ts', undefined],
    ['index.ts', 'index.ts', undefined],
    ['index.ts', './__proto__', undefined],
  ];
  for (const [importer, specifier, expected] of cases)
    assert.equal(
      resolveModule(files, importer, specifier),
      expected,
      `${specifier} in ${importer}`,
    );
  assert.equal(findEntry(files, null, 'site'), undefined);
  assert.equal(findEntry(files, null, 'server'), 'index.ts');
  assert.equal(findEntry(files, './lib/', 'server'), 'lib/index.js');
  assert.equal(findEntry(files, 'lib/a.js', 'server'), 'lib/a.ts');
});

test('compiles a shebang, imports with odd names, and very many lines', async () => {
  const cases: [string, string, unknown][] = [
    ['shell', '#!/usr/bin/env node\nexports.result = 1;', 1],
    [
      'name',
      'try { require("./a\\x01b"); } catch (error) { exports.result = error.message; }',
      'outside: ./a\x01b',
    ],
    ['lines', `var n = 0;\n${'n += 1;\n'.repeat(200_000)}exports.result = n;`, 200_000],
  ];
  for (const [name, source, result] of cases)
    assert.equal((await run({ 'index.js': source }))['result'], result, name);
});

test('a main file that the package does not have is refused at plugin.json', async () => {
  await assert.rejects(
    compilePlugin({ 'index.ts': '' }, { ...plain_manifest, main: 'dist/index.js' }),
    { code: 'compile', file: 'plugin.json', message: /names dist\/index\.js as main/ },
  );
});

test('begins with index.js beside index.ts, as packages that were built have them', async () => {
  assert.equal(
    (await run({ 'index.ts': 'export const result = 1;', 'index.js': 'exports.result = 2;' }))[
      'result'
    ],
    2,
  );
});

test('an error in a very large file names the file alone, since its map is slow', async () => {
  const code = await compilePlugin(
    {
      'index.js': `import './small';\n${'a(b, c);\n'.repeat(100_000)}`,
      'small.js': '\n\nthrow new Error();',
    },
    plain_manifest,
  );
  const { text, locate } = readCode(code.server!);
  const lineOf = (part: string) => text.split('\n').findIndex((line) => line.includes(part)) + 1;
  assert.deepEqual(locate(`at plugin.js:${lineOf('a(b, c)')}:1`), { file: 'index.js' });
  assert.deepEqual(locate(`at plugin.js:${lineOf('throw new Error()')}:1`), {
    file: 'small.js',
    line: 3,
    column: 1,
  });
});
