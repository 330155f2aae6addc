import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { aroundTests } from '../around_tests.ts';
import { inDepth } from '../depth.ts';
import { check, historyOf, openSeeds } from './check.ts';
import { play } from './play.ts';
import { failed_seeds, first_seed, same_seed } from './seeds.ts';
import { openSimulator } from './simulator.ts';

const simulator = aroundTests(openSimulator);
const seconds_max = inDepth(25, 900);

test('one seed is one history: it leaves the same trace again', async () => {
  const one = historyOf(same_seed);
  const first = await play(simulator, one);
  const second = await play(simulator, one);
  assert.deepEqual(second.trace, first.trace);
});

test(
  'whatever kills, lost answers, takeovers, backfills, cancels and late events do: everything ' +
    'ends, and what the destination shows is the source (an hour of it: npm run simulate)',
  async (context) => {
    const began = Date.now();
    const seeds = openSeeds(first_seed, new Set());
    const others = Array.from({ length: inDepth(59, 600) }, () => seeds.next());
    const random = randomInt(1, 2 ** 31);
    context.diagnostic(`random seed ${random}`);
    let histories = 0;
    for (const seed of [...failed_seeds.map((one) => one.seed), random, ...others]) {
      if (Date.now() - began > seconds_max * 1000) break;
      await check(simulator, seed);
      histories += 1;
    }
    context.diagnostic(`${histories} histories`);
    assert.ok(histories > failed_seeds.length, 'not one history was played');
  },
);
