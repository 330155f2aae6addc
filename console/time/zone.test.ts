import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldOf, instantOf, typedAt, wallClock } from './zone.ts';

const at = (text: string) => Date.parse(text);

for (const [zone, instant, wall] of [
  ['UTC', '2026-01-31T12:00:00.250Z', '2026-01-31T12:00:00.250Z'],
  ['Europe/Berlin', '2026-01-31T12:00:00.250Z', '2026-01-31T13:00:00.250Z'],
  ['Europe/Berlin', '2026-07-01T22:30:00Z', '2026-07-02T00:30:00Z'],
  ['America/St_Johns', '2026-01-01T00:00:00Z', '2025-12-31T20:30:00Z'],
  ['Asia/Kathmandu', '1969-12-31T23:59:59.999Z', '1970-01-01T05:29:59.999Z'],
] as const)
  test(`${instant} is ${wall} on the clocks of ${zone}, and back`, () => {
    assert.equal(wallClock(at(instant), zone), at(wall));
    assert.equal(instantOf(at(wall), zone), at(instant));
  });

test('an hour that occurs twice is the first, one that is left out is as much later', () => {
  const zone = 'Europe/Berlin';
  assert.equal(instantOf(at('2026-10-25T02:30:00Z'), zone), at('2026-10-25T00:30:00Z'));
  assert.equal(instantOf(at('2026-03-29T02:30:00Z'), zone), at('2026-03-29T01:30:00Z'));
  // Midnight itself is left out in Beirut.
  assert.equal(instantOf(at('2026-03-29T00:00:00Z'), 'Asia/Beirut'), at('2026-03-28T22:00:00Z'));
});

test('a day and a time are typed as they are shown, and a day alone is its midnight', () => {
  const zone = 'Europe/Berlin';
  const evening = at('2026-11-28T21:00:00Z');
  for (const text of ['2026-11-28 22:00', '2026-11-28T22:00', ' 2026-11-28  22:00 '])
    assert.equal(typedAt(text, zone), evening, text);
  assert.equal(fieldOf(evening, zone), '2026-11-28 22:00');
  assert.equal(typedAt('2026-11-28 9:05', 'UTC'), at('2026-11-28T09:05:00Z'));
  assert.equal(typedAt('2026-11-28', zone), at('2026-11-27T23:00:00Z'));
  for (const text of [
    '',
    'tomorrow',
    '28.11.2026',
    '2026-11-28 25:00',
    '2026-13-01',
    '2026-02-31 10:00',
    '2026-11-31',
    '12026-11-28',
  ])
    assert.equal(typedAt(text, zone), undefined, text);
});
