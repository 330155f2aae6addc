import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inDepth } from '../depth.ts';
import { runSessions } from './campaign.ts';

test('sessions are what all their events say, and not so by their end', async (context) => {
  const checked = await runSessions({
    sessions: inDepth(240, 10_000),
    sessions_per_project: inDepth(120, 500),
    seed: 52,
    say: (line) => context.diagnostic(line),
  });
  assert.ok(
    checked.wrong_by_end > 0 && checked.erased > 0 && checked.versions > checked.sessions,
    JSON.stringify(checked),
  );
});
