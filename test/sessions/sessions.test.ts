import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inDepth } from '../depth.ts';
import { runProjects } from '../made_of_events/campaign.ts';
import { checkProject } from './check.ts';

test('sessions are what all their events say, and not so by their end', async (context) => {
  const campaign = {
    rows: inDepth(240, 10_000),
    rows_per_project: inDepth(120, 500),
    seed: 52,
    say: (line: string) => context.diagnostic(line),
  };
  const checked = await runProjects(campaign, checkProject);
  assert.ok(
    checked.wrong_by_end > 0 && checked.erased > 0 && checked.versions > checked.sessions,
    JSON.stringify(checked),
  );
});
