import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ExportOverview } from '../../../server/api/batch_exports/overview/schema.ts';
import { behindWord, health_codes, standings, troubleOf } from './standing.ts';

const since = '2026-01-01T01:00:00.000000Z';
const none = {
  since,
  intervals: 0,
  rows_waiting: null,
  attempt: null,
  next_try_at: null,
  cause: null,
  changed_at: null,
  missing_since_change: null,
};
const told = (code: ExportOverview['health']['code'], detail: string) => ({
  ...none,
  code,
  detail,
});

test('each state has a word and a shape of its own', () => {
  const all = health_codes.map((code) => standings[code]);
  assert.equal(new Set(all.map(({ word }) => word)).size, all.length);
  assert.equal(new Set(all.map(({ shape }) => shape)).size, all.length);
});

test('below the name stands what the server says, without the start of the state', () => {
  for (const [code, detail, trouble] of [
    [
      'failing',
      `Failing since ${since}: 6 intervals, 2,483 rows waiting. It answered 500. Next try at ` +
        `${since}.`,
      `6 intervals, 2,483 rows waiting. It answered 500. Next try at ${since}.`,
    ],
    ['failing', `Failing since ${since}. Refused.`, 'Refused.'],
    [
      'retrying',
      `Retrying since ${since}: attempt 7 of 15 failed: Refused.`,
      'Attempt 7 of 15 failed: Refused.',
    ],
    ['partly_delivered', `Partly delivered since ${since}: rows are missing.`, 'Rows are missing.'],
    ['paused_automatically', 'Paused by the server: ten runs failed.', 'Ten runs failed.'],
    ['paused', `Paused since ${since}. The newest`, undefined],
    ['up_to_date', 'Up to date: the newest', undefined],
    ['running', `Running since ${since}: 1 run in progress.`, undefined],
  ] as const)
    assert.equal(troubleOf(told(code, detail)), trouble, code);
  assert.equal(behindWord(told('failing', `Failing since ${since}.`)), ` since ${since}.`);
  // A sentence of another version of the server is shown whole.
  assert.equal(behindWord(told('failing', 'It failed.')), ': It failed.');
});
