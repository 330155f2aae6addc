import assert from 'node:assert/strict';
import { test } from 'node:test';
import { foundEntries } from './categories.ts';

const entry = {
  url: '',
  collection: 'pipeline_destinations',
  maintainer: 'community' as const,
  needs: null,
  wants_application: false,
};
const braze = { ...entry, name: 'Braze', description: 'Sends events.', category: 'messaging' };
const adjust = { ...entry, name: 'Adjust', description: 'Sends events.', category: 'advertising' };
const bar = { ...entry, name: 'Bar', description: 'Shows a message.', category: null };
const all = [braze, adjust, bar] as Parameters<typeof foundEntries>[0];

const cases: [search: string, category: string, found: string[]][] = [
  ['', '', ['Braze', 'Adjust', 'Bar']],
  ['', 'messaging', ['Braze']],
  ['message', '', ['Braze', 'Bar']],
  ['Sends ATTRIBUTION', '', ['Adjust']],
  ['braze', 'advertising', []],
];
for (const [search, category, found] of cases)
  test(`the catalogue finds ${found.join(', ') || 'nothing'} by "${search}" in "${category}"`, () =>
    assert.deepEqual(
      foundEntries(all, search, category).map(({ name }) => name),
      found,
    ));
