import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handOver } from './hand_over.ts';

const deferred = () => Promise.withResolvers<void>();

test('the next item is created while one is taken, and taken when that is over', async () => {
  const said: string[] = [];
  const taken = [deferred(), deferred()];
  const created = [deferred(), deferred()];
  async function* items() {
    for (const number of [0, 1]) {
      said.push(`created ${number}`);
      created[number]!.resolve();
      yield number;
    }
  }
  const done = handOver(items(), async (number) => {
    said.push(`takes ${number}`);
    await taken[number]!.promise;
    said.push(`took ${number}`);
  });
  await created[1]!.promise;
  taken[0]!.resolve();
  taken[1]!.resolve();
  await done;
  assert.deepEqual(said, ['created 0', 'takes 0', 'created 1', 'took 0', 'takes 1', 'took 1']);
});

test('a fault of taking or of creating is thrown once nothing is being taken', async () => {
  const broken = new Error('broken');
  async function* two() {
    yield 1;
    yield 2;
  }
  const seen: number[] = [];
  const fail = async (number: number) => {
    seen.push(number);
    throw broken;
  };
  await assert.rejects(handOver(two(), fail), broken);
  assert.deepEqual(seen, [1]);

  const taken = deferred();
  let isOver = false;
  async function* breaks() {
    yield 1;
    taken.resolve();
    throw broken;
  }
  await assert.rejects(
    handOver(breaks(), async () => {
      await taken.promise;
      await Promise.resolve();
      isOver = true;
    }),
    broken,
  );
  assert.ok(isOver);
});
