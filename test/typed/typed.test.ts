import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inDepth } from '../depth.ts';
import { playConflicts } from './campaign.ts';

test('columns and rest together are the properties of every event, in every place', async () => {
  const conflicts = inDepth(1_500, 10_000);
  const compared = await playConflicts({ seed: 2026, conflicts, say: () => undefined });
  assert.ok(compared > 10 * conflicts);
});
