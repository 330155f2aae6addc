import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import { root } from '../../scripts/child.ts';
import { writeGroups } from '../../scripts/check/test_groups.ts';

const reporter = join(import.meta.dirname, '../../scripts/check/failed_files.ts');

test('a file with failed tests is told once, and a failed hook as its group', async (t) => {
  const cache = join(root, 'node_modules', '.cache');
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, 'sluice-failed-'));
  t.after(() => rm(folder, { recursive: true }));
  const head = `const { after, test } = require('node:test');\n`;
  const files = {
    'passes.cjs': `${head}test('one', () => {});`,
    'fails.cjs': `${head}for (const name of 'ab') test(name, () => { throw new Error(); });`,
    'hook.cjs': `${head}test('one', () => {}); after(() => { throw new Error(); });`,
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  const group = Object.keys(files).map((name) => relative(root, join(folder, name)));
  const paths = await writeGroups([group], folder, 60);
  const told = join(folder, 'told');
  const { status } = spawnSync(
    process.execPath,
    ['--test', `--test-reporter=${reporter}`, `--test-reporter-destination=${told}`, ...paths],
    { env: { ...process.env, NODE_TEST_CONTEXT: undefined } },
  );
  assert.equal(status, 1);
  const lines = (await readFile(told, 'utf8')).trim().split('\n');
  assert.deepEqual(
    lines.map((line) => line.split('/').at(-1)),
    ['fails.cjs', '000.test.mjs'],
  );
});
