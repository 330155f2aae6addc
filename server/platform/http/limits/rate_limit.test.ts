import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openHarness } from '../../../../test/harness.ts';
import type { Database } from '../../postgres/database.ts';
import { sweep } from '../health/housekeeping.ts';
import { openLimiter } from './rate_limit.ts';
import { roll, used, waitSeconds } from './rate_window.ts';
import { aroundTests } from '../../../../test/around_tests.ts';

const start = Date.parse('2026-01-01T00:00:00Z');
let now = start;
const clock = { now: () => now };
const harness = aroundTests(() =>
  openHarness({
    clickhouse: false,
    deps: { clock },
    config: { rate_limit_per_minute: 5, rate_limit_per_hour: 12 },
  }),
);

const path = '/api/organizations/@current/';

test('headers show the rest; the request over the limit is 429', async () => {
  const { key } = await harness.newOrganization();
  const first = await harness.request('GET', path, { key });
  assert.equal(first.headers['ratelimit-policy'], '"minute";q=5;w=60, "hour";q=12;w=3600');
  assert.equal(first.headers['ratelimit'], '"minute";r=4;t=60, "hour";r=11;t=3600');
  for (let count = 0; count < 4; count += 1)
    assert.equal((await harness.request('GET', path, { key })).status, 200);
  const refused = await harness.request('GET', path, { key });
  assert.equal(refused.status, 429);
  assert.equal(refused.body.type, 'throttled_error');
  assert.equal(refused.headers['ratelimit'], '"minute";r=0;t=72, "hour";r=7;t=3600');
  const wait = Number(refused.headers['retry-after']);
  now += wait * 1000 - 1000;
  assert.equal((await harness.request('GET', path, { key })).status, 429);
  now += 1000;
  assert.equal((await harness.request('GET', path, { key })).status, 200);
});

test('the limit slides: a burst at the end of one minute counts in the next', async () => {
  now = start + 7_200_000 + 59_000;
  const { key } = await harness.newOrganization();
  for (let count = 0; count < 5; count += 1)
    assert.equal((await harness.request('GET', path, { key })).status, 200);
  now += 2_000;
  assert.equal((await harness.request('GET', path, { key })).status, 429);
});

test('the hour has its limit too', async () => {
  now = start + 3 * 3_600_000 * 2;
  const { key } = await harness.newOrganization();
  let passed = 0;
  for (let count = 0; count < 30; count += 1) {
    if ((await harness.request('GET', path, { key })).status === 200) passed += 1;
    now += 30_000;
  }
  assert.equal(passed, 12);
});

test('304 answers are free, and a 429 comes before the scope is looked at', async () => {
  now = start + 24 * 3_600_000;
  const { user, key } = await harness.newOrganization();
  const { headers } = await harness.request('GET', path, { key });
  for (let count = 0; count < 20; count += 1)
    assert.equal(
      (await harness.request('GET', path, { key, headers: { 'if-none-match': headers['etag']! } }))
        .status,
      304,
    );
  assert.match((await harness.request('GET', path, { key })).headers['ratelimit']!, /"minute";r=3/);
  const narrow = await harness.newKey(user, { scopes: ['event:write'] });
  for (let count = 0; count < 5; count += 1)
    assert.equal((await harness.request('GET', path, { key: narrow })).status, 403);
  assert.equal((await harness.request('GET', path, { key: narrow })).status, 429);
});

test('all keys and sessions of a person share a limit, four times that of a key', async () => {
  now = start + 36 * 3_600_000;
  const { user, key } = await harness.newOrganization();
  const keys = [key, ...(await Promise.all(Array.from({ length: 7 }, () => harness.newKey(user))))];
  let last = await harness.request('GET', path, { key });
  const etag = last.headers['etag']!;
  let passed = 1;
  for (let round = 0; round < 4; round += 1)
    for (const one of keys) {
      last = await harness.request('GET', path, { key: one });
      if (last.status === 200) passed += 1;
    }
  assert.equal(passed, 20);
  // The headers report the tighter limit, with its own size.
  assert.equal(last.status, 429);
  assert.match(last.headers['ratelimit-policy']!, /^"minute";q=20;w=60, /);
  assert.match(last.headers['ratelimit']!, /^"minute";r=0;t=\d+, /);
  const headers = { cookie: await harness.newSession(user) };
  const refused = await harness.request('GET', path, { headers });
  assert.equal(refused.status, 429);
  // Somebody else goes on, and so does this person once the wait is over.
  const other = await harness.newOrganization();
  assert.equal((await harness.request('GET', path, { key: other.key })).status, 200);
  now += Number(refused.headers['retry-after']) * 1000;
  const free = { headers: { 'if-none-match': etag }, key: await harness.newKey(user) };
  for (let count = 0; count < 3; count += 1)
    assert.equal((await harness.request('GET', path, free)).status, 304);
  assert.equal((await harness.request('GET', path, { headers })).status, 200);
  assert.equal((await harness.request('GET', path, { headers })).status, 429);
});

test('a person has no limit of their own where that is switched off', () => {
  const limits = { per_minute: 1, per_hour: 0, person_factor: 0 };
  const limiter = openLimiter(harness.deps.db, clock, limits);
  for (let count = 0; count < 30; count += 1)
    assert.equal(limiter.take(`key ${count}`, 'person')?.wait_seconds, undefined);
  assert.equal(limiter.take('key 1', 'person')?.policy, '"minute";q=1;w=60');
});

test('refused keys are limited per address, and a right key from there still works', async () => {
  now = start + 48 * 3_600_000;
  const statuses = new Set<number>();
  for (let count = 0; count < 25; count += 1)
    statuses.add((await harness.request('GET', path, { key: 'slk_wrong' })).status);
  assert.deepEqual([...statuses], [401, 429]);
  const { key } = await harness.newOrganization();
  assert.equal((await harness.request('GET', path, { key })).status, 200);
});

test('a person’s IPv6 network counts as one address', () => {
  const limiter = openLimiter(harness.deps.db, clock, { per_minute: 1, per_hour: 0 });
  const waits = Array.from({ length: 5 }, (_, count) => limiter.takeRefused(`2001:db8::${count}`));
  assert.deepEqual(waits.slice(0, 4), [undefined, undefined, undefined, undefined]);
  assert.ok(waits[4]! > 0);
  assert.equal(limiter.takeRefused('2001:db8:0:1::1'), undefined);
});

test('two processes share one limit within a synchronisation', async () => {
  now = start + 72 * 3_600_000;
  const limits = { per_minute: 10, per_hour: 0 };
  const [one, two] = [
    openLimiter(harness.deps.db, clock, limits),
    openLimiter(harness.deps.db, clock, limits),
  ];
  for (let count = 0; count < 4; count += 1) one.take('shared');
  for (let count = 0; count < 4; count += 1) two.take('shared');
  await one.synchronise();
  await two.synchronise();
  assert.equal(two.take('shared')?.remaining, '"minute";r=1;t=60');
  await two.synchronise();
  one.take('shared');
  await one.synchronise();
  assert.equal(one.take('shared')?.wait_seconds !== undefined, true);
  now += 60_000;
  const three = openLimiter(harness.deps.db, clock, limits);
  three.take('shared');
  await three.synchronise();
  assert.notEqual(three.take('shared')?.wait_seconds, undefined);
  now += 4 * 3_600_000;
  await sweep(harness.deps);
  assert.equal((await harness.deps.db.text('SELECT 1 FROM rate_counts')).rowCount, 0);
});

test('counts made while others are sent are kept, also when the window turns', async () => {
  now = start + 96 * 3_600_000;
  const turning: Database = {
    ...harness.deps.db,
    rows: async (query) => {
      const rows = await harness.deps.db.rows(query);
      now += 180_000;
      limiter.take('turning');
      limiter.take('turning');
      return rows as never;
    },
  };
  const limiter = openLimiter(turning, clock, { per_minute: 3, per_hour: 0 });
  limiter.take('turning');
  await limiter.synchronise();
  assert.equal(limiter.take('turning')?.wait_seconds, undefined);
  assert.notEqual(limiter.take('turning')?.wait_seconds, undefined);
});

test('counts that could not be sent are sent with the next', async () => {
  now = start + 120 * 3_600_000;
  let isDown = true;
  const failing: Database = {
    ...harness.deps.db,
    rows: (query) =>
      isDown ? Promise.reject(new Error('The store is down.')) : harness.deps.db.rows(query),
  };
  const limits = { per_minute: 4, per_hour: 0 };
  const [one, two] = [
    openLimiter(failing, clock, limits),
    openLimiter(harness.deps.db, clock, limits),
  ];
  one.take('unsent');
  one.take('unsent');
  await assert.rejects(one.synchronise(), /The store is down/);
  isDown = false;
  one.take('unsent');
  await one.synchronise();
  two.take('unsent');
  await two.synchronise();
  assert.notEqual(two.take('unsent')?.wait_seconds, undefined);
});

test('0 is off', () => {
  assert.equal(
    openLimiter(harness.deps.db, clock, { per_minute: 0, per_hour: 0 }).take('x'),
    undefined,
  );
});

test('the reported wait is never too short, and never longer than two windows', () => {
  const policy = { name: 'minute', requests_max: 10, window_seconds: 60 };
  for (let previous = 0; previous <= 10; previous += 1) {
    for (let current = 0; current <= 10; current += 1) {
      for (let second = 0; second < 60; second += 7) {
        const at = start + second * 1000;
        const counter = { index: Math.floor(at / 60_000), previous, current };
        if (used(counter, policy, at) + 1 <= 10) continue;
        const wait = waitSeconds(counter, policy, at);
        assert.ok(wait >= 1 && wait <= 120);
        const later = at + wait * 1000;
        roll(counter, Math.floor(later / 60_000));
        assert.ok(
          used(counter, policy, later) + 1 <= 10 + 1e-4,
          `${previous} ${current} ${second}`,
        );
      }
    }
  }
});
