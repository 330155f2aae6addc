import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { CheckOutcome } from './challenge.ts';
import { afterCheck, newProof, nextCheck } from './checks.ts';
import type { DomainProof } from './checks.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const created_at = Date.UTC(2026, 10, 21);

/**
 * The checks that the server makes by itself, in order: when, and how the proof stands after each.
 */
function live(
  proof: DomainProof,
  from: number,
  outcomeAt: (now: number) => CheckOutcome,
  until: number,
): { at: number; proof: DomainProof }[] {
  const checks: { at: number; proof: DomainProof }[] = [];
  let current = proof;
  for (
    let now = nextCheck(current, from);
    now !== null && now <= until;
    now = nextCheck(current, now)
  ) {
    current = afterCheck(current, outcomeAt(now), now);
    checks.push({ at: now, proof: current });
  }
  return checks;
}

test('a pending domain is looked up with growing pauses for 30 days, then it has failed', () => {
  for (const outcome of ['missing', 'unanswered'] as const) {
    const checks = live(newProof(created_at), created_at, () => outcome, Infinity);
    const pauses = checks.map(({ at }, index) => at - (checks[index - 1]?.at ?? created_at));
    assert.deepEqual(pauses.slice(0, 11), [
      minute,
      2 * minute,
      5 * minute,
      10 * minute,
      30 * minute,
      hour,
      2 * hour,
      4 * hour,
      8 * hour,
      12 * hour,
      12 * hour,
    ]);
    assert.ok(pauses.slice(9, -1).every((pause) => pause === 12 * hour));
    assert.equal(checks.length, 68);
    assert.ok(checks.slice(0, -1).every(({ proof }) => proof.state === 'pending'));
    assert.deepEqual(checks.at(-1), {
      at: created_at + 30 * day,
      proof: { state: 'failed', since_at: created_at + 30 * day, missing_since_at: null },
    });
  }
});

test('a look-up by hand, or a late one, does not move those to come', () => {
  const proof = newProof(created_at);
  assert.equal(nextCheck(proof, created_at + 3 * minute), created_at + 8 * minute);
  assert.equal(nextCheck(proof, created_at + 3 * minute + 1), created_at + 8 * minute);
  assert.equal(nextCheck(proof, created_at + 8 * minute - 1), created_at + 8 * minute);
  assert.equal(nextCheck(proof, created_at + 30 * day - 1), created_at + 30 * day);
  // Missed while the server was off: at once.
  assert.equal(nextCheck(proof, created_at + 40 * day), created_at + 30 * day);
});

const verified_at = created_at + hour;
const verified: DomainProof = { state: 'verified', since_at: verified_at, missing_since_at: null };
const missing_since_at = verified_at + day;
const lapsed_at = missing_since_at + 72 * hour;
const lapsed: DomainProof = { state: 'lapsed', since_at: lapsed_at, missing_since_at: null };
const failed: DomainProof = {
  state: 'failed',
  since_at: created_at + 30 * day,
  missing_since_at: null,
};
const doubted: DomainProof = { ...verified, missing_since_at };

const steps: [
  title: string,
  proof: DomainProof,
  outcome: CheckOutcome,
  now: number,
  after: DomainProof,
  next: number | null,
][] = [
  ['pending, met', newProof(created_at), 'met', verified_at, verified, verified_at + day],
  [
    'pending, met at the very last',
    newProof(created_at),
    'met',
    created_at + 31 * day,
    { ...verified, since_at: created_at + 31 * day },
    created_at + 32 * day,
  ],
  [
    'verified, met: since when stays',
    verified,
    'met',
    verified_at + day,
    verified,
    verified_at + 2 * day,
  ],
  [
    'verified, unanswered',
    verified,
    'unanswered',
    verified_at + day,
    verified,
    verified_at + 2 * day,
  ],
  ['verified, missing', verified, 'missing', missing_since_at, doubted, missing_since_at + hour],
  ['missing, still missing', doubted, 'missing', lapsed_at - 1, doubted, lapsed_at - 1 + hour],
  ['missing, met again', doubted, 'met', lapsed_at - 1, verified, lapsed_at - 1 + day],
  ['missing for 72 h', doubted, 'missing', lapsed_at, lapsed, lapsed_at + day],
  [
    'missing for 72 h, but unanswered',
    doubted,
    'unanswered',
    lapsed_at + day,
    doubted,
    lapsed_at + day + hour,
  ],
  ['lapsed, missing', lapsed, 'missing', lapsed_at + day, lapsed, lapsed_at + 2 * day],
  ['lapsed, unanswered', lapsed, 'unanswered', lapsed_at + day, lapsed, lapsed_at + 2 * day],
  ['lapsed for 30 days', lapsed, 'missing', lapsed_at + 30 * day, lapsed, null],
  [
    'lapsed, met',
    lapsed,
    'met',
    lapsed_at + 40 * day,
    { ...verified, since_at: lapsed_at + 40 * day },
    lapsed_at + 41 * day,
  ],
  ['failed, missing', failed, 'missing', created_at + 31 * day, failed, null],
  [
    'failed, met',
    failed,
    'met',
    created_at + 60 * day,
    { ...verified, since_at: created_at + 60 * day },
    created_at + 61 * day,
  ],
];
for (const [title, proof, outcome, now, after, next] of steps) {
  test(title, () => {
    assert.deepEqual(afterCheck(proof, outcome, now), after);
    assert.equal(nextCheck(after, now), next);
  });
}

test('a verified domain without its record is looked up hourly, lapses after 72 hours', () => {
  const checks = live(verified, verified_at, () => 'missing', Infinity);
  const until_lapse = checks.filter(({ proof }) => proof.state === 'verified');
  assert.equal(until_lapse.length, 72);
  assert.equal(until_lapse[0]!.at, missing_since_at);
  assert.equal(checks[72]!.at, lapsed_at);
  assert.deepEqual(
    checks.slice(72).map(({ proof }) => proof),
    Array.from({ length: 31 }, () => lapsed),
  );
  assert.equal(checks.at(-1)!.at, lapsed_at + 30 * day);
});

test('no outage of DNS, however long, lapses a domain, nor does the first answer after it', () => {
  const back_at = verified_at + 100 * day;
  const checks = live(
    verified,
    verified_at,
    (now) => (now < back_at ? 'unanswered' : 'missing'),
    back_at + 2 * day,
  );
  assert.ok(checks.length > 100);
  assert.ok(checks.every(({ proof }) => proof.state === 'verified'));
});

test('the record back for one look-up restarts the 72 hours', () => {
  const back_at = missing_since_at + 71 * hour;
  const checks = live(
    verified,
    verified_at,
    (now) => (now === back_at ? 'met' : 'missing'),
    back_at + day + 72 * hour,
  );
  assert.deepEqual(
    checks.find(({ proof }) => proof.state === 'lapsed')?.at,
    back_at + day + 72 * hour,
  );
});

test('a domain lapses only after it was verified and lacked the challenge for 72 hours', () => {
  const outcomes = fc.array(
    fc.tuple(
      fc.constantFrom<CheckOutcome>('met', 'missing', 'unanswered'),
      fc.integer({ min: 1, max: 3 * day }),
    ),
    { maxLength: 40 },
  );
  fc.assert(
    fc.property(outcomes, (checks) => {
      let proof = newProof(created_at);
      let now = created_at;
      let met_at: number | null = null;
      for (const [outcome, pause] of checks) {
        now += pause;
        const after = afterCheck(proof, outcome, now);
        if (outcome === 'met') met_at = now;
        assert.equal(
          after.state === 'verified' && after.missing_since_at === null && outcome === 'missing',
          false,
        );
        if (outcome === 'met') assert.equal(after.state, 'verified');
        if (after.state === 'lapsed' && proof.state !== 'lapsed')
          assert.ok(
            proof.state === 'verified' && outcome === 'missing' && now - met_at! >= 72 * hour,
          );
        if (after.state !== 'verified') assert.equal(after.missing_since_at, null);
        const next = nextCheck(after, now);
        assert.ok(
          next === null ? after.state === 'failed' || after.state === 'lapsed' : next > now,
        );
        proof = after;
      }
    }),
  );
});
