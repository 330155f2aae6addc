import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listTools } from './catalogue.ts';
import { withTools } from '../packages/catalogue.ts';
import { byUse, categoryOf } from './categories.ts';

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

test('The catalogue begins with the tools that people use most', () => {
  assert.equal(byUse(listTools()).first.length, 17);
  const names = withTools([]).map(({ name }) => name);
  assert.deepEqual(names.slice(0, 3), ['HTTP request', 'Slack', 'Webhook']);
  const messages = withTools([]).filter(({ category }) => category === 'messaging');
  assert.deepEqual(
    messages.slice(0, 7).map(({ name }) => name),
    ['Slack', 'Customer.io', 'Braze', 'Klaviyo', 'Iterable', 'Attentive', 'Aampe'],
  );
});
