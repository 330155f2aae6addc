import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chargeOf, look_share } from './budget.ts';
import { wantedOf } from './turns.ts';
import type { Watched } from './turns.ts';

const now = Date.parse('2026-11-30T12:00:00Z');
const ago = (hours: number) => new Date(now - hours * 3_600_000).toISOString();
const fresh: Watched = {
  new_from: ago(2),
  verified_at: null,
  cycle_looked_at: null,
  cycle_ended_at: null,
  balance_ms: 100,
  asks: null,
};
const looked: Watched = {
  ...fresh,
  verified_at: ago(3),
  cycle_looked_at: ago(3),
  cycle_ended_at: ago(3),
  asks: 'seals',
};

test('a new export is looked at whole, after its first delivery', () => {
  assert.equal(wantedOf(fresh, now), 'all');
  assert.equal(wantedOf({ ...fresh, new_from: null }, now), undefined);
});

test('new deliveries are looked at as soon as the budget allows it', () => {
  assert.equal(wantedOf(looked, now), 'new');
  assert.equal(wantedOf({ ...looked, balance_ms: -1 }, now), undefined);
  assert.equal(wantedOf({ ...looked, new_from: null }, now), undefined);
  const paused = { ...fresh, cycle_looked_at: ago(1), balance_ms: -1 };
  assert.equal(wantedOf(paused, now), undefined);
  assert.equal(wantedOf({ ...paused, balance_ms: 0 }, now), 'new');
});

test('new deliveries and all take turns where both wait', () => {
  const both = { ...looked, cycle_ended_at: ago(30) };
  assert.equal(wantedOf({ ...both, cycle_looked_at: ago(30), verified_at: ago(3) }, now), 'all');
  assert.equal(wantedOf({ ...both, cycle_looked_at: ago(2), verified_at: ago(3) }, now), 'new');
  assert.equal(wantedOf({ ...both, cycle_looked_at: ago(2), new_from: null }, now), 'all');
});

test('without a budget a look begins after a week, unless it reads all', () => {
  const starved = { ...looked, balance_ms: -1, verified_at: ago(170) };
  assert.equal(wantedOf(starved, now), 'new');
  assert.equal(wantedOf({ ...starved, asks: 'contents' }, now), undefined);
  const old = { ...starved, new_from: null, cycle_looked_at: ago(170), cycle_ended_at: ago(170) };
  assert.equal(wantedOf(old, now), 'all');
  assert.equal(wantedOf({ ...old, cycle_looked_at: ago(100) }, now), undefined);
});

test('the cost of a look is learnt, sooner where it is less than thought', () => {
  const part = { deliveries: 100, rows_read: 0 };
  let factor = 1;
  for (let look = 0; look < 20; look += 1) factor = chargeOf(part, 400, factor).factor;
  const { cost_ms } = chargeOf(part, 400, factor);
  assert.ok(cost_ms > 700 && cost_ms < 900, `${cost_ms}`);
  // One look beside much other work says little, and the next short one corrects it.
  const busy = chargeOf(part, 60_000, factor);
  assert.ok(busy.cost_ms < 500 * look_share * 1_000, `${busy.cost_ms}`);
  assert.ok(chargeOf(part, 400, busy.factor).factor < busy.factor);
});
