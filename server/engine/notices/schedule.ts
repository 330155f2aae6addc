const second_ms = 1_000;
const minute_ms = 60 * second_ms;
const hour_ms = 60 * minute_ms;

/** The pauses between the attempts to deliver a notice, in milliseconds: 11 attempts over about 24 hours. */
const pauses_ms = [5 * second_ms, 30 * second_ms, 2 * minute_ms, 10 * minute_ms, 30 * minute_ms, hour_ms, 2 * hour_ms, 4 * hour_ms, 8 * hour_ms, 8 * hour_ms];

/** When the attempt after the failed one with this number (from 1) is due, in milliseconds since the epoch; null when that was the last. */
export function nextAttempt(attempts: number, now: number): number | null {
  const pause = pauses_ms[attempts - 1];
  return pause === undefined ? null : now + pause;
}
