import assert from 'node:assert/strict';
import { test } from 'node:test';
import { health_codes } from './state.ts';
import { stateSentence } from './state_sentence.ts';
import type { StateFacts } from './state_sentence.ts';

const [since, until, next] = [
  '2026-01-01T22:20:00Z',
  '2026-01-01T22:15:00Z',
  '2026-01-01T22:29:23Z',
];
const well: StateFacts = {
  code: 'up_to_date',
  since,
  intervals: 0,
  rows_waiting: 0,
  attempt: null,
  next_try_at: null,
  cause: null,
  changed_at: null,
  is_trying: false,
  failed_interval: null,
  missing_since_change: null,
  is_backfilled: false,
  backfill_error: null,
  records_rejected: null,
  records_by_backfills: null,
  delivered_until: until,
  open_runs: 0,
  next_due_at: next,
  pause_detail: null,
};
const cause = 'The server does not answer.';
const outage = { intervals: 6, rows_waiting: 2483, cause, next_try_at: next };
const failed_interval = {
  run_id: 'a',
  data_interval_start: since,
  data_interval_end: next,
  finished_at: next,
  latest_error: 'Refused',
  retry_run_id: null,
};
const lost = `events ingested from ${since} to ${next} are missing`;
const missing = `${lost}, because their run failed: Refused.`;
const delivered = `The newest delivered interval ended at ${until}.`;

const cases: [facts: Partial<StateFacts>, sentence: string][] = [
  [{ since: null }, `Up to date: the newest delivered interval ended at ${until}.`],
  [
    { code: 'failing', ...outage, attempt: 3 },
    `Failing since ${since}: 6 intervals, 2,483 rows waiting. ${cause} Next try at ${next}.`,
  ],
  // Nothing tries again what was given up.
  [
    { code: 'failing', ...outage },
    `Failing since ${since}: 6 intervals, 2,483 rows waiting. ${cause} Retry them after you ` +
      `remove the cause. The next interval runs at ${next}.`,
  ],
  // Its missing intervals are counted already; what else is missing is not.
  [
    {
      code: 'failing',
      ...outage,
      attempt: 3,
      failed_interval,
      records_rejected: 1,
      rows_waiting: null,
    },
    `Failing since ${since}: 6 intervals waiting. ${cause} Next try at ${next}. The destination ` +
      'refused 1 row of the newest run. They are set aside beside the table.',
  ],
  [
    { code: 'failing', since: null, cause: 'No mark', changed_at: until, is_trying: true },
    `Failing. No mark. The settings were changed at ${until} and have not been tried yet. ` +
      'Sluice is trying again now.',
  ],
  [
    { code: 'retrying', ...outage, attempt: 7, intervals: 1, rows_waiting: 675 },
    `Retrying since ${since}: attempt 7 of 15 failed: ${cause} Next try at ${next}. 1 interval, ` +
      '675 rows waiting.',
  ],
  [
    { code: 'late', intervals: 3, rows_waiting: null },
    `Late since ${since}: 3 intervals waiting. ${delivered}`,
  ],
  [
    { code: 'partly_delivered', failed_interval },
    `Partly delivered since ${since}: ${missing} Retry it.`,
  ],
  [
    { code: 'partly_delivered', failed_interval: { ...failed_interval, retry_run_id: 'b' } },
    `Partly delivered since ${since}: ${missing} A retry is in progress.`,
  ],
  [
    {
      code: 'partly_delivered',
      missing_since_change: { since, rows: 15_175, from: null, until: next },
      backfill_error: cause,
    },
    `Partly delivered since ${since}: the 15,175 rows that the export delivered before it ` +
      `started again have not been delivered since (ingested to ${next}). Start a backfill by ` +
      'insertion time (`inserted_at`) to deliver them, unless the destination still has them. A ' +
      `backfill or a run on request failed, and nothing has delivered its rows since: ${cause}`,
  ],
  [
    { code: 'unusual_volume' },
    `Unusual volume since ${since}: the newest run delivered an unusual number of rows. ` +
      delivered,
  ],
  [{ code: 'running', open_runs: 2 }, `Running since ${since}: 2 runs in progress. ${delivered}`],
  [
    { code: 'waiting', records_by_backfills: 4806 },
    `Waiting for the schedule: the first run is planned for ${next}. ` +
      'Runs on request have delivered 4,806 rows ahead of it.',
  ],
  [{ code: 'waiting', next_due_at: null, records_by_backfills: 0 }, 'Waiting for the schedule.'],
  [
    { code: 'paused', attempt: 2, cause },
    `Paused since ${since}. ${delivered} A run is retried, after attempt 2 failed: ${cause}`,
  ],
  [
    {
      code: 'paused',
      attempt: 14,
      cause,
      failed_interval: { ...failed_interval, latest_error: cause },
    },
    `Paused since ${since}. ${delivered} A run is retried, after attempt 14 failed: ${cause} ` +
      `Events ingested from ${failed_interval.data_interval_start} to ` +
      `${failed_interval.data_interval_end} are missing, because their run failed with the same ` +
      'error. Retry it.',
  ],
  [
    { code: 'paused_automatically', pause_detail: 'Ten runs failed.', failed_interval },
    `Paused by the server: Ten runs failed. E${missing.slice(1)} Retry it.`,
  ],
  [
    { code: 'ended', delivered_until: null },
    'Ended: the schedule is over (`end_at`). The schedule has not delivered anything yet.',
  ],
];

for (const [facts, sentence] of cases)
  test(sentence.slice(0, 60), () => assert.equal(stateSentence({ ...well, ...facts }), sentence));

test('every state has a case', () => {
  const told = new Set(cases.map(([{ code }]) => code ?? 'up_to_date'));
  assert.deepEqual([...told].toSorted(), [...health_codes].toSorted());
});
