import assert from 'node:assert/strict';
import { test } from 'node:test';
import { v7 as uuidv7 } from 'uuid';
import { openHarness } from '../../../test/harness.ts';
import { appendActivity, server_actor } from './chain.ts';
import { verifyActivity } from './verify.ts';
import { aroundTests } from '../../../test/around_tests.ts';

const harness = aroundTests(() => openHarness({ clickhouse: false }));

test('writers that race make a chain without gaps, in the order of their commits', async () => {
  const chain = { organization_id: uuidv7() };
  const outcomes = await Promise.allSettled(
    Array.from({ length: 20 }, (_, writer) =>
      harness.deps.db.transaction(async (tx) => {
        const activity = {
          activity: 'created',
          scope: 'project',
          item_id: String(writer),
          item_name: null,
          changes: [],
        };
        await appendActivity(tx, harness.deps.secrets, chain, server_actor, activity);
        if (writer % 5 === 0) throw new Error('rolled back');
      }),
    ),
  );
  assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 16);
  const { rows } = await harness.deps.db.text(
    'SELECT number FROM activity WHERE chain_id = $1 ORDER BY created_at',
    [chain.organization_id],
  );
  assert.deepEqual(
    rows.map(({ number }) => number),
    Array.from({ length: 16 }, (_, index) => index + 1),
  );
  assert.deepEqual(await verifyActivity(harness.deps.db, harness.deps.secrets), {
    entries: 16,
    chains: 1,
    entries_changed: 0,
    faults_found: 0,
    faults: [],
  });
});
