import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openBounds } from './bounds.ts';
import type { SecurityEvent } from './security_event.ts';

const minute_ms = 60_000;
const event = (fields: Partial<SecurityEvent> = {}): SecurityEvent => ({
  event: 'sign_in_failed',
  reason: 'wrong_password',
  user_id: 7,
  user_uuid: 'a',
  user_email: 'ada@example.com',
  key_mask: null,
  session_id: null,
  organization_id: null,
  organizations: null,
  ip: '192.0.2.1',
  user_agent: 'browser',
  method: 'POST',
  route: '/api/sessions/',
  item_id: null,
  request_id: 'r',
  count: 1,
  created_at_ms: 0,
  ...fields,
});
/** Returns how many of these events are let through. */
const through = (
  bounds: ReturnType<typeof openBounds>,
  times: number,
  fields: (time: number) => Partial<SecurityEvent>,
) =>
  Array.from({ length: times }, (_, time) => bounds.letsThrough(event(fields(time)))).filter(
    Boolean,
  ).length;

test('twenty equal lines are logged one by one, the others as one with their number', () => {
  const bounds = openBounds();
  assert.equal(
    through(bounds, 5_000, (time) => ({ request_id: `r${time}` })),
    20,
  );
  assert.deepEqual(bounds.takeCounted(10 * minute_ms - 1), []);
  const counted = bounds.takeCounted(10 * minute_ms);
  assert.deepEqual(
    counted.map(({ count, request_id, user_uuid, ip }) => [count, request_id, user_uuid, ip]),
    [[4_980, 'r4999', 'a', '192.0.2.1']],
  );
  assert.deepEqual(bounds.takeCounted(30 * minute_ms), []);
  assert.ok(bounds.letsThrough(event({ created_at_ms: 10 * minute_ms })));
});

test('different lines are logged apart; an IPv6 network is one address', () => {
  for (const fields of [
    { reason: 'wrong_code' },
    { event: 'locked_out' as const },
    { user_uuid: 'b' },
    { key_mask: 'slk_...abcd' },
    { organization_id: 'c' },
    { ip: '192.0.2.2' },
  ]) {
    const bounds = openBounds();
    through(bounds, 21, () => ({}));
    assert.ok(bounds.letsThrough(event(fields)), JSON.stringify(fields));
  }
  const bounds = openBounds();
  assert.equal(
    through(bounds, 30, (time) => ({ ip: `2001:db8:1:2::${time}` })),
    20,
  );
});

test('one address tells 200, all together 2,000; the rest is counted by event and reason', () => {
  const of_one = openBounds();
  assert.equal(
    through(of_one, 1_000, (time) => ({ user_uuid: `u${time}` })),
    200,
  );
  assert.ok(of_one.letsThrough(event({ ip: '192.0.2.2' })));
  assert.deepEqual(
    of_one
      .takeAll()
      .map(({ count, user_uuid, user_email, ip }) => [count, user_uuid, user_email, ip]),
    [[800, null, null, '']],
  );
  const of_all = openBounds();
  const ip = (time: number) => ({ ip: `10.${time >> 16}.${(time >> 8) & 255}.${time & 255}` });
  assert.equal(through(of_all, 100_000, ip), 2_000);
  const [rest, ...others] = of_all.takeAll();
  assert.deepEqual([rest!.count, others.length], [98_000, 0]);
});

test('lines beyond the bound are counted with the person, if known', () => {
  const bounds = openBounds();
  assert.equal(
    through(bounds, 1_000, (time) => ({ user_uuid: `u${time % 200}` })),
    200,
  );
  const counted = bounds.takeAll();
  assert.deepEqual([counted.length, counted.every(({ count }) => count === 4)], [200, true]);
});
