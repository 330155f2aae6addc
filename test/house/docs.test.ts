import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { root } from './source_files.ts';

const api = join(root, 'docs/api.md');

test('a page whose examples name a variable says where it is set', () => {
  const pages = globSync(join(root, 'docs/**/*.md')).filter((page) => page !== api);
  assert.ok(pages.length > 20);
  const silent = pages.filter((page) => {
    const text = readFileSync(page, 'utf8');
    const link = `[Examples](${relative(dirname(page), api)}#examples)`;
    return /\$(?:SLUICE|KEY|ID)\b/.test(text) && !text.includes(link);
  });
  assert.deepEqual(silent, [], 'Link to docs/api.md#examples above the first example.');
  const text = readFileSync(api, 'utf8');
  for (const name of ['## Examples', 'export SLUICE=', 'export KEY='])
    assert.ok(text.includes(name));
});

test('each JSON body of an example can be pasted', () => {
  let bodies = 0;
  for (const page of globSync(join(root, '{docs,examples}/**/*.md')))
    for (const [, body] of readFileSync(page, 'utf8').matchAll(
      /\s(?:-d|--data) '((?:[^']|'\\'')*)'/g,
    )) {
      const text = body!.replaceAll(`'\\''`, `'`);
      if (!/^[[{]/.test(text)) continue;
      bodies += 1;
      assert.doesNotThrow(() => JSON.parse(text), `${relative(root, page)}: ${text}`);
    }
  assert.ok(bodies > 30, String(bodies));
});
