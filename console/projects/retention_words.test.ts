import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forecastOf, keptBy } from './retention_words.ts';

const none = { rows: 0, oldest: null, newest: null };
const found = (rows: number) => ({
  rows,
  oldest: '2026-01-01T00:00:00Z',
  newest: '2026-01-02T00:00:00Z',
});
const day = (at: string) => at.slice(0, 10);

test('a retention setting names the number and days of the rows it removes', () => {
  const days = {
    retention: 'days' as const,
    retention_days: 7,
    removes_before: '2026-02-01T00:00:00Z',
  };
  for (const [answer, told] of [
    [
      { ...days, retention: 'forever' as const, removes_before: null, events: none, persons: none },
      'Nothing is removed.',
    ],
    [
      { ...days, events: none, persons: none },
      'It would remove nothing now. It applies to rows ingested before 2026-02-01.',
    ],
    [
      { ...days, events: found(1), persons: none },
      'It would remove 1 event now, ingested from 2026-01-01 to 2026-02-01.',
    ],
    [
      { ...days, events: found(1_200), persons: found(2) },
      'It would remove 1,200 events and 2 replaced versions of persons now, ingested from ' +
        '2026-01-01 to 2026-02-01.',
    ],
  ] as const)
    assert.equal(forecastOf(answer, day), told);
  const keeper = (name: string) => ({ kind: 'batch_export' as const, id: name, name, from: null });
  assert.equal(keptBy({ kept_by: [] }), '');
  assert.equal(
    keptBy({ kept_by: ['a', 'b', 'c', 'd'].map(keeper) }),
    'Older rows are kept for "a", "b", "c" and 1 more, until delivered.',
  );
});
