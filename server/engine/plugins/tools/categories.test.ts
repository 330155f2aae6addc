import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listTools } from './catalogue.ts';
import { categoryOf } from './categories.ts';

test('each tool of the catalogue has a category', () => {
  const without = listTools().filter(({ directory }) => categoryOf(directory) === null);
  assert.deepEqual(
    without.map(({ name }) => name),
    [],
  );
});
