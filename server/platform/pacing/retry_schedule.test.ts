import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextAttempt, restAskedFor } from './retry_schedule.ts';

const hour_ms = 3_600_000;
const now = Date.parse('2026-01-01T00:00:00Z');

test('pauses grow to an hour, vary by a tenth, and wait for the rest that was asked for', () => {
  const cases: [attempts: number, rest_ms: number, random: number, pause_ms: number | null][] = [
    [1, 0, 0, 5_000],
    [1, 0, 0.5, 5_250],
    [1, 60_000, 0.5, 60_000],
    [5, 60_000, 0, hour_ms / 2],
    [6, 0, 0, hour_ms],
    [27, hour_ms, 0.5, 1.05 * hour_ms],
    [28, hour_ms, 0, null],
  ];
  for (const [attempts, rest_ms, random, pause_ms] of cases) {
    const next = nextAttempt(attempts, now, rest_ms, () => random);
    assert.equal(
      next === null ? null : next - now,
      pause_ms,
      `attempt ${attempts}, rest ${rest_ms}`,
    );
  }
});

test('Retry-After is read in both forms, of 429 and 5xx only, and never beyond an hour', () => {
  const cases: [status: number, retry_after: string | null, rest_ms: number][] = [
    [429, '7', 7_000],
    [503, ' 7 ', 7_000],
    [503, 'Thu, 01 Jan 2026 00:02:00 GMT', 120_000],
    [503, 'Wed, 31 Dec 2025 23:59:00 GMT', 0],
    [429, 'Fri, 02 Jan 2026 00:00:00 GMT', hour_ms],
    [429, '999999999999999999999999', hour_ms],
    [429, null, 30_000],
    [429, 'soon', 30_000],
    [429, '-5', 30_000],
    [429, '0', 0],
    [503, null, 0],
    [503, 'never GMT', 0],
    [404, '60', 0],
    [302, '60', 0],
  ];
  for (const [status, retry_after, rest_ms] of cases)
    assert.equal(restAskedFor(status, retry_after, now), rest_ms, `${status} ${retry_after}`);
});
