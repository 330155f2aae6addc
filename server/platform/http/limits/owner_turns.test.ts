import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inWriteTurn } from './owner_turns.ts';

const turnOfEventLoop = () => new Promise(setImmediate);

test('an owner has three writes in progress, and a long wait is reported', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const held = Promise.withResolvers<string>();
  let begun = 0;
  const write = (owner: string) =>
    inWriteTurn(owner, () => {
      begun += 1;
      return held.promise;
    });
  const first = [write('one'), write('one'), write('one')];
  const late = assert.rejects(write('one'), { status: 503 });
  await turnOfEventLoop();
  assert.equal(begun, 3);
  context.mock.timers.tick(10_000);
  await late;
  const next = [write('one'), write('two')];
  await turnOfEventLoop();
  assert.equal(begun, 4, 'another owner has turns of their own');
  held.resolve('done');
  assert.deepEqual(
    await Promise.all([...first, ...next]),
    Array.from({ length: 5 }, () => 'done'),
  );
  await assert.rejects(
    inWriteTurn('one', () => Promise.reject(new Error('of the work'))),
    /of the work/,
  );
});
