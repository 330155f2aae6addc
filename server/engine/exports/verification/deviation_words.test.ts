import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deviationSentence, noticeSentence } from './deviation_words.ts';
import type { ShownDeviation } from './deviation_words.ts';

const place = {
  destination_type: 'Postgres',
  destination_config: { schema: 'public', table_name: 'events' },
  timezone: 'UTC',
};
const of = (one: Partial<ShownDeviation>): ShownDeviation => ({
  kind: 'missing',
  differences: 2,
  start: '2026-11-14T10:00:00.000000Z',
  end: '2026-11-14T11:00:00.000000Z',
  ...one,
});

test('a finding says how many rows, of which day, at which table', () => {
  const cases: [ShownDeviation, string][] = [
    [
      of({}),
      '2 rows of 14 November 2026 are missing from events: somebody else deleted them at the ' +
        'destination.',
    ],
    [
      of({ differences: 1 }),
      '1 row of 14 November 2026 is missing from events: somebody else deleted it at the ' +
        'destination.',
    ],
    [
      of({ kind: 'doubled' }),
      '2 rows of 14 November 2026 are more than once in events: somebody else copied them there, ' +
        'or Sluice delivered them again while they were still there.',
    ],
    [
      of({ kind: 'foreign', start: null, end: null }),
      '2 rows in events are in no delivery: somebody else added them at the destination.',
    ],
  ];
  for (const [one, sentence] of cases) assert.equal(deviationSentence(place, one), sentence);
});

test('the day is that of the export, and a week has its first and last day', () => {
  const berlin = { ...place, timezone: 'Europe/Berlin' };
  const day = of({ start: '2026-11-13T23:00:00.000000Z', end: '2026-11-14T23:00:00.000000Z' });
  assert.match(deviationSentence(berlin, day), /^2 rows of 14 November 2026 are/);
  const week = of({ start: '2026-11-01T23:00:00.000000Z', end: '2026-11-08T23:00:00.000000Z' });
  assert.match(deviationSentence(berlin, week), /^2 rows of 2\s–\s8 November 2026 are/);
});

test('a notice lists three findings and counts the rest', () => {
  const sentence = noticeSentence(place, [of({}), of({}), of({}), of({}), of({})]);
  assert.equal(sentence.match(/are missing from events/g)?.length, 3);
  assert.match(sentence, / And 2 more findings\.$/);
});
