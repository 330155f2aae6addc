import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import type { Deps } from '../../deps.ts';
import { isoInstant } from '../../platform/clock.ts';
import { sign_in_lifetime_ms } from '../../platform/http/caller/browser_mark.ts';
import type { OpenidProvider } from '../../platform/openid_providers.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { findVerifiedDomain } from '../domains/store.ts';
import type { VerifiedDomain } from '../domains/store.ts';
import { isExpired } from '../invites/store.ts';
import type { Level } from '../members/schema.ts';
import { isBarred, isLeft } from '../deactivation/store.ts';
import type { Outcome, Received } from './outcome.ts';

/**
 * A sign-in that a browser starts. The provider returns `token`. The last two fields are only set
 * for SAML.
 */
export type NewRequest = {
  token: string;
  browser_hash: Buffer;
  provider: 'saml' | OpenidProvider;
  purpose: 'sign_in' | 'test';
  next: string;
  domain_id?: string;
  settings_hash?: Buffer;
};

type Stored = Pick<Deps, 'db' | 'secrets' | 'clock'>;

/** Stores a sign-in that starts now. */
export async function insertRequest(
  { db, secrets, clock }: Stored,
  { token, ...request }: NewRequest,
): Promise<void> {
  const { browser_hash, provider, purpose, next, domain_id = null, settings_hash = null } = request;
  await db.run(sql`
    INSERT INTO sso_requests (id, token_hash, browser_hash, provider, domain_id, settings_hash,
      purpose, next, expires_at)
    VALUES (${uuidv7()}, ${tokenHash(secrets, token)}, ${browser_hash}, ${provider},
      ${domain_id}::uuid, ${settings_hash}, ${purpose}, ${next},
      ${isoInstant(clock.now() + sign_in_lifetime_ms)}::timestamptz)`);
}

/** A SAML sign-in in progress. `domain` is the domain of the provider. */
export type SamlRequest = {
  id: string;
  domain_id: string;
  domain: string;
  organization_id: string;
  settings_hash: Buffer;
  purpose: NewRequest['purpose'];
  is_answered: boolean;
};

/** Returns the unexpired SAML sign-in with this request id. Uses sso_requests_token_unique. */
export function findSamlRequest(
  { db, secrets, clock }: Stored,
  request_id: string,
): Promise<SamlRequest | undefined> {
  return db.row<SamlRequest>(sql`
    SELECT r.id, r.domain_id, d.domain, d.organization_id, r.settings_hash, r.purpose,
      r.outcome IS NOT NULL AS is_answered FROM sso_requests r JOIN domains d ON d.id = r.domain_id
    WHERE r.token_hash = ${tokenHash(secrets, request_id)}
      AND r.expires_at > ${isoInstant(clock.now())}::timestamptz`);
}

/**
 * Stores the result of a SAML response. Returns false if one was stored before; the row's lock lets
 * one of several succeed.
 */
export async function keepOutcome(tx: Transaction, id: string, outcome: Outcome): Promise<boolean> {
  return (
    (await tx.run(
      sql`UPDATE sso_requests SET outcome = ${JSON.stringify(outcome)}::json WHERE id = ${id}::uuid
        AND outcome IS NULL`,
    )) === 1
  );
}

/**
 * Uses up an assertion of the domain's provider, until the instant (ms) after which it is refused
 * anyway. Returns false if it was used before, also for two at the same time.
 */
export async function useAssertion(
  tx: Transaction,
  { secrets }: Stored,
  domain_id: string,
  assertion_id: string,
  until_ms: number,
): Promise<boolean> {
  const used = await tx.run(sql`
    INSERT INTO saml_assertions (domain_id, assertion_hash, expires_at)
    VALUES (${domain_id}::uuid, ${secrets.hash(`saml assertion ${assertion_id}`)},
      ${isoInstant(until_ms)}::timestamptz)
    ON CONFLICT (domain_id, assertion_hash) DO NOTHING`);
  return used === 1;
}

/** A SAML sign-in with a response; a refusal is stored only for a test. */
export type AnsweredRequest = { domain_id: string; settings_hash: Buffer; next: string } & (
  | { purpose: 'sign_in'; outcome: Received }
  | { purpose: 'test'; outcome: Outcome }
);

/**
 * Uses up the SAML sign-in that a response answers; undefined if this browser has no unused and
 * unexpired one with this id. Of concurrent uses, one succeeds.
 */
export function useAnsweredRequest(
  { db, clock }: Stored,
  id: string,
  browser_hash: Buffer,
): Promise<AnsweredRequest | undefined> {
  return db.row<AnsweredRequest>(sql`
    DELETE FROM sso_requests
    WHERE id = ${id}::uuid AND browser_hash = ${browser_hash} AND outcome IS NOT NULL
      AND expires_at > ${isoInstant(clock.now())}::timestamptz
    RETURNING domain_id, settings_hash, purpose, next, outcome`);
}

/**
 * Uses up an OpenID sign-in and returns its target; undefined if this browser has no unused and
 * unexpired one with this state. Of concurrent uses, one succeeds.
 */
export function useOpenidRequest(
  { db, secrets, clock }: Stored,
  provider: OpenidProvider,
  state: string,
  browser_hash: Buffer,
): Promise<{ next: string } | undefined> {
  return db.row<{ next: string }>(sql`
    DELETE FROM sso_requests
    WHERE token_hash = ${tokenHash(secrets, state)} AND provider = ${provider}
      AND browser_hash = ${browser_hash} AND expires_at > ${isoInstant(clock.now())}::timestamptz
    RETURNING next`);
}

/** The verified domain of an address, with its organization. */
export type Home = { domain: VerifiedDomain; organization: { id: string; name: string } };

/**
 * Returns and locks the verified domain of an address until the transaction ends, together with its
 * organization's members and invites; undefined if the address has none. Locks the organization
 * before the domain, and reads again after the locks.
 */
export async function holdHome(
  tx: Transaction,
  config: Deps['config'],
  address: string,
): Promise<Home | undefined> {
  const seen = await findVerifiedDomain(tx, config, address);
  if (seen === undefined) return undefined;
  const organization = await tx.row<Home['organization']>(
    sql`SELECT id, name FROM organizations WHERE id = ${seen.organization_id}::uuid
      FOR NO KEY UPDATE`,
  );
  await tx.row(sql`SELECT 1 FROM domains WHERE id = ${seen.id}::uuid FOR SHARE`);
  const domain = await findVerifiedDomain(tx, config, address);
  // Another organization may have verified the name while this waited. It is not locked, so this
  // sign-in does not use it.
  return organization === undefined || domain?.id !== seen.id
    ? undefined
    : { domain, organization };
}

/**
 * A person's relation to the organization: open invite, membership, deactivation by its directory,
 * and whether a managed person has left this address. Also whether they belong to any organization,
 * and whether another has or has invited them. An invite does not count during a deactivation.
 */
export type Standing = {
  invite_id: string | null;
  invite_level: Level | null;
  is_member: boolean;
  is_deactivated: boolean;
  is_left: boolean;
  is_anywhere: boolean;
  is_awaited: boolean;
};

/**
 * Returns the relation of the address and its user to the organization and to others; undefined if
 * there is none. Uses invites_by_address and members_user_unique.
 */
export async function getStanding(
  tx: Transaction,
  {
    organization_id = null,
    user_id = null,
    email,
  }: {
    organization_id: string | null | undefined;
    user_id: number | null | undefined;
    email: string;
  },
  now_ms: number,
): Promise<Standing> {
  const user = sql`${user_id}::integer`;
  const row = await tx.row<Standing>(sql`
    WITH open AS (
      SELECT i.id, i.level, i.organization_id FROM invites i
        WHERE comparable_address(i.target_email) = comparable_address(${email})
        AND NOT ${isExpired(now_ms)} AND NOT ${isBarred(sql`i.organization_id`, user)}),
    memberships AS (SELECT organization_id FROM members WHERE user_id = ${user_id}::integer)
    SELECT here.id AS invite_id, here.level AS invite_level, EXISTS (SELECT 1 FROM memberships
      WHERE organization_id = ${organization_id}::uuid) AS is_member,
      ${isBarred(sql`${organization_id}::uuid`, user)} AS is_deactivated,
      ${isLeft(sql`${organization_id}::uuid`, email)} AS is_left,
      EXISTS (SELECT 1 FROM memberships) AS is_anywhere,
      EXISTS (SELECT 1 FROM memberships UNION ALL SELECT 1 FROM open) AS is_awaited
    FROM (SELECT 1) AS asked LEFT JOIN open here
      ON here.organization_id = ${organization_id}::uuid`);
  return row!;
}

/**
 * Returns the trust in the provider for the user: undefined if it never signed them in. It includes
 * the hash of the settings under which they showed their own second factor, if they did.
 */
export async function findTrust(
  tx: Transaction,
  user_id: number | undefined,
  provider: string,
): Promise<{ settings_hash: Buffer | null } | undefined> {
  if (user_id === undefined) return undefined;
  return tx.row(sql`SELECT trusted_settings_hash AS settings_hash FROM social_identities
    WHERE user_id = ${user_id} AND provider = ${provider}`);
}

/**
 * Records that the user signed in with this account of the provider, which replaces the earlier
 * one.
 */
export async function keepIdentity(
  tx: Transaction,
  now_ms: number,
  user_id: number,
  { provider, subject }: { provider: string; subject: string },
): Promise<void> {
  await tx.run(
    sql`DELETE FROM social_identities WHERE user_id = ${user_id} AND provider = ${provider}
      AND subject <> ${subject}`,
  );
  const now = isoInstant(now_ms);
  await tx.run(sql`
    INSERT INTO social_identities (id, user_id, provider, subject, created_at, last_used_at)
    VALUES (${uuidv7()}, ${user_id}, ${provider}, ${subject}, ${now}::timestamptz,
      ${now}::timestamptz)
    ON CONFLICT (provider, subject) DO UPDATE SET user_id = EXCLUDED.user_id,
      last_used_at = EXCLUDED.last_used_at, trusted_settings_hash = CASE
        WHEN social_identities.user_id = EXCLUDED.user_id
          THEN social_identities.trusted_settings_hash END`);
}

/**
 * Ends the session at this instant (ISO), or earlier if it already ends earlier; returns its end.
 */
export async function limitSession(tx: Transaction, id: string, end: string): Promise<string> {
  const row = await tx.row<{ expires_at: string }>(
    sql`UPDATE sessions SET expires_at = least(expires_at, ${end}::timestamptz)
      WHERE id = ${id}::uuid RETURNING expires_at`,
  );
  return row!.expires_at;
}

function tokenHash(secrets: Deps['secrets'], token: string): Buffer {
  return secrets.hash(`single sign-on ${token}`);
}
