import type { CheckOutcome } from './challenge.ts';

/**
 * The state of a domain's proof. `since_at`: the start of the state; for `pending`, the creation.
 * `missing_since_at`: for a verified domain, the first of consecutive checks that were answered
 * without the challenge; otherwise null. Instants in ms. A domain is verified only in the state
 * `verified`.
 */
export type DomainProof = {
  state: 'pending' | 'verified' | 'failed' | 'lapsed';
  since_at: number;
  missing_since_at: number | null;
};

const minute_ms = 60_000;
const hour_ms = 60 * minute_ms;
const day_ms = 24 * hour_ms;

/** Time for which the server checks a domain that is not verified. */
const watched_ms = 30 * day_ms;
/** Time for which a verified domain may lack its record. */
const lapse_ms = 72 * hour_ms;
/**
 * Delay before people are told that a record is missing: a single failed check may have met a
 * server during a change.
 */
const told_ms = hour_ms;
const first_pauses_ms = [
  1 * minute_ms,
  2 * minute_ms,
  5 * minute_ms,
  10 * minute_ms,
  30 * minute_ms,
  hour_ms,
  2 * hour_ms,
  4 * hour_ms,
  8 * hour_ms,
];
const longest_pause_ms = 12 * hour_ms;

/** Returns the proof of a domain that is created at the instant. */
export function newProof(created_at: number): DomainProof {
  return { state: 'pending', since_at: created_at, missing_since_at: null };
}

/**
 * Returns the state of the proof after a check at `now`, automatic or manual. Guarantees: the
 * challenge verifies the domain from every state. Only answers without the challenge make a
 * verified domain lapse, 72 h after the first of consecutive ones. A check without an answer
 * changes nothing, except that a domain that was never verified fails 30 days after its creation.
 */
export function afterCheck(proof: DomainProof, outcome: CheckOutcome, now: number): DomainProof {
  if (outcome === 'met')
    return {
      state: 'verified',
      since_at: proof.state === 'verified' ? proof.since_at : now,
      missing_since_at: null,
    };
  if (proof.state === 'pending' && now - proof.since_at >= watched_ms)
    return { state: 'failed', since_at: now, missing_since_at: null };
  if (proof.state !== 'verified' || outcome === 'unanswered') return proof;
  const missing_since_at = proof.missing_since_at ?? now;
  return now >= lapseInstant(missing_since_at)
    ? { state: 'lapsed', since_at: now, missing_since_at: null }
    : { ...proof, missing_since_at };
}

/**
 * Returns the instant (ms) from which a check without the challenge makes a verified domain lapse,
 * if its record has been missing since `missing_since_at`.
 */
export function lapseInstant(missing_since_at: number): number {
  return missing_since_at + lapse_ms;
}

/**
 * Returns true for the one check at `now` after which the owner is told about the missing record.
 * That is the first check at least an hour after the record was first missing, while the domain is
 * still verified. `last_checked_at` is the check before.
 */
export function isMissingTold(
  proof: DomainProof,
  last_checked_at: number | null,
  now: number,
): boolean {
  if (proof.missing_since_at === null) return false;
  const told_at = proof.missing_since_at + told_ms;
  return told_at <= now && (last_checked_at === null || last_checked_at < told_at);
}

/**
 * Returns when the server checks a domain next, for its proof at `now`; null for no further
 * automatic check. A past instant is a missed check: check at once. Pending: at fixed intervals
 * from the creation, for 30 days, so a manual check changes no time. Verified: daily, and hourly
 * while the challenge is missing. Lapsed: daily for 30 days.
 */
export function nextCheck(proof: DomainProof, now: number): number | null {
  switch (proof.state) {
    case 'pending':
      return nextOfPending(proof.since_at, now);
    case 'verified':
      return now + (proof.missing_since_at === null ? day_ms : hour_ms);
    case 'lapsed':
      return now + day_ms <= proof.since_at + watched_ms ? now + day_ms : null;
    case 'failed':
      return null;
  }
}

function nextOfPending(created_at: number, now: number): number {
  const end_at = created_at + watched_ms;
  let next = created_at;
  for (let index = 0; next <= now && next < end_at; index += 1)
    next += first_pauses_ms[index] ?? longest_pause_ms;
  return Math.min(next, end_at);
}
