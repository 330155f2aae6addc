import fc from 'fast-check';
import { test } from 'node:test';
import { aroundTests } from '../../../../test/around_tests.ts';
import { inDepth } from '../../../../test/depth.ts';
import { openHarness } from '../../../../test/harness.ts';
import { checkHistories } from '../../../../test/histories/check.ts';
import type { Step } from '../../../../test/histories/steps.ts';
import type { Fate } from '../../../../test/histories/world.ts';

const harness = aroundTests(() => openHarness({ clickhouse: false }));

/** Ends that leave a selection open, and few others. */
const fate = fc.constantFrom<Fate>(
  'completes',
  'fails',
  'fails in the commit',
  'fails after the commit',
  'fails after the commit',
);

/** Schedule and backfills meet over the same rows again and again. */
const doubtful: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant('insert' as const),
    lateness: fc.integer({ min: 0, max: 9_000 }),
    count: fc.integer({ min: 1, max: 3 }),
  }),
  fc.record({ do: fc.constant('schedule' as const), looks_ahead: fc.boolean() }),
  fc.record({
    do: fc.constant('backfill' as const),
    back: fc.integer({ min: 3_600, max: 10_800 }),
    length: fc.integer({ min: 3_600, max: 10_800 }),
    by: fc.constantFrom('timestamp' as const, 'inserted_at' as const),
    mode: fc.constant('missing' as const),
  }),
  fc.record({ do: fc.constant('advance' as const) }),
  fc.record({
    do: fc.constant('work' as const),
    fates: fc.array(fate, { minLength: 1, maxLength: 3 }),
  }),
);

test(
  'planner and ledger leave out, give back and make up for what failed or ended in doubt: every ' +
    'row is delivered once',
  async (context) => {
    const runs = await checkHistories(harness, inDepth(12, 300), { each: doubtful });
    context.diagnostic(`runs: ${JSON.stringify(runs)}`);
  },
);
