import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPace } from './pace.ts';

/** A receiver on a clock of its own; it answers 429 with what it asks to wait, or takes it. */
type Receiver = (now: number) => { limited: number | undefined } | 'taken';

/** 750 requests in each minute of the clock. */
function byTheMinute(): Receiver {
  let [minute, count] = [-1, 0];
  return (now) => {
    const present = Math.floor(now / 60_000);
    if (present !== minute) [minute, count] = [present, 0];
    count += 1;
    return count <= 750 ? 'taken' : { limited: Math.ceil(60 - (now % 60_000) / 1_000) };
  };
}

/** 12.5 requests a second, and so many at once after a rest. */
function byTheBucket(burst: number): Receiver {
  let [level, at] = [burst, 0];
  return (now) => {
    level = Math.min(burst, level + ((now - at) / 1_000) * 12.5);
    at = now;
    if (level < 1) return { limited: 1 };
    level -= 1;
    return 'taken';
  };
}

/** Sends for so many minutes without a break; answers take 50 ms. */
function drive(receiver: Receiver, minutes: number, learnt: number | null = null) {
  let now = 7_000;
  const pace = openPace(learnt, () => now);
  const [until, measured_from] = [now + minutes * 60_000, now + 120_000];
  let [taken, limited] = [0, 0];
  while (now < until) {
    now += pace.waitMs();
    const began_at = pace.begin();
    const answer = receiver(now);
    now += 5;
    if (answer === 'taken') pace.taken(began_at);
    else pace.limited(began_at, answer.limited);
    if (now < measured_from) continue;
    if (answer === 'taken') taken += 1;
    else limited += 1;
  }
  return { used: taken / (((until - measured_from) / 60_000) * 750), limited: limited / taken };
}

for (const [name, receiver] of [
  ['by the minute', byTheMinute],
  ['by a bucket of 100', () => byTheBucket(100)],
  ['by a bucket of 10', () => byTheBucket(10)],
] as const)
  test(`A limit of 750 a minute is used up and seldom met: ${name}`, () => {
    const { used, limited } = drive(receiver(), 60);
    assert.ok(used >= 0.95, `${(used * 100).toFixed(1)} % used`);
    assert.ok(limited <= 0.01, `${(limited * 100).toFixed(2)} % of answers are 429`);
  });

test('A pace that was learnt before needs no 429 to begin with', () => {
  const { used, limited } = drive(byTheMinute(), 30, 12.3);
  assert.ok(used >= 0.95 && limited <= 0.01, JSON.stringify({ used, limited }));
});

test('A pace grows again after the limit has gone', () => {
  let now = 0;
  const pace = openPace(1, () => now);
  for (let minute = 1; minute <= 20; minute += 1)
    while (now < minute * 60_000) {
      now += pace.waitMs() + 1;
      pace.taken(pace.begin());
    }
  assert.ok((pace.rate ?? Infinity) > 50, String(pace.rate));
});

test('Without Retry-After the rest grows, and one limit met by several counts once', () => {
  let now = 1_000;
  const pace = openPace(null, () => now);
  const begun = Array.from({ length: 8 }, () => pace.begin());
  for (const one of begun) pace.limited(one, undefined);
  assert.equal(pace.waitMs(), 1_000);
  now += 1_000;
  pace.limited(pace.begin(), undefined);
  assert.equal(pace.waitMs(), 2_000);
});
