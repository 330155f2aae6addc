import assert from 'node:assert/strict';
import { test } from 'node:test';
import { visibleAfter } from './visible_after.ts';

const cases: [newest: number | null, oldest: number | null, words: string | undefined][] = [
  [null, null, undefined],
  [0.4, 61.2, '0.4 s to 1 min 1 s after they arrive'],
  [42, 42.3, '42 s after they arrive'],
];
for (const [newest_row_seconds, oldest_row_seconds, words] of cases)
  test(`rows of ages ${newest_row_seconds} and ${oldest_row_seconds} in words`, () => {
    assert.equal(visibleAfter({ newest_row_seconds, oldest_row_seconds }), words);
  });
