import sql from 'sql-template-tag';
import { isoInstant } from '../../../platform/clock.ts';
import type { Queryable, Transaction } from '../../../platform/postgres/database.ts';
import type { ShownAnswer } from './answers.ts';
import type { DomainProof } from './checks.ts';

/** The stored proof of a claim; instants in ms. */
export type StoredProof = {
  domain: string;
  verification_challenge: string;
  last_checked_at: number | null;
  proof: DomainProof;
};

type Row = Pick<StoredProof, 'domain' | 'verification_challenge'> & {
  state: DomainProof['state'];
  since_at: string;
  missing_since_at: string | null;
  last_checked_at: string | null;
};

const milliseconds = (instant: string | null) => (instant === null ? null : Date.parse(instant));
const text = (instant: number | null) => (instant === null ? null : isoInstant(instant));

/**
 * Returns the proof of a domain, locked until the transaction ends; undefined if the claim does not
 * exist.
 */
export async function lockProof(tx: Transaction, id: string): Promise<StoredProof | undefined> {
  const row = await tx.row<Row>(sql`
    SELECT domain, verification_challenge, state, since_at, missing_since_at, last_checked_at
      FROM domains WHERE id = ${id}::uuid FOR UPDATE`);
  if (row === undefined) return undefined;
  const { domain, verification_challenge, state, since_at, missing_since_at, last_checked_at } =
    row;
  const proof = {
    state,
    since_at: Date.parse(since_at),
    missing_since_at: milliseconds(missing_since_at),
  };
  return { domain, verification_challenge, last_checked_at: milliseconds(last_checked_at), proof };
}

/**
 * Stores the result of a check at `last_checked_at`; instants in ms. Releases the lease of the
 * checking process. The caller holds the lock.
 */
export async function saveProof(
  tx: Transaction,
  id: string,
  proof: DomainProof,
  check: {
    reason: string;
    answers: ShownAnswer[];
    last_checked_at: number;
    next_check_at: number | null;
  },
): Promise<void> {
  await tx.run(sql`
    UPDATE domains SET state = ${proof.state}, since_at = ${text(proof.since_at)}::timestamptz,
      missing_since_at = ${text(proof.missing_since_at)}::timestamptz,
      reason = ${check.reason}, answers = ${JSON.stringify(check.answers)},
        last_checked_at = ${text(check.last_checked_at)}::timestamptz,
        next_check_at = ${text(check.next_check_at)}::timestamptz,
      checking_until = NULL
    WHERE id = ${id}::uuid`);
}

/** A domain that this process has to check now. */
export type DueDomain = { id: string; organization_id: string; domain: string };

/**
 * Leases the domain that has waited longest for its check, until `checking_until` (ms); undefined
 * if none is due. Skips rows that another process has locked, so no domain is checked twice at
 * once. The lease of a dead process expires. Uses domains_by_next_check.
 */
export function claimDueDomain(
  db: Queryable,
  now: number,
  checking_until: number,
): Promise<DueDomain | undefined> {
  return db.row<DueDomain>(sql`
    UPDATE domains SET checking_until = ${isoInstant(checking_until)}::timestamptz WHERE id = (
      SELECT id FROM domains
      WHERE next_check_at <= ${isoInstant(now)}::timestamptz AND (checking_until IS NULL
        OR checking_until <= ${isoInstant(now)}::timestamptz)
      ORDER BY next_check_at LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING id, organization_id, domain`);
}

/** A domain whose certificates expire at `saml_expires_at` (ISO instant), which needs a warning. */
type WarnedDomain = {
  id: string;
  organization_id: string;
  domain: string;
  saml_expires_at: string;
};

/**
 * Returns the verified domain whose provider's last certificate expires soonest, among those whose
 * warning of 30, 7 or 1 days is due at `now` (ms); undefined if none is due. Records the warning as
 * sent. Missed warnings are skipped. Skips rows that another process has locked. Uses
 * domains_by_saml_expiry.
 */
export function takeCertificateWarning(
  tx: Transaction,
  now: number,
): Promise<WarnedDomain | undefined> {
  const step = sql`CASE WHEN saml_expires_at <= ${isoInstant(now)}::timestamptz + interval '1 day'
    THEN 1
    WHEN saml_expires_at <= ${isoInstant(now)}::timestamptz + interval '7 days' THEN 7 ELSE 30 END`;
  return tx.row<WarnedDomain>(sql`
    UPDATE domains SET saml_warned_days = ${step} WHERE id = (
      SELECT id FROM domains
      WHERE saml_expires_at <= ${isoInstant(now)}::timestamptz + interval '30 days'
        AND state = 'verified' AND saml_entity_id <> '' AND saml_acs_url <> ''
        AND (saml_warned_days IS NULL OR saml_warned_days > ${step})
      ORDER BY saml_expires_at LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING id, organization_id, domain, saml_expires_at`);
}
