import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BatchExportRun } from '../../../server/api/batch_exports/runs/schema.ts';
import { attemptsOf, axisOf, logSpanOf } from './attempts.ts';
import { outcomeOf } from './steps.ts';

/** As the API writes instants: with microseconds. */
const at = (second: number) =>
  new Date(Date.UTC(2026, 0, 1, 22, 20, second)).toISOString().replace('Z', '000Z');
const ms = (second: number) => Date.parse(at(second));
const steps = [
  { attempt: 1, began_at: at(0), waited_ms: 1_000 },
  { attempt: 2, began_at: at(10), waited_ms: 7_000 },
].map((one) => ({ ...one, counted_ms: 5, read_ms: null, sent_ms: null, committed_ms: null }));
const run = {
  status: 'Running',
  steps,
  latest_error: 'The server does not answer.',
  records_total_count: 675,
  records_completed: 0,
  next_try_at: null,
  finished_at: null,
  last_updated_at: at(13),
} as unknown as BatchExportRun;

test('attempts lie on one axis with the waiting, and a failed one is never delivered', () => {
  const waiting = { ...run, next_try_at: at(40) };
  const attempts = attemptsOf(waiting, ms(20));
  assert.deepEqual(attempts, [
    { attempt: 1, waited_from: ms(-1), from: ms(0), to: ms(3), outcome: 'failed' },
    { attempt: 2, waited_from: ms(3), from: ms(10), to: ms(13), outcome: 'failed' },
  ]);
  assert.deepEqual(axisOf(attempts, waiting), { from: ms(-1), to: ms(40) });
  const last = (more: object) => attemptsOf({ ...run, ...more }, ms(20)).at(-1)!;
  assert.deepEqual([last({}).outcome, last({}).to], ['working', ms(20)]);
  const over = { finished_at: at(15) };
  assert.equal(last({ ...over, status: 'Completed' }).outcome, 'delivered');
  assert.equal(last({ ...over, status: 'Cancelled' }).outcome, 'cancelled');
  assert.equal(last({ ...over, status: 'FailedRetryable' }).outcome, 'failed');
});

test('a run that waits says which attempt failed, never that a worker delivers it', () => {
  const waiting = outcomeOf({ ...run, next_try_at: at(40) });
  assert.equal(waiting, 'Attempt 2 failed: The server does not answer.');
  assert.match(outcomeOf(run), /^A worker delivers: 0 rows of 675/);
});

test('the log of an attempt ends where the next one begins', () => {
  assert.deepEqual(logSpanOf(run, 1), { before: at(10) });
  assert.deepEqual(logSpanOf(run, 2), { after: '2026-01-01T22:20:09.999999Z' });
  // The line of the failure before may be of the same millisecond.
  const close = { steps: [steps[0]!, { ...steps[1]!, began_at: '2026-01-01T22:20:10.000457Z' }] };
  assert.deepEqual(logSpanOf(close, 2), { after: '2026-01-01T22:20:10.000456Z' });
  assert.deepEqual(logSpanOf(run, undefined), {});
  assert.deepEqual(logSpanOf(run, 9), {});
});
