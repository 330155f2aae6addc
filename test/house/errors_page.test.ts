import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { listSourceFiles, root } from './source_files.ts';

const made =
  /\b(lasting|passing)\(\s*'(\w+)'|\bnew (NonRetryableError|RetryableError)\(\s*'(\w+)'/g;

test('docs/errors.md has every error_code of the engine, and whether it is retried', () => {
  const page = readFileSync(join(root, 'docs/errors.md'), 'utf8');
  const told = new Map(
    Array.from(page.matchAll(/^\| `(\w+)` \| (\w+) \|/gm), ([, code, again]) => [code, again]),
  );
  const wrong = listSourceFiles()
    .filter(({ path }) => path.startsWith('server/engine/') && !path.endsWith('.test.ts'))
    .flatMap(({ path, text }) =>
      Array.from(text.matchAll(made), ([, how, code, error, thrown]) => ({
        code: code ?? thrown,
        again: how === 'passing' || error === 'RetryableError' ? 'yes' : 'no',
        path,
      })),
    )
    .filter(({ code, again }) => told.get(code) !== again)
    .map(({ code, again, path }) => `${path}: ${code} is tried again: ${again}.`);
  assert.deepEqual(wrong, []);
});
