import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inDepth, inTurn } from '../depth.ts';
import { makeConflicts, playTyped } from './campaign.ts';

for (const model of inTurn(['events', 'groups'] as const, 2))
  test(`columns and rest together are the properties of ${model}, in every place`, async () => {
    const sent = makeConflicts(2026, inDepth(1_500, 10_000), model);
    const compared = await playTyped(sent, { where: 'seed 2026', say: () => undefined });
    assert.ok(compared > 10 * sent.documents.length);
  });
