import assert from 'node:assert/strict';
import { test } from 'node:test';
import { examplesOf } from './examples.ts';

test('the newest event of each name is offered first, after a burst of one name too', () => {
  const newest = ['a', 'a', 'b', 'a', 'c', 'b'].map((event, at) => ({ event, at }));
  assert.deepEqual(
    examplesOf(newest).map(({ at }) => at),
    [0, 2, 4, 1, 3, 5],
  );
});
