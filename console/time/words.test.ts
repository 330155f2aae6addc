import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dated, distance, dueIn, exactRange, exactly, sinceWhen, written } from './words.ts';

const now = Date.parse('2026-03-29T12:00:00Z');

test('an instant is told as a distance from now', () => {
  const cases: [string, string][] = [
    ['2026-03-29T11:59:30Z', 'now'],
    ['2026-03-29T11:48:00Z', '12 min. ago'],
    ['2026-03-29T12:59:59Z', 'in 59 min.'],
    ['2026-03-29T09:00:00Z', '3 hr. ago'],
    ['2026-03-27T11:00:00Z', '2 days ago'],
    ['2024-01-01T00:00:00Z', '2 yr. ago'],
  ];
  for (const [at, words] of cases) assert.equal(distance(at, now), words, at);
});

test('what is due is never due now', () => {
  assert.equal(dueIn('2026-03-29T11:48:00Z', now), 'within a minute');
  assert.equal(dueIn('2026-03-29T12:00:30Z', now), 'within a minute');
  assert.equal(dueIn('2026-03-29T12:30:00Z', now), 'in 30 min.');
});

test('an instant names its zone, and UTC beside another', () => {
  assert.equal(written('2026-03-29T00:59:00Z', 'Europe/Berlin'), '2026-03-29 01:59');
  assert.equal(written('2026-03-29T01:00:00Z', 'Europe/Berlin'), '2026-03-29 03:00');
  assert.equal(exactly('2026-01-31T23:30:00Z', 'UTC'), '2026-01-31 23:30 UTC');
  assert.equal(
    exactly('2026-01-31T23:30:00Z', 'Asia/Kolkata'),
    '2026-02-01 05:00 Asia/Kolkata, 2026-01-31 23:30 UTC',
  );
});

test('an hour that a zone has twice says which one it is; others name no zone', () => {
  const zone = 'Europe/Berlin';
  for (const [at, told] of [
    ['2026-10-24T23:30:00Z', '2026-10-25 01:30'],
    ['2026-10-25T00:30:00Z', '2026-10-25 02:30 (00:30 UTC)'],
    ['2026-10-25T01:30:00Z', '2026-10-25 02:30 (01:30 UTC)'],
    ['2026-10-25T02:00:00Z', '2026-10-25 03:00'],
    ['2026-03-29T01:00:00Z', '2026-03-29 03:00'],
  ] as const)
    assert.equal(dated(at, zone), told);
  assert.equal(dated('2026-10-25T00:30:00Z', 'UTC'), '2026-10-25 00:30');
  // Half an hour there.
  assert.match(dated('2026-04-04T14:45:00Z', 'Australia/Lord_Howe'), /01:45 \(14:45 UTC\)$/);
});

test('each zone creates its clock once, because lists write thousands of instants', (context) => {
  const zone = 'America/Santiago';
  const made = context.mock.method(Intl, 'DateTimeFormat');
  for (let hour = 0; hour < 24; hour += 1)
    exactly(new Date(Date.UTC(2026, 3, 4, hour)).toISOString(), zone);
  assert.ok(made.mock.callCount() <= 1);
});

test('a range names its zone once, and UTC beside another', () => {
  const [from, to] = ['2026-01-31T22:30:00Z', '2026-01-31T23:30:00Z'] as const;
  assert.equal(exactRange(from, to, 'UTC'), '2026-01-31 22:30 to 2026-01-31 23:30 UTC');
  assert.equal(
    exactRange(from, to, 'Asia/Kolkata'),
    '2026-02-01 04:00 to 2026-02-01 05:00 Asia/Kolkata (2026-01-31 22:30 to 2026-01-31 23:30 UTC)',
  );
});

test('what lasts since today has a clock, what is older a date', () => {
  assert.equal(sinceWhen('2026-03-29T08:20:15Z', 'UTC', now, false), '08:20');
  assert.equal(sinceWhen('2026-03-29T08:20:15Z', 'UTC', now, true), '08:20:15');
  assert.equal(sinceWhen('2026-03-29T08:20:00Z', 'UTC', now, true), '08:20');
  assert.equal(sinceWhen('2026-03-28T22:20:00Z', 'Europe/Berlin', now, false), '2026-03-28 23:20');
  // This hour passes twice in autumn.
  const autumn = Date.parse('2026-10-25T12:00:00Z');
  assert.equal(
    sinceWhen('2026-10-25T00:30:15Z', 'Europe/Berlin', autumn, true),
    '02:30 (00:30 UTC)',
  );
});
