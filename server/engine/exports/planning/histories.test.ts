import { test } from 'node:test';
import { inDepth } from '../../../../test/depth.ts';
import { openHarness } from '../../../../test/harness.ts';
import { checkHistories } from '../../../../test/histories/check.ts';
import { aroundTests } from '../../../../test/around_tests.ts';

const harness = aroundTests(() => openHarness({ clickhouse: false }));

test(
  'whatever backfills, pauses, retries, failures, crashes, late events and revisions do: what ' +
    'was delivered is the source (1,000 histories: npm run histories)',
  async (context) => {
    const runs = await checkHistories(harness, inDepth(4, 20));
    context.diagnostic(`runs: ${JSON.stringify(runs)}`);
  },
);
