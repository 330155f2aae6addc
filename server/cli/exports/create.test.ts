import assert from 'node:assert/strict';
import { test } from 'node:test';
import { olderText } from './create.ts';

test('a start in the past names the command for older rows, and a later one nothing', () => {
  const first = '2026-11-30T17:00:00.000000Z';
  const created = {
    id: '0190',
    created_at: '2026-11-30T17:35:00.000000Z',
    next_run: { data_interval_start: first, data_interval_end: '2026-11-30T18:00:00.000000Z' },
    mode: null,
  };
  assert.equal(
    olderText(created, '2026-11-01T00:00:00.000Z'),
    `The start is in the past: the schedule delivers rows that are ingested after ${first}. ` +
      'For older rows, start a backfill: sluice exports backfill 0190 --from ' +
      '2026-11-01T00:00:00.000Z --to now\n',
  );
  assert.equal(olderText({ ...created, mode: 'replace' }, '2026-11-01T00:00:00.000Z'), '');
  // The first run covers the interval in which the export was created.
  assert.equal(olderText(created, '2026-11-30T17:10:00.000Z'), '');
  assert.equal(olderText({ ...created, next_run: null }, '2026-12-01T00:00:00.000Z'), '');
});
