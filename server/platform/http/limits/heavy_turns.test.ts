import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FastifyRequest } from 'fastify';
import { inTurn } from './heavy_turns.ts';

const of = (organization_id: string) => ({ access: { organization_id } }) as FastifyRequest;

/** Work that is under way until it is ended, and how much of it is at most at a time. */
function openWork() {
  const ends: (() => void)[] = [];
  const seen = { running: 0, most: 0 };
  const work = async () => {
    seen.running += 1;
    seen.most = Math.max(seen.most, seen.running);
    await new Promise<void>((resolve) => ends.push(resolve));
    seen.running -= 1;
    return 'done';
  };
  const endAll = async (count: number) => {
    for (let ended = 0; ended < count;) {
      await new Promise(setImmediate);
      for (const end of ends.splice(0)) {
        end();
        ended += 1;
      }
    }
  };
  return { work, seen, endAll };
}

test('requests of one organization take turns, and too many at once are refused', async () => {
  const { work, seen, endAll } = openWork();
  const all = Array.from({ length: 10 }, () => inTurn(of('one'), work));
  await assert.rejects(inTurn(of('one'), work), { status: 429 });
  await endAll(10);
  assert.deepEqual(
    await Promise.all(all),
    Array.from({ length: 10 }, () => 'done'),
  );
  assert.equal(seen.most, 1);
});

test('all organizations together have four places, and a fault gives its place back', async () => {
  const { work, seen, endAll } = openWork();
  for (let number = 0; number < 8; number += 1)
    await assert.rejects(
      inTurn(of('faulty'), () => Promise.reject(new Error('of the work'))),
      /of the work/,
    );
  const all = Array.from({ length: 9 }, (_, number) => inTurn(of(String(number)), work));
  await endAll(9);
  await Promise.all(all);
  assert.equal(seen.most, 4);
});
