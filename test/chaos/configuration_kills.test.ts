import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { only_deep } from '../depth.ts';
import { runConfigurationKills } from './configuration_kills.ts';

// The short form of `npm run configuration_kills`.
const title = 'a kill during an apply leaves all of the plan or nothing';
test(title, { skip: only_deep }, async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-kills-'));
  try {
    const outcome = await runConfigurationKills({
      folder,
      kills: 4,
      seed: 5,
      say: (line) => context.diagnostic(line),
    });
    assert.deepEqual(outcome.faults, []);
    assert.equal(outcome.all + outcome.nothing, 4);
    assert.ok(Object.values(outcome.kills).reduce((sum, count) => sum + count, 0) > 0);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
