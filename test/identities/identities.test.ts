import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inDepth } from '../depth.ts';
import { runIdentities } from './campaign.ts';

test('random merges and kills leave the persons of the model', async (context) => {
  const checked = await runIdentities({
    sequences: inDepth(30, 1_000),
    sequences_per_project: inDepth(30, 100),
    kills_per_project: inDepth(1, 3),
    seed: 16,
    say: (line) => context.diagnostic(line),
  });
  assert.ok(
    checked.kills > 0 && checked.events > 200 && checked.watermarks >= 2,
    JSON.stringify(checked),
  );
});
