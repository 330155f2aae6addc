import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPace } from './pace.ts';

test('callers pass so many a second at most, in the order in which they came', async () => {
  const pace = openPace(100);
  const began = performance.now();
  const order: number[] = [];
  await Promise.all([0, 1, 2, 3].map((number) => pace().then(() => order.push(number))));
  // A timer may be a millisecond early.
  assert.ok(performance.now() - began >= 28);
  assert.deepEqual(order, [0, 1, 2, 3]);
});
