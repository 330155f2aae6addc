import { entryWriter } from '../../../platform/http/records.ts';
import { isoInstant } from '../../../platform/clock.ts';
import type { Activity } from '../../../platform/activity/chain.ts';
import type { LookedUp } from '../../../platform/dns/dns.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { shownAnswers } from './answers.ts';
import { challengeName, judgeAnswer, refuseProof } from './challenge.ts';
import { afterCheck, isMissingTold, lapseInstant, nextCheck } from './checks.ts';
import type { DomainProof } from './checks.ts';
import type { Notice } from '../notices.ts';
import { lockProof, saveProof } from './proof_store.ts';
import type { StoredProof } from './proof_store.ts';
import type { DomainRow } from '../schema.ts';
import { findDomain } from '../store.ts';

/**
 * The effect of a check on a domain: the record before and after, and the notice to administrators,
 * if any.
 */
export type Settled = { before: DomainRow; after: DomainRow; notice: Notice | undefined };

/** Returns the text for a domain that was never checked: what its owner has to do. */
export function firstReason(domain: string): string {
  return (
    refuseProof(domain) ??
    `Not checked yet. Add a TXT record at ${challengeName(domain)} whose value is the ` +
      'challenge.'
  );
}

/**
 * Applies the answer of a check at `now` (ms) to the domain's proof, in the caller's transaction.
 * Undefined if the organization no longer has the domain, or its name has changed: an answer about
 * the old name does not prove the new one. Locks the row first, so that each of several concurrent
 * checks judges the state that the one before stored.
 */
export async function settleAnswer(
  tx: Transaction,
  organization_id: string,
  { id, domain }: Pick<DomainRow, 'id' | 'domain'>,
  { answer, answers }: LookedUp,
  now: number,
): Promise<Settled | undefined> {
  const stored = await lockProof(tx, id);
  const before = await findDomain(tx, organization_id, id);
  if (stored === undefined || before === undefined || stored.domain !== domain) return undefined;
  const { outcome, reason } = judgeAnswer(stored.domain, stored.verification_challenge, answer);
  const proof = afterCheck(stored.proof, outcome, now);
  const next_check_at = nextCheck(proof, now);
  await saveProof(tx, id, proof, {
    answers: shownAnswers(stored.domain, stored.verification_challenge, answers),
    reason: `${reason}${outlook(proof, next_check_at)}`,
    last_checked_at: now,
    next_check_at,
  });
  const after = await findDomain(tx, organization_id, id);
  if (after === undefined)
    throw new Error('A domain disappeared in the transaction that held its lock.');
  return { before, after, notice: noticeOf(id, stored, proof, reason, now) };
}

/** Returns the entry named after the new state, or `checked` if the state has not changed. */
export function checkEntry({ before, after }: Settled): Activity {
  const changed = before.verification.state !== after.verification.state;
  return domainEntry(changed ? after.verification.state : 'checked', before, after);
}

/**
 * Returns the entry of the activity log for a domain that is created, changed or deleted. Only the
 * state of the proof counts as a change; other fields record the time of checks.
 */
export function domainEntry(
  activity: string,
  before: DomainRow | undefined,
  after: DomainRow | undefined,
): Activity {
  return entryOf(activity, logged(before), logged(after));
}

const entryOf = entryWriter('domain', ({ domain }: Pick<DomainRow, 'id' | 'domain'>) => domain);

function logged(row: DomainRow | undefined) {
  return row === undefined
    ? undefined
    : { ...row, verification: { state: row.verification.state } };
}

/** Returns the next step, if the state does not imply it. */
function outlook(proof: DomainProof, next_check_at: number | null): string {
  if (proof.missing_since_at !== null)
    return ` Without it the domain lapses at ${isoInstant(lapseInstant(proof.missing_since_at))}.`;
  return next_check_at === null
    ? ' The server no longer checks: start the check yourself once the record exists.'
    : '';
}

function noticeOf(
  id: string,
  { domain, verification_challenge: challenge, proof: before, last_checked_at }: StoredProof,
  after: DomainProof,
  reason: string,
  now: number,
) {
  const named = { id, domain };
  if (after.state === before.state) {
    if (after.missing_since_at === null || !isMissingTold(after, last_checked_at, now))
      return undefined;
    const { missing_since_at } = after;
    return {
      ...named,
      kind: 'missing' as const,
      reason,
      challenge,
      missing_since_at: isoInstant(missing_since_at),
      lapses_at: isoInstant(lapseInstant(missing_since_at)),
    };
  }
  if (after.state === 'verified') return { ...named, kind: after.state };
  // No check returns to this state.
  if (after.state === 'pending') return undefined;
  return { ...named, kind: after.state, reason, challenge };
}
