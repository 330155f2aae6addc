import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { isoInstant } from '../../../platform/clock.ts';
import { maskApiKey } from '../../../platform/http/caller/api_key.ts';
import type { Database, Queryable, Transaction } from '../../../platform/postgres/database.ts';

/** Lifetime of a code in milliseconds: the browser delivers it at once. */
const code_lives_ms = 60_000;

/** A grant with its key and its person. */
export type Grant = {
  key_id: string;
  client_hash: Buffer;
  redirect_uri: string;
  code_challenge: string;
  code_expires_at: string;
  refresh_hash: Buffer | null;
  label: string;
  mask_value: string;
  scopes: string[];
  expires_at: string;
  /** Missing until the code is used. */
  token_expires_at: string | null;
  user_id: number;
  user_uuid: string;
  email: string;
  is_active: boolean;
};

/** Returns a grant by its key, by the HMAC of its code, or by the HMAC of its current token. */
export function findGrant(
  db: Queryable,
  by: { key_id: string } | { code_hash: Buffer } | { token_hash: Buffer },
): Promise<Grant | undefined> {
  const is_it: Sql =
    'key_id' in by
      ? sql`g.key_id = ${by.key_id}::uuid`
      : 'code_hash' in by
        ? sql`g.code_hash = ${by.code_hash}`
        : sql`k.key_hash = ${by.token_hash}`;
  return db.row<Grant>(sql`
    SELECT g.key_id, g.client_hash, g.redirect_uri, g.code_challenge, g.code_expires_at,
      g.refresh_hash, k.label, k.mask_value, k.scopes, k.expires_at, k.token_expires_at,
      u.id AS user_id, u.uuid AS user_uuid, u.email, u.is_active
    FROM agent_grants g JOIN personal_api_keys k ON k.id = g.key_id
    JOIN users u ON u.id = k.user_id WHERE ${is_it}`);
}

/** Returns the grant of an assistant with access to the organization, with its person. */
export function findReachingGrant(
  db: Queryable,
  organization_id: string,
  key_id: string,
): Promise<{ user_id: number; user_uuid: string; label: string } | undefined> {
  const id = sql`${organization_id}::uuid`;
  return db.row(sql`
    SELECT k.user_id, u.uuid AS user_uuid, k.label FROM personal_api_keys k
    JOIN users u ON u.id = k.user_id
    JOIN members m ON m.user_id = k.user_id AND m.organization_id = ${id}
    WHERE k.id = ${key_id}::uuid AND k.resource IS NOT NULL
      AND (${id} = ANY (k.scoped_organizations) OR EXISTS (SELECT 1 FROM projects p
        WHERE p.organization_id = ${id} AND p.id = ANY (k.scoped_teams)))`);
}

/** Lists the organizations of the person. */
export async function listOrganizationIds(db: Queryable, user_id: number): Promise<string[]> {
  const rows = await db.rows<{ id: string }>(
    sql`SELECT organization_id AS id FROM members WHERE user_id = ${user_id} ORDER BY 1`,
  );
  return rows.map(({ id }) => id);
}

/** Stores what the client needs to get its first token for a key. */
export async function insertGrant(
  tx: Transaction,
  fields: {
    key_id: string;
    client_hash: Buffer;
    client_host: string | null;
    redirect_uri: string;
    returns_to: string;
    code_hash: Buffer;
    code_challenge: string;
  },
  now_ms: number,
): Promise<void> {
  await tx.run(sql`
    INSERT INTO agent_grants (key_id, client_hash, client_host, redirect_uri, returns_to, code_hash,
      code_challenge, code_expires_at)
    VALUES (${fields.key_id}::uuid, ${fields.client_hash}, ${fields.client_host},
      ${fields.redirect_uri}, ${fields.returns_to}, ${fields.code_hash}, ${fields.code_challenge},
      ${isoInstant(now_ms + code_lives_ms)}::timestamptz)`);
}

/** Deletes the person's earlier grants to the client; returns their number. */
export function deleteGrantsOf(
  tx: Transaction,
  user_id: number,
  client_hash: Buffer,
): Promise<number> {
  return tx.run(sql`DELETE FROM personal_api_keys k USING agent_grants g
    WHERE g.key_id = k.id AND k.user_id = ${user_id} AND g.client_hash = ${client_hash}`);
}

/** Replaces the current tokens by the next ones. */
export async function replaceTokens(
  tx: Transaction,
  key_id: string,
  next: { token: string; token_hash: Buffer; refresh_hash: Buffer; expires_at_ms: number },
): Promise<void> {
  await tx.run(sql`UPDATE personal_api_keys SET key_hash = ${next.token_hash},
    mask_value = ${maskApiKey(next.token)},
    token_expires_at = ${isoInstant(next.expires_at_ms)}::timestamptz WHERE id = ${key_id}::uuid`);
  await tx.run(sql`UPDATE agent_grants SET refresh_hash = ${next.refresh_hash}
    WHERE key_id = ${key_id}::uuid`);
}

/** Deletes grants whose code was never used, and grants that ended a week ago. */
export async function sweepGrants(db: Database, now_ms: number): Promise<void> {
  const now = isoInstant(now_ms);
  await db.run(sql`DELETE FROM personal_api_keys k USING agent_grants g WHERE g.key_id = k.id
    AND ((g.refresh_hash IS NULL AND g.code_expires_at < ${now}::timestamptz)
      OR k.expires_at < ${now}::timestamptz - interval '7 days')`);
}
