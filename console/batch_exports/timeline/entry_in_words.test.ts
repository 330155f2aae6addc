import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TimelineEntry } from '../../../server/api/batch_exports/timeline/schema.ts';
import { entryInWords } from './entry_in_words.ts';

const runs: NonNullable<TimelineEntry['runs']> = {
  status: 'Completed',
  kind: 'scheduled',
  count: 6,
  records_completed: 14_770,
  bytes_completed: 2_000,
  data_interval_start: '2026-11-28T21:20:00.000000Z',
  data_interval_end: '2026-11-28T21:50:00.000000Z',
  first_run: 'first',
  last_run: 'last',
  error_code: null,
  latest_error: null,
  outage: null,
};
const entry = (more: Partial<typeof runs>): TimelineEntry => ({
  id: 'last',
  at: '2026-11-28T21:50:00.000000Z',
  type: 'runs',
  runs: { ...runs, ...more },
  change: null,
  backfill: null,
  notice: null,
});

test('an outage that is over says when, how often, why, and what came after all (C-14)', () => {
  const outage = {
    began_at: '2026-11-28T21:20:30.000000Z',
    delivered_at: '2026-11-28T21:31:10.000000Z',
    failed_attempts: 8,
    cause: 'The server does not answer.',
  };
  assert.deepEqual(entryInWords(entry({ outage }), 'Europe/Berlin'), {
    title: 'Outage from 2026-11-28 22:20 to 22:31: 8 attempts failed',
    tone: 'warn',
    detail: 'The server does not answer. Delivered at 22:31: 14,770 rows in 6 runs.',
  });
  const night = { ...outage, delivered_at: '2026-11-29T00:10:00.000000Z', cause: null };
  const { title, detail } = entryInWords(entry({ outage: night, count: 1 }), 'UTC');
  assert.equal(title, 'Outage from 2026-11-28 21:20 to 2026-11-29 00:10: 8 attempts failed');
  assert.equal(detail, 'Delivered at 00:10: 14,770 rows.');
  assert.equal(entryInWords(entry({}), 'UTC').title, '6 runs: Completed');
});

test('"Run now" is not called a backfill', () => {
  const backfill = {
    id: 'one',
    has_ended: true,
    is_run_now: true,
    status: 'Completed',
    start_at: runs.data_interval_start,
    end_at: runs.data_interval_end,
    total_runs: 1,
  };
  const title = (more: Partial<typeof backfill>) =>
    entryInWords({ ...entry({}), runs: null, backfill: { ...backfill, ...more } }, 'UTC').title;
  assert.equal(title({}), 'Run now ended: Completed');
  assert.equal(title({ is_run_now: false, has_ended: false }), 'Backfill begun');
});

test('a notice has the words of the page Notices', () => {
  const notice = { id: 'one', event: 'paused_automatically', detail: 'It failed.' } as const;
  const { title } = entryInWords({ ...entry({}), runs: null, notice }, 'UTC');
  assert.equal(title, 'Notice: Paused by the server');
});
