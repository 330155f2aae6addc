import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BatchExport } from '../../server/api/batch_exports/schema.ts';
import { isLively } from './state.ts';

test('an export may get further while a run is open, and while it is new', () => {
  const row = (finished_at: string | null) => ({
    created_at: '2026-01-01T00:00:00Z',
    latest_runs: [{ finished_at }] as BatchExport['latest_runs'],
  });
  const lively = (finished_at: string | null, now: string) =>
    isLively(row(finished_at), Date.parse(now));
  assert.equal(lively('2026-01-01T00:00:01Z', '2026-01-01T00:01:59Z'), true);
  assert.equal(lively('2026-01-01T00:00:01Z', '2026-01-01T00:02:01Z'), false);
  assert.equal(lively(null, '2026-01-01T00:02:01Z'), true);
  assert.equal(lively('2026-01-01T00:00:01Z', '2025-12-31T23:57:00Z'), false);
});
