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

test('Slack is among the tools for messages, where people look for it', () => {
  assert.equal(categoryOf('slack'), 'messaging');
});
