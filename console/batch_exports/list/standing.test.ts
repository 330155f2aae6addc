import assert from 'node:assert/strict';
import { test } from 'node:test';
import { standingOf } from './standing.ts';

const [earlier, later] = ['2026-01-01T01:00:00Z', '2026-01-01T02:00:00Z'];
const retrying = {
  run_id: '',
  data_interval_start: '',
  data_interval_end: '',
  since: earlier,
  latest_error: 'It answered 500.',
};

const failed_interval = {
  run_id: '',
  data_interval_start: earlier,
  data_interval_end: later,
  finished_at: later,
  latest_error: 'Refused.',
  retry_run_id: null,
};

test('an export shows its health, unless an interval is missing', () => {
  type Told = Parameters<typeof standingOf>[0];
  const told = (code: Told['health']['code'], more: Partial<Told> = {}, since?: string) => {
    const health = { code, detail: 'Failing: Refused.', since: since ?? null };
    const none = {
      records_by_backfills: null,
      latest_run: null,
      retrying: null,
      failed_interval: null,
    };
    const { word, tone, at, why } = standingOf({
      health,
      delivered_until: later,
      ...none,
      ...more,
    });
    return [tone, `${word}${at === undefined ? '' : at.before + at.instant}`, why];
  };
  assert.deepEqual(told('up_to_date'), ['good', `Up to date, until ${later}`, undefined]);
  const tried = ['warn', `Retrying, since ${earlier}`, 'It answered 500.'];
  assert.deepEqual(told('up_to_date', { retrying }), tried);
  assert.deepEqual(told('waiting', { retrying, delivered_until: null }), tried);
  const why = 'An interval failed and was not delivered since: Refused.';
  const incomplete = ['bad', `Incomplete, since ${earlier}`, 'Refused.'];
  assert.deepEqual(told('incomplete', { failed_interval }), incomplete);
  assert.deepEqual(told('incomplete', { failed_interval, retrying }), incomplete);
  const retried = { failed_interval: { ...failed_interval, retry_run_id: 'a' } };
  assert.equal(told('incomplete', retried)[2], 'A retry is in progress, after: Refused.');
  assert.deepEqual(told('late', { failed_interval }), ['bad', `Late, until ${later}`, why]);
  assert.deepEqual(told('late', { retrying }), [
    'bad',
    `Late, until ${later}`,
    'A run is tried again: It answered 500.',
  ]);
  assert.deepEqual(told('failing', { retrying }, earlier), [
    'bad',
    `Failing, ${earlier}`,
    'Refused.',
  ]);
  assert.deepEqual(told('waiting', { delivered_until: null, records_by_backfills: 2 }), [
    'good',
    '2 rows by backfills, waiting for its first run',
    undefined,
  ]);
  // The failed run is not of the schedule; otherwise the health would say so.
  const latest_run = { id: '', status: 'Failed', created_at: later, finished_at: later } as const;
  const because = 'The latest run of a backfill failed. Its runs say why.';
  assert.deepEqual(told('waiting', { delivered_until: null, latest_run }), [
    'bad',
    'A backfill failed; waiting for its first run',
    because,
  ]);
  assert.deepEqual(told('up_to_date', { latest_run }), [
    'bad',
    `A backfill failed; up to date, until ${later}`,
    because,
  ]);
  assert.equal(told('failing', { latest_run }, earlier)[1], `Failing, ${earlier}`);
});
