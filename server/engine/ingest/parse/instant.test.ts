import assert from 'node:assert/strict';
import { test } from 'node:test';
import { arrivalInstant } from './instant.ts';

const now_ms = Date.parse('2026-05-01T12:00:00.123Z');

test('events that bring no time come a microsecond after each other', () => {
  const all = Array.from({ length: 2_001 }, () => arrivalInstant(now_ms));
  assert.equal(all[0], '2026-05-01 12:00:00.123000');
  assert.equal(all[1], '2026-05-01 12:00:00.123001');
  assert.equal(all[2_000], '2026-05-01 12:00:00.125000');
  assert.equal(arrivalInstant(now_ms + 1), '2026-05-01 12:00:00.125001');
  assert.equal(arrivalInstant(now_ms + 2_000), '2026-05-01 12:00:02.123000');
});

test('a clock that was put back is right', () => {
  arrivalInstant(now_ms);
  assert.equal(arrivalInstant(now_ms - 5_000), '2026-05-01 11:59:55.123000');
});
