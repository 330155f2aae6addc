import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { collectAll } from './collector.ts';

test('the collector frees unused objects and keeps used ones', async () => {
  const used = new WeakRef({ a: 1 });
  const kept = used.deref();
  const unused = new WeakRef({ b: 2 });
  // An object created in this turn is kept until the turn ends.
  await turn();
  collectAll();
  assert.equal(unused.deref(), undefined);
  assert.equal(used.deref(), kept);
});
