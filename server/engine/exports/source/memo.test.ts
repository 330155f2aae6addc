import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openMemo } from './memo.ts';

test('questions that are the same at one time are asked once, unless one fails', async () => {
  const memo = openMemo<string>(10);
  const [store, other] = [{}, {}];
  let asked = 0;
  const ask = async () => {
    asked += 1;
    await new Promise((resume) => setImmediate(resume));
    memo.keep(store, 'one', `answer ${asked}`);
    return `answer ${asked}`;
  };
  const answers = await Promise.all([1, 2, 3].map(() => memo.once(store, 'one', ask)));
  assert.deepEqual([...answers, asked], ['answer 1', 'answer 1', 'answer 1', 1]);
  assert.equal(await memo.once(store, 'one', ask), 'answer 1');
  assert.equal(await memo.once(other, 'one', ask), 'answer 2');

  const failed = memo.once(store, 'two', async () => {
    throw new Error('The store is away.');
  });
  const waiter = memo.once(store, 'two', async () => 'own answer');
  await assert.rejects(failed, /away/);
  assert.equal(await waiter, 'own answer');

  const none = memo.once(store, 'three', async () => undefined);
  const second = memo.once(store, 'three', async () => 'second');
  assert.deepEqual(await Promise.all([none, second]), [undefined, 'second']);
});
