import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import { isoInstant } from '../../../platform/clock.ts';
import { listOf } from '../../../platform/http/lists/pagination.ts';
import type { List } from '../../../platform/http/lists/pagination.ts';
import type { Queryable, Transaction } from '../../../platform/postgres/database.ts';
import { locking } from '../../../platform/postgres/locking.ts';
import { user_json } from '../../users/store.ts';
import { hasRight, isLive } from './live.ts';
import type { TokenRow } from '../schema.ts';
import type { DomainPlace } from '../store.ts';

/** The directory of a request, identified by its token. */
export type CallingDirectory = DomainPlace & {
  is_verified: boolean;
  /** True if an owner allowed it, and the token has a creator with this right. */
  may_manage_owners: boolean;
  token_id: string;
  token_hash: Buffer;
  last_used_at: string | null;
};

/**
 * Returns the directory of the domain if the hash belongs to one of its tokens, valid at `now_ms`.
 * Uses scim_tokens_token_unique.
 */
export function findCalling(
  db: Queryable,
  domain_id: string,
  token_hash: Buffer,
  now_ms: number,
): Promise<CallingDirectory | undefined> {
  return db.row<CallingDirectory>(sql`
    SELECT d.id AS domain_id, d.domain, d.state = 'verified' AS is_verified,
      s.may_manage_owners AND t.has_maker AS may_manage_owners, t.id AS token_id, t.token_hash,
      t.last_used_at, json_build_object('id', o.id, 'name', o.name) AS organization
    FROM scim_tokens t JOIN scim_directories s ON s.domain_id = t.domain_id
      JOIN domains d ON d.id = s.domain_id JOIN organizations o ON o.id = d.organization_id
    WHERE t.token_hash = ${token_hash} AND t.domain_id = ${domain_id}::uuid
      AND ${isLive(sql`o.id`, now_ms)}`);
}

/**
 * Locks the organization's members and the domain until the transaction ends, and returns the
 * directory as of then; undefined if its token has ended meanwhile. Locks the organization before
 * the domain.
 */
export async function holdCalling(
  tx: Transaction,
  { organization, domain_id, token_hash }: CallingDirectory,
  now_ms: number,
): Promise<CallingDirectory | undefined> {
  const { id } = organization;
  await tx.row(sql`SELECT 1 FROM organizations WHERE id = ${id}::uuid FOR NO KEY UPDATE`);
  await tx.row(sql`SELECT 1 FROM domains WHERE id = ${domain_id}::uuid FOR SHARE`);
  return findCalling(tx, domain_id, token_hash, now_ms);
}

/**
 * Updates `last_used_at` of the token and its directory, unless it was updated after `before_ms`.
 */
export async function touchToken(
  db: Queryable,
  token_id: string,
  now_ms: number,
  before_ms: number,
): Promise<void> {
  const now = sql`${isoInstant(now_ms)}::timestamptz`;
  await db.run(sql`
    WITH moved AS (
      UPDATE scim_tokens SET last_used_at = ${now} WHERE id = ${token_id}::uuid
        AND (last_used_at IS NULL OR last_used_at <= ${isoInstant(before_ms)}::timestamptz)
      RETURNING domain_id)
    UPDATE scim_directories SET last_used_at = ${now}
    WHERE domain_id = (SELECT domain_id FROM moved)`);
}

const columns = sql`t.id, t.name, t.mask_value, (SELECT ${user_json} FROM users u
  WHERE u.id = t.maker_id) AS created_by, t.created_at, t.expires_at, t.last_used_at`;

/**
 * Lists the tokens of the domain's directory, newest first (ties by id), including expired ones.
 * Tokens that ended with their creator's right are left out. Uses scim_tokens_by_domain.
 */
export function listTokens(domain_id: string, organization_id: string): List {
  const from = sql`scim_tokens t WHERE t.domain_id = ${domain_id}::uuid
    AND ${hasRight(sql`${organization_id}::uuid`)}`;
  return listOf(columns, from, sql`t.created_at DESC, t.id DESC`);
}

/**
 * Returns the token of the domain's directory; with `lock`, it cannot be deleted until the
 * transaction ends.
 */
export function findToken(
  db: Queryable,
  { domain_id, organization }: DomainPlace,
  id: string,
  lock?: 'lock',
): Promise<TokenRow | undefined> {
  return db.row<TokenRow>(sql`SELECT ${columns} FROM scim_tokens t
    WHERE t.domain_id = ${domain_id}::uuid AND t.id = ${id}::uuid
      AND ${hasRight(sql`${organization.id}::uuid`)} ${locking(lock, 'FOR UPDATE OF t')}`);
}

/** Deletes the tokens that have ended at `now_ms`, and returns the number of the others. */
export async function countLiveTokens(
  tx: Transaction,
  { domain_id, organization }: DomainPlace,
  now_ms: number,
): Promise<number> {
  await tx.run(sql`DELETE FROM scim_tokens t WHERE t.domain_id = ${domain_id}::uuid
    AND NOT ${isLive(sql`${organization.id}::uuid`, now_ms)}`);
  const row = await tx.row<{ count: number }>(
    sql`SELECT count(*)::integer AS count FROM scim_tokens WHERE domain_id = ${domain_id}::uuid`,
  );
  return row!.count;
}

/** Adds a token. The caller holds the lock of the domain. */
export async function insertToken(
  tx: Transaction,
  place: DomainPlace,
  token: { name: string; maker_id: number; hash: Buffer; mask_value: string },
  { created_at, expires_at }: { created_at: string; expires_at: string },
): Promise<TokenRow> {
  const id = uuidv7();
  await tx.run(sql`
    INSERT INTO scim_tokens (id, domain_id, name, maker_id, has_maker, token_hash, mask_value,
      created_at, expires_at)
    VALUES (${id}::uuid, ${place.domain_id}::uuid, ${token.name}, ${token.maker_id}, true,
      ${token.hash}, ${token.mask_value}, ${created_at}::timestamptz, ${expires_at}::timestamptz)`);
  return (await findToken(tx, place, id))!;
}

/** Ends the token at once. */
export async function deleteToken(tx: Transaction, id: string): Promise<void> {
  await tx.run(sql`DELETE FROM scim_tokens WHERE id = ${id}::uuid`);
}

/** A token that owners are told about. */
export type ToldToken = {
  id: string;
  name: string;
  mask_value: string;
  expires_at: string;
  domain: string;
  organization_id: string;
  /** Null: their account was deleted, or the token had none. */
  maker: string | null;
};

const told = sql`t.id, t.name, t.mask_value, t.expires_at, d.domain, d.organization_id,
  (SELECT u.email FROM users u WHERE u.id = t.maker_id) AS maker`;

/**
 * Deletes and returns a token whose creator is no longer an active owner; undefined if there is
 * none. Skips rows that another process has locked.
 */
export function takeEndedToken(tx: Transaction): Promise<ToldToken | undefined> {
  return tx.row<ToldToken>(sql`
    DELETE FROM scim_tokens t USING domains d WHERE d.id = t.domain_id AND t.id = (
      SELECT t.id FROM scim_tokens t JOIN domains d ON d.id = t.domain_id
      WHERE NOT ${hasRight(sql`d.organization_id`)} LIMIT 1 FOR UPDATE OF t SKIP LOCKED)
    RETURNING ${told}`);
}

/**
 * Returns the token that expires soonest and whose mail of 14 days or 1 day is due at `now_ms`;
 * undefined if none is due. Records the mail as written. Missed mails are skipped. Skips rows that
 * another process has locked.
 */
export function takeTokenWarning(tx: Transaction, now_ms: number): Promise<ToldToken | undefined> {
  const now = sql`${isoInstant(now_ms)}::timestamptz`;
  const step = sql`CASE WHEN t.expires_at <= ${now} + interval '1 day' THEN 1 ELSE 14 END`;
  return tx.row<ToldToken>(sql`
    UPDATE scim_tokens t SET warned_days = ${step} FROM domains d
    WHERE d.id = t.domain_id AND t.id = (
      SELECT t.id FROM scim_tokens t JOIN domains d ON d.id = t.domain_id
      WHERE t.expires_at <= ${now} + interval '14 days'
        AND ${isLive(sql`d.organization_id`, now_ms)}
        AND (t.warned_days IS NULL OR t.warned_days > ${step})
      ORDER BY t.expires_at LIMIT 1 FOR UPDATE OF t SKIP LOCKED)
    RETURNING ${told}`);
}
