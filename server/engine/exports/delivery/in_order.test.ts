import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { test } from 'node:test';
import { inOrder } from './in_order.ts';

type Begun = { written: Promise<void>; end: PromiseWithResolvers<void> };

/** Works on the items, and tells in order what happened; an item ends when its promise does. */
function working(items: readonly number[], abreast_max: number) {
  const told: string[] = [];
  const begun = new Map<number, Begun>();
  const done = inOrder<number, Begun>({
    items,
    abreast_max,
    begin: (item) => {
      told.push(`begin ${item}`);
      const end = Promise.withResolvers<void>();
      const one = { end, written: end.promise };
      begun.set(item, one);
      return one;
    },
    wait: async (item, { written }) => {
      await written;
      told.push(`keep ${item}`);
    },
    end: async (rest) => {
      for (const one of rest) one.end.reject(new Error('stopped'));
      await Promise.allSettled(rest.map(({ written }) => written));
      told.push(`ended ${rest.length}`);
    },
  });
  done.catch(() => undefined);
  const next = () => new Promise<void>((resolve) => void setImmediate(resolve));
  return {
    told,
    done,
    end: (item: number) => (begun.get(item)!.end.resolve(), next()),
    fail: (item: number) => (begun.get(item)!.end.reject(new Error('refused')), next()),
  };
}

test('items are kept in order, whichever ends first', async () => {
  const { told, done, end } = working([1, 2, 3], 2);
  assert.deepEqual(told, ['begin 1', 'begin 2']);
  await end(2);
  assert.deepEqual(told, ['begin 1', 'begin 2']);
  await end(1);
  assert.deepEqual(told.slice(2), ['keep 1', 'begin 3', 'keep 2']);
  await end(3);
  await done;
  assert.equal(told.at(-1), 'keep 3');
});

test('one at a time if no more are allowed', async () => {
  const { told, done, end } = working([1, 2], 1);
  await end(1);
  await end(2);
  await done;
  assert.deepEqual(told, ['begin 1', 'keep 1', 'begin 2', 'keep 2']);
});

test('a failed item stops the next one before its error is told', async () => {
  const { told, done, fail } = working([1, 2, 3], 2);
  await fail(1);
  await assert.rejects(done, /refused/);
  assert.deepEqual(told, ['begin 1', 'begin 2', 'ended 1']);
});

test('nothing begins once an item has failed ahead of its turn', async () => {
  const { told, done, end, fail } = working([1, 2, 3], 2);
  await fail(2);
  await end(1);
  await assert.rejects(done, /refused/);
  assert.deepEqual(told, ['begin 1', 'begin 2', 'keep 1']);
});

test('a busy process begins nothing ahead', async () => {
  const others = Array.from({ length: Math.max(2, availableParallelism()) }, () => working([1], 2));
  const { told, done, end } = working([1, 2], 2);
  assert.deepEqual(told, ['begin 1']);
  for (const other of others) await other.end(1);
  await Promise.all(others.map((other) => other.done));
  await end(1);
  await end(2);
  await done;
  assert.deepEqual(told, ['begin 1', 'keep 1', 'begin 2', 'keep 2']);
});
