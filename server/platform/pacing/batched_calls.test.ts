import assert from 'node:assert/strict';
import { test } from 'node:test';
import { batchCalls } from './batched_calls.ts';

/** Work whose steps the test opens one by one; notes what was done together and what alone. */
function newWork(left: (item: number) => boolean = () => false) {
  const done: { together: number[][]; alone: number[] } = { together: [], alone: [] };
  const gates: { open(): void; fail(): void }[] = [];
  const ask = batchCalls<object, number, string>({
    together: async (_shared, items) => {
      done.together.push(items);
      await new Promise<void>((resolve, reject) =>
        gates.push({ open: resolve, fail: () => reject(new Error('One of them is wrong.')) }),
      );
      return items.map((item) => (left(item) ? undefined : `together ${item}`));
    },
    alone: async (_shared, item) => {
      done.alone.push(item);
      if (item < 0) throw new Error('This one is wrong.');
      return `alone ${item}`;
    },
  });
  return { ask, done, gates };
}

test('calls that arrive during others run together; the first waits for nobody', async () => {
  const { ask, done, gates } = newWork();
  const shared = {};
  const results = [1, 2, 3].map((item) => ask(shared, item));
  assert.deepEqual(done.together, [[1]]);
  gates[0]!.open();
  assert.equal(await results[0], 'together 1');
  assert.deepEqual(done.together, [[1], [2, 3]]);
  gates[1]!.open();
  assert.deepEqual(await Promise.all(results), ['together 1', 'together 2', 'together 3']);
  const later = ask(shared, 4);
  assert.deepEqual(done.together.at(-1), [4]);
  gates[2]!.open();
  await later;
  assert.deepEqual(done.alone, []);
});

test('after a rest what came meanwhile goes together, as many as may', async () => {
  const together: number[][] = [];
  const ask = batchCalls<object, number, number>({
    together: async (_shared, items) => {
      together.push(items);
      return items;
    },
    alone: async (_shared, item) => item,
    items_max: 2,
    rest_ms: 1,
  });
  const shared = {};
  assert.equal(await ask(shared, 1), 1);
  const results = [2, 3, 4].map((item) => ask(shared, item));
  assert.deepEqual(together, [[1]]);
  assert.deepEqual(await Promise.all(results), [2, 3, 4]);
  assert.deepEqual(together, [[1], [2, 3], [4]]);
});

test('calls without anything in common are not batched', () => {
  const { ask, done } = newWork();
  void ask({}, 1);
  void ask({}, 2);
  assert.deepEqual(done.together, [[1], [2]]);
});

test('the last call runs alone, and one that waits alone delays nobody', async () => {
  const { ask, done, gates } = newWork((item) => item === 2);
  const shared = {};
  const results = [1, 2, 3].map((item) => ask(shared, item));
  gates[0]!.open();
  await results[0];
  gates[1]!.open();
  assert.deepEqual(await Promise.all(results), ['together 1', 'alone 2', 'together 3']);
  assert.deepEqual(done.alone, [2]);
});

test('when they fail together each is done alone, and only the one at fault fails', async () => {
  const { ask, gates } = newWork();
  const shared = {};
  const results = [1, 2, -3].map((item) => ask(shared, item));
  gates[0]!.fail();
  assert.equal(await results[0], 'alone 1');
  gates[1]!.fail();
  const ends = await Promise.allSettled(results);
  assert.deepEqual(
    ends.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected'],
  );
});

test('no more than a hundred go together', async () => {
  const { ask, done, gates } = newWork();
  const shared = {};
  const results = Array.from({ length: 150 }, (_, item) => ask(shared, item));
  gates[0]!.open();
  await results[0];
  gates[1]!.open();
  await results[1];
  gates[2]!.open();
  await Promise.all(results);
  assert.deepEqual(
    done.together.map((items) => items.length),
    [1, 100, 49],
  );
});
