import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { only_deep } from '../depth.ts';
import { isFaultless, runCampaign } from './campaign.ts';

// The short form of `npm run chaos`.
const kills = 4;

test(
  'random kills under live work lose, double, change or leave nothing',
  { skip: only_deep },
  async (context) => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-chaos-'));
    try {
      const outcome = await runCampaign({
        folder,
        events: 10_000,
        kills,
        seed: 3,
        say: (line) => context.diagnostic(line),
      });
      assert.equal(
        Object.values(outcome.kills).reduce((sum, count) => sum + count, 0),
        kills,
      );
      assert.ok(outcome.sent > 0 && outcome.source === outcome.sent + 10_000);
      for (const { rows, runs } of Object.values(outcome.destinations))
        assert.ok(rows >= outcome.source && (runs['Completed'] ?? 0) > 0);
      assert.ok(isFaultless(outcome), JSON.stringify(outcome));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
