import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { functionTable } from '../../../../test/query_cases/functions_text.ts';
import { functionTopics } from './index.ts';

const page = readFileSync(join(import.meta.dirname, '../../../../docs/query_language.md'), 'utf8');

test('docs/query_language.md has every function as the list has it', () => {
  assert.ok(page.endsWith(`\n${functionTable()}`), 'Run `npm run docs:query`.');
});

test('no function is on the list twice', () => {
  const names = functionTopics.flatMap(({ functions }) => functions.map(({ name }) => name));
  assert.deepEqual([...new Set(names)], names);
});
