import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ListedRun } from './listed_run.ts';
import { foldRuns, kindInWords, repeatOf, retryNoteOf } from './intervals.ts';

let made = 0;
function runOf(more: Partial<ListedRun> & { hour: number }): ListedRun {
  const { hour, ...own } = more;
  made += 1;
  return {
    id: `run ${made}`,
    delivery_id: `run ${made}`,
    status: 'Completed',
    backfill: null,
    data_interval_start: `2026-01-01T0${hour}:00:00Z`,
    data_interval_end: `2026-01-01T0${hour + 1}:00:00Z`,
    created_at: `2026-01-02T00:00:${String(made).padStart(2, '0')}Z`,
    finished_at: '2026-01-02T01:00:00Z',
    records_completed: 10,
    records_rejected: 0,
    bytes_completed: 100,
    latest_error: null,
    next_try_at: null,
    repeats: null,
    retry: null,
    steps: [],
    ...own,
  } as ListedRun;
}

test('a repaired interval is one line that is delivered, without a button to retry it', () => {
  const failed = runOf({ hour: 1, status: 'FailedRetryable', retry: 'completed' });
  const retried = runOf({ hour: 1, delivery_id: failed.id, repeats: 'retry' });
  const [line, other, ...more] = foldRuns([retried, failed, runOf({ hour: 0 })]);
  assert.deepEqual(
    [line!.runs.length, line!.told.id, line!.told.retry, line!.state.word, more.length],
    [2, retried.id, null, 'Completed', 0],
  );
  assert.equal(other!.runs.length, 1);
  // Narrowed to failed runs, its retry is not in the list.
  const [alone] = foldRuns([failed]);
  assert.deepEqual([alone!.state.word, alone!.state.tone], ['Delivered since', 'good']);
  assert.equal(retryNoteOf(failed), 'A retry has delivered it.');
});

test('a delivery that an erasure wrote again counts once', () => {
  const first = runOf({ hour: 1, records_completed: 675 });
  const again = { delivery_id: first.id, records_completed: 659, repeats: 'erasure' } as const;
  const [line] = foldRuns([runOf({ hour: 1, ...again }), first]);
  assert.equal(line!.records_completed, 659);
  assert.equal(repeatOf(line!.told), 'rewritten by an erasure');
  const kind = (run: Partial<ListedRun>) =>
    kindInWords({ kind: 'scheduled', repeats: null, is_run_now: false, ...run });
  assert.equal(kind({ repeats: 'erasure' }), 'erasure');
  assert.equal(kind({ kind: 'backfill', repeats: 'retry' }), 'backfill');
  assert.equal(kind({ kind: 'backfill', is_run_now: true }), 'run now');
});

test('runs of a backfill are apart from those of the schedule, and an open run tells', () => {
  const open = runOf({ hour: 1, status: 'Running', finished_at: null, next_try_at: 'soon' });
  const lines = foldRuns([runOf({ hour: 1, backfill: 'one' }), open, runOf({ hour: 1 })]);
  assert.deepEqual(
    lines.map(({ state: { word }, runs }) => [word, runs.length]),
    [
      ['Completed', 1],
      ['Retrying', 2],
    ],
  );
});
