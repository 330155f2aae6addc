import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bodyOf, draftOf } from './draft.ts';
import type { Base } from './draft.ts';

test('a number is sent as a number, whatever the API calls its type', () => {
  const sent = (freshness_seconds: string) =>
    bodyOf({ ...draftOf(undefined, 'UTC'), freshness_seconds }, undefined, undefined, 'UTC')[
      'freshness_seconds'
    ];
  assert.deepEqual(['', ' 90 ', '-5', '1.5', 'soon'].map(sent), [null, 90, -5, '1.5', 'soon']);
});

test('start and end are typed as the clocks of the zone show them', () => {
  const zone = 'Europe/Berlin';
  const base = { destination: { type: 'NoOp', config: {} }, custom_query: null } as Base;
  const stored = { ...base, start_at: '2026-10-25T01:30:00.000000Z', end_at: null };
  const draft = draftOf(stored, zone);
  // The hour occurs twice, and what was not typed is not sent.
  assert.deepEqual([draft.start_at, draft.end_at], ['2026-10-25 02:30', '']);
  assert.deepEqual(bodyOf(draft, stored, undefined, zone), {});
  const sent = (end_at: string) => bodyOf({ ...draft, end_at }, stored, undefined, zone);
  assert.deepEqual(sent('2026-11-01 00:00'), { end_at: '2026-10-31T23:00:00.000Z' });
  // The API refuses a text that is no instant.
  assert.deepEqual(sent('12026-11-01T00:00'), { end_at: '12026-11-01T00:00' });
});
