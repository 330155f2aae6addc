import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, mock, test } from 'node:test';
import type pg from 'pg';
import { openGrowth } from './growth.ts';

type Client = { release(): void };

/** Lets time pass. */
async function pass(ms: number): Promise<void> {
  mock.timers.tick(ms);
  await turn();
}

/** A pool as `pg` has it, whose connections open when the test says so. */
function openPool() {
  const events = new EventEmitter();
  const opening: { opened(): void; failed(): void }[] = [];
  const idle: Client[] = [];
  const pool = Object.assign(events, {
    totalCount: 0,
    connect: (): Promise<Client> => {
      const kept = idle.pop();
      if (kept !== undefined) return Promise.resolve(kept);
      pool.totalCount += 1;
      const client: Client = {
        release: () => {
          events.emit('release', undefined, client);
          idle.push(client);
        },
      };
      return new Promise((resolve, reject) => {
        opening.push({
          opened: () => resolve(client),
          failed: () => {
            pool.totalCount -= 1;
            reject(new Error('away'));
          },
        });
      });
    },
  });
  return { take: openGrowth(pool as unknown as pg.Pool, 3), opening };
}

beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
afterEach(() => mock.timers.reset());

test('opens one connection at a time, and serves who waits with what is given back', async () => {
  const { take, opening } = openPool();
  const first = take();
  const second = take();
  const third = take();
  await pass(20);
  assert.equal(opening.length, 1);
  opening[0]!.opened();
  const taken = await first;
  await turn();
  assert.equal(opening.length, 2, 'the second, who has waited, opens one once the first is open');
  taken.release();
  assert.equal(await third, taken, 'the third waits for none that is being opened');
  opening[1]!.opened();
  assert.notEqual(await second, taken);
});

test('a connection is opened if none is returned within a moment', async () => {
  const { take, opening } = openPool();
  const first = take();
  opening[0]!.opened();
  const taken = await first;
  const second = take();
  await pass(19);
  assert.equal(opening.length, 1);
  taken.release();
  assert.equal(await second, taken);
  const third = take();
  await pass(20);
  assert.equal(opening.length, 2);
  opening[1]!.opened();
  assert.notEqual(await third, taken);
});

test('a connection that cannot be opened lets the next one try', async () => {
  const { take, opening } = openPool();
  const first = take();
  const second = take();
  opening[0]!.failed();
  await assert.rejects(first, /away/);
  await turn();
  opening[1]!.opened();
  await second;
});

test('a connection that hangs is waited for only a moment', async () => {
  const { take, opening } = openPool();
  void take();
  const second = take();
  const third = take();
  await pass(99);
  assert.equal(opening.length, 1);
  await pass(1);
  opening[1]!.opened();
  opening[2]!.opened();
  await Promise.all([second, third]);
});

test('the pool decides once the limit of connections is reached', async () => {
  const { take, opening } = openPool();
  for (let count = 0; count < 3; count += 1) {
    const taking = take();
    await pass(20);
    opening[count]!.opened();
    await taking;
  }
  void take();
  assert.equal(opening.length, 4);
});
