import sql, { empty } from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import type { Deps } from '../../deps.ts';
import { isoInstant } from '../../platform/clock.ts';
import { invalid, notedAs } from '../../platform/http/errors.ts';
import { listOf } from '../../platform/http/lists/pagination.ts';
import type { List } from '../../platform/http/lists/pagination.ts';
import { domainOf } from '../../platform/mail/mailbox.ts';
import { configuredProviders } from '../../platform/openid_providers.ts';
import type { OpenidSettings } from '../../platform/openid_providers.ts';
import { assignments } from '../../platform/postgres/assignments.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import { locking } from '../../platform/postgres/locking.ts';
import { managedBy } from '../managed/store.ts';
import type { Pending } from './anchors.ts';
import { newChallenge } from './proof/challenge.ts';
import { newProof, nextCheck } from './proof/checks.ts';
import { certificatesExpireAt, isUnset, saml_fields } from './saml_fields.ts';
import type { AnchorChanges, DomainChanges, DomainRow } from './schema.ts';

const has_saml = sql`NOT '' IN (coalesce(d.saml_entity_id, ''), coalesce(d.saml_acs_url, ''),
  coalesce(d.saml_x509_cert, ''))`;

const columns = sql`
  d.id, d.domain, d.state = 'verified' AS is_verified, CASE
    WHEN d.state = 'verified' THEN d.since_at END AS verified_at, d.verification_challenge,
  d.jit_provisioning_enabled, d.sso_enforcement, ${has_saml} AS has_saml, d.saml_entity_id,
    d.saml_acs_url, d.saml_x509_cert,
  d.pending -> 'changes' AS pending_changes, d.pending ->> 'set_by' AS pending_set_by,
  (d.pending ->> 'set_at')::timestamptz AS pending_set_at,
  json_build_object('state', d.state, 'reason', d.reason, 'last_checked_at',
    wire_instant(d.last_checked_at),
    'next_check_at', wire_instant(d.next_check_at), 'answers', d.answers) AS verification,
  ${managedBy('domain', sql`d.id`)} AS managed_by`;

/** Lists the organization's domains by name, in ASCII order. Uses domains_by_organization. */
export function listDomains(organization_id: string): List {
  return listOf(
    columns,
    sql`domains d WHERE d.organization_id = ${organization_id}::uuid`,
    sql`d.domain`,
  );
}

/**
 * Returns the organization's domain; with `lock`, nobody else can change, check or delete it until
 * the transaction ends.
 */
export function findDomain(
  db: Queryable,
  organization_id: string,
  id: string,
  lock?: 'lock',
): Promise<DomainRow | undefined> {
  return db.row<DomainRow>(sql`
    SELECT ${columns} FROM domains d WHERE d.id = ${id}::uuid
      AND d.organization_id = ${organization_id}::uuid
      ${locking(lock, 'FOR UPDATE')}`);
}

/**
 * The holder of a name. `is_held` is false after the server has stopped checking the claim; then
 * another organization may take the name.
 */
export type Holder = DomainRow & { organization_id: string; is_held: boolean };

/**
 * Returns any organization's claim on the name, locked until the transaction ends. Uses
 * domains_domain_unique.
 */
export function lockHolder(tx: Transaction, domain: string): Promise<Holder | undefined> {
  return tx.row<Holder>(
    sql`SELECT ${columns}, d.organization_id, d.next_check_at IS NOT NULL AS is_held FROM domains d
      WHERE d.domain = ${domain} FOR UPDATE`,
  );
}

/**
 * Creates a claim with a new challenge at the instant (ms), and returns its id; undefined if the
 * name is taken. Waits for another transaction that is claiming the same name. A taken name raises
 * no error, which would abort the transaction.
 */
export async function insertDomain(
  tx: Transaction,
  fields: { organization_id: string; domain: string; reason: string; created_at: number },
): Promise<string | undefined> {
  const proof = newProof(fields.created_at);
  const created_at = isoInstant(fields.created_at);
  const row = await tx.row<{ id: string }>(sql`
    INSERT INTO domains (id, organization_id, domain, verification_challenge, state, since_at,
      reason, next_check_at, created_at)
    VALUES (${uuidv7()}, ${fields.organization_id}::uuid, ${fields.domain}, ${newChallenge()},
      ${proof.state}, ${created_at}::timestamptz, ${fields.reason},
      ${isoInstant(nextCheck(proof, fields.created_at)!)}::timestamptz, ${created_at}::timestamptz)
    ON CONFLICT (domain) DO NOTHING RETURNING id`);
  return row?.id;
}

/** Stores the changes that wait for an owner; null: no change waits. The caller holds the lock. */
export async function setPending(
  tx: Transaction,
  id: string,
  pending: Pending | null,
): Promise<void> {
  const kept = pending === null ? null : JSON.stringify(pending);
  await tx.run(sql`UPDATE domains SET pending = ${kept}::json WHERE id = ${id}::uuid`);
}

/** Returns true if the domain has a directory. */
export async function hasDirectory(tx: Transaction, id: string): Promise<boolean> {
  const row = await tx.row(sql`SELECT 1 FROM scim_directories WHERE domain_id = ${id}::uuid`);
  return row !== undefined;
}

/**
 * Applies the fields that were sent. New certificates restart the warnings before expiry. The
 * caller holds the lock.
 */
export async function updateDomain(
  tx: Transaction,
  id: string,
  changes: Omit<DomainChanges, 'domain'>,
): Promise<void> {
  if (Object.keys(changes).length === 0) return;
  const { saml_x509_cert } = changes;
  // The right-hand sides use the old values of the row.
  const warned =
    saml_x509_cert === undefined
      ? empty
      : sql`, saml_expires_at = ${certificatesExpireAt(saml_x509_cert)}::timestamptz,
          saml_warned_days = CASE WHEN saml_x509_cert IS NOT DISTINCT
            FROM ${saml_x509_cert} THEN saml_warned_days END`;
  await tx.run(sql`UPDATE domains SET ${assignments(changes)}${warned} WHERE id = ${id}::uuid`);
}

/**
 * Moves the name and proof of another claim of the organization to the domain; the other claim
 * ends. The caller holds both locks. Nobody else gets the name meanwhile, because inserting it
 * waits for this transaction.
 */
export async function moveClaim(tx: Transaction, from_id: string, id: string): Promise<void> {
  await tx.run(sql`
    WITH claim AS (DELETE FROM domains WHERE id = ${from_id}::uuid
      RETURNING domain, verification_challenge, state, since_at, reason, next_check_at)
    UPDATE domains d SET domain = claim.domain,
      verification_challenge = claim.verification_challenge, state = claim.state,
      since_at = claim.since_at, reason = claim.reason, next_check_at = claim.next_check_at,
      missing_since_at = NULL, last_checked_at = NULL, checking_until = NULL, answers = DEFAULT
    FROM claim WHERE d.id = ${id}::uuid`);
}

/**
 * Revokes the access that the domain's provider gave, like a deletion: its sessions lose their
 * access, its accounts are unlinked, and other organizations no longer accept it.
 */
export async function forgetProvider(tx: Transaction, id: string): Promise<void> {
  await tx.run(sql`UPDATE sessions SET domain_id = NULL WHERE domain_id = ${id}::uuid`);
  await tx.run(sql`DELETE FROM sso_requests WHERE domain_id = ${id}::uuid`);
  await tx.run(sql`DELETE FROM accepted_providers WHERE domain_id = ${id}::uuid`);
  await tx.run(sql`DELETE FROM social_identities WHERE provider = ${`saml:${id}`}`);
}

/** Deletes the claim; the name is free at once. */
export async function deleteDomain(tx: Transaction, id: string): Promise<void> {
  await tx.run(sql`DELETE FROM domains WHERE id = ${id}::uuid`);
}

/** The sign-in rules of a verified domain for its addresses. */
export type VerifiedDomain = Pick<
  DomainRow,
  | 'id'
  | 'domain'
  | 'jit_provisioning_enabled'
  | 'sso_enforcement'
  | 'has_saml'
  | 'saml_entity_id'
  | 'saml_acs_url'
  | 'saml_x509_cert'
> & { organization_id: string };

/** Returns the domain with its waiting changes, for a test of its provider that signs nobody in. */
export async function withPending(db: Queryable, domain: VerifiedDomain): Promise<VerifiedDomain> {
  const row = await db.row<{ changes: AnchorChanges | null }>(
    sql`SELECT pending -> 'changes' AS changes FROM domains WHERE id = ${domain.id}::uuid`,
  );
  const { domain: _name, ...settings } = row?.changes ?? {};
  const changed = { ...domain, ...settings };
  return { ...changed, has_saml: saml_fields.every((field) => !isUnset(changed[field])) };
}

/**
 * Returns the verified domain of an e-mail address or of a domain, in any case and script.
 * Undefined if no organization has verified exactly this name (a parent does not count).
 * `sso_enforcement` is `""` if the stored provider is no longer configured on this server, so that
 * a server setting locks nobody out. Uses domains_domain_unique.
 */
export async function findVerifiedDomain(
  db: Queryable,
  settings: OpenidSettings,
  address: string,
): Promise<VerifiedDomain | undefined> {
  // PostgreSQL lowers this letter to an i when it finds the account of an address; in a domain it
  // would be another name.
  const folded = address.replaceAll('\u0130', 'i');
  const row = await db.row<VerifiedDomain>(sql`
    SELECT d.id, d.organization_id, d.domain, d.jit_provisioning_enabled, d.sso_enforcement,
      ${has_saml} AS has_saml, d.saml_entity_id, d.saml_acs_url, d.saml_x509_cert
    FROM domains d WHERE d.domain = ${domainOf(folded).replace(/\.$/, '')}
      AND d.state = 'verified'`);
  if (row === undefined) return undefined;
  const works =
    row.sso_enforcement === 'saml'
      ? row.has_saml
      : configuredProviders(settings).some((provider) => provider === row.sso_enforcement);
  return works ? row : { ...row, sso_enforcement: '' };
}

/**
 * Throws 400 `sso_enforced`, with the address to sign in at, if the domain of the e-mail address
 * allows no password. It only considers the domain, so it reveals nothing about accounts.
 */
export async function refuseEnforced(
  { db, config }: { db: Queryable; config: Deps['config'] },
  email: string,
): Promise<void> {
  const domain = await findVerifiedDomain(db, config, email);
  if (domain === undefined || domain.sso_enforcement === '') return;
  const { sso_enforcement: enforced, organization_id } = domain;
  const query = enforced === 'saml' ? `?email=${encodeURIComponent(email)}` : '';
  const refusal = invalid(
    null,
    'sso_enforced',
    'The domain of this address requires single sign-on: open ' +
      `${config.public_url}/login/${enforced}/${query} in a browser.`,
  );
  throw notedAs(refusal, 'sign_in_failed', 'sso_enforced', organization_id);
}
