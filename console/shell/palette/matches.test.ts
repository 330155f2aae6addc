import assert from 'node:assert/strict';
import { test } from 'node:test';
import { matching, rankOf } from './matches.ts';

test('a text fits by its beginning, by words, by any part, or not', () => {
  const cases: [string, string, number | undefined][] = [
    ['Project settings', '', 0],
    ['Project settings', 'proj', 0],
    ['Project settings', ' PROJECT S ', 0],
    ['Project settings', 'set', 1],
    ['Project settings', 'set pro', 1],
    ['Project settings', 'tings', 2],
    ['Project settings', 'tings pro', 2],
    ['Project settings', 'export', undefined],
    ['Project settings', 'pro export', undefined],
    ['A <b>', '<b', 1],
  ];
  for (const [text, typed, rank] of cases) assert.equal(rankOf(text, typed), rank, typed);
});

test('the best come first, equals keep their order', () => {
  const items = ['Reset', 'Settings', 'Project settings', 'Set up', 'Exports'];
  assert.deepEqual(
    matching(
      items.map((label) => ({ label })),
      'set',
    ).map(({ label }) => label),
    ['Settings', 'Set up', 'Project settings', 'Reset'],
  );
});
