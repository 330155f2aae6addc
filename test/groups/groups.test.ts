import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inDepth } from '../depth.ts';
import { runProjects } from '../made_of_events/campaign.ts';
import { checkProject } from './check.ts';

test('groups are what all their calls say, whenever they arrive', async (context) => {
  const campaign = {
    rows: inDepth(240, 10_000),
    rows_per_project: inDepth(60, 500),
    seed: 52,
    say: (line: string) => context.diagnostic(line),
  };
  const checked = await runProjects(campaign, checkProject);
  for (const [name, count] of Object.entries(checked)) assert.ok(count > 0, name);
  assert.ok(checked.versions > checked.groups, JSON.stringify(checked));
});
