import sql from 'sql-template-tag';
import type { Static } from 'typebox';
import { v7 as uuidv7 } from 'uuid';
import { isoInstant } from '../../platform/clock.ts';
import type { Person } from '../../platform/http/caller/access.ts';
import { createApiKey, maskApiKey } from '../../platform/http/caller/api_key.ts';
import { keysIn } from '../../platform/http/caller/keys_in.ts';
import { listOf } from '../../platform/http/lists/pagination.ts';
import type { List } from '../../platform/http/lists/pagination.ts';
import { assignments } from '../../platform/postgres/assignments.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import type { Secrets } from '../../platform/secrets/secrets.ts';
import { user_json } from '../users/store.ts';
import type { ApiKeyChanges, ApiKeyRow, CurrentApiKey } from './schema.ts';

/** The fields of a new key; an absent or empty limit means no limit. */
export type ApiKeyFields = {
  user_id: number;
  label: string;
  scopes: string[];
  scoped_organizations?: string[] | null;
  scoped_teams?: number[] | null;
  allowed_ip_ranges?: string[];
  expires_at?: string | null;
  resource?: string;
};

const agent = sql`(SELECT jsonb_build_object('client_host', g.client_host, 'returns_to',
    g.returns_to) FROM agent_grants g WHERE g.key_id = k.id) AS agent`;
const columns = sql`
  k.id, k.label, k.mask_value, k.scopes, coalesce(k.scoped_organizations,
    '{}') AS scoped_organizations, coalesce(k.scoped_teams, '{}') AS scoped_teams,
  k.allowed_ip_ranges, k.expires_at,
  k.last_used_at, k.last_used_ip, k.last_used_user_agent, k.created_at, ${agent}`;

/** The owner of keys, with the organizations that their session reaches. */
export type Owner = Pick<Person, 'user_id' | 'scoped_organizations'>;

/** The condition for keys `k` of the person that do not exceed the reach of their session. */
const own = ({ user_id, scoped_organizations: reach }: Owner) => sql`
  k.user_id = ${user_id} AND (${reach}::uuid[] IS NULL
    OR k.scoped_organizations <@ ${reach}::uuid[])`;

/** Lists the person's keys, newest first (ties by id). Uses personal_api_keys_by_user. */
export function listApiKeys(owner: Owner): List {
  return listOf(
    columns,
    sql`personal_api_keys k WHERE ${own(owner)}`,
    sql`k.created_at DESC, k.id DESC`,
  );
}

/** Returns the person's key. */
export function findApiKey(
  db: Queryable,
  owner: Owner,
  id: string,
): Promise<ApiKeyRow | undefined> {
  return db.row<ApiKeyRow>(
    sql`SELECT ${columns} FROM personal_api_keys k WHERE k.id = ${id}::uuid AND ${own(owner)}`,
  );
}

/**
 * Lists the unexpired keys of active members with access to the organization or one of its
 * projects, newest first (ties by id). It shows only the limits within the organization.
 */
export function listReachingKeys(organization_id: string, now_ms: number): List {
  const id = sql`${organization_id}::uuid`;
  const reaching = sql`
    FROM members m JOIN users u ON u.id = m.user_id AND u.is_active
    JOIN personal_api_keys k ON k.user_id = u.id
    CROSS JOIN LATERAL (SELECT coalesce(array_agg(p.id ORDER BY p.id), '{}') AS ids
      FROM projects p WHERE p.organization_id = ${id} AND p.id = ANY (k.scoped_teams)) limited
    WHERE m.organization_id = ${id}
      AND (k.expires_at IS NULL OR k.expires_at > ${isoInstant(now_ms)}::timestamptz)
      AND (k.scoped_organizations IS NULL OR ${id} = ANY (k.scoped_organizations))
      AND (k.scoped_teams IS NULL OR limited.ids <> '{}')`;
  return {
    rows: (page) => sql`
      SELECT k.id, ${user_json} AS user, k.label, k.mask_value, k.scopes, limited.ids AS projects,
        k.expires_at, k.last_used_at, k.created_at, ${agent} ${reaching}
      ORDER BY k.created_at DESC, k.id DESC LIMIT ${page.limit} OFFSET ${page.offset}`,
    count: sql`SELECT count(*) AS count ${reaching}`,
  };
}

/** Returns the key with its owner. */
export function findCurrentApiKey(
  db: Queryable,
  id: string,
): Promise<Static<typeof CurrentApiKey> | undefined> {
  return db.row(
    sql`SELECT ${columns}, ${user_json} AS user FROM personal_api_keys k JOIN users u
      ON u.id = k.user_id WHERE k.id = ${id}::uuid`,
  );
}

/**
 * Locks the person until the transaction ends; every change of their keys starts with it. So
 * creating two keys at once counts both. A removal from an organization takes the same lock before
 * it reduces the limits of keys.
 */
export async function lockOwner(tx: Transaction, user_id: number): Promise<void> {
  await tx.row(sql`SELECT 1 FROM users WHERE id = ${user_id} FOR NO KEY UPDATE`);
}

/** Counts the person's working keys. */
export async function countLiveApiKeys(
  tx: Transaction,
  user_id: number,
  now_ms: number,
): Promise<number> {
  const row = await tx.row<{ count: number }>(sql`
    SELECT count(*) AS count FROM personal_api_keys WHERE user_id = ${user_id}
      AND (expires_at IS NULL OR expires_at > ${isoInstant(now_ms)}::timestamptz)`);
  return row!.count;
}

/** Returns those organizations that the person belongs to and their session reaches. */
export async function ownOrganizations(
  db: Queryable,
  { user_id, scoped_organizations: reach }: Owner,
  ids: string[],
): Promise<Set<string>> {
  const rows = await db.rows<{ id: string }>(
    sql`SELECT organization_id AS id FROM members WHERE user_id = ${user_id}
      AND organization_id = ANY (${ids}::uuid[])
      AND (${reach}::uuid[] IS NULL OR organization_id = ANY (${reach}::uuid[]))`,
  );
  return new Set(rows.map(({ id }) => id));
}

/** Returns those projects that are in organizations which the person's session reaches. */
export async function ownProjects(
  db: Queryable,
  { user_id, scoped_organizations: reach }: Owner,
  ids: number[],
): Promise<Set<number>> {
  const rows = await db.rows<{ id: number }>(sql`
    SELECT p.id FROM projects p JOIN members m ON m.organization_id = p.organization_id
      WHERE m.user_id = ${user_id} AND p.id = ANY (${ids}::integer[])
        AND (${reach}::uuid[] IS NULL OR m.organization_id = ANY (${reach}::uuid[]))`);
  return new Set(rows.map(({ id }) => id));
}

/**
 * Stores the HMAC of a key (a new one unless `value` is given), and returns the row with the key in
 * `value`, which is never shown again.
 */
export async function insertApiKey(
  db: Queryable,
  secrets: Secrets,
  fields: ApiKeyFields,
  value: string = createApiKey(),
): Promise<ApiKeyRow & { value: string }> {
  const [row] = await db.rows<ApiKeyRow>(sql`
    INSERT INTO personal_api_keys AS k (id, user_id, label, key_hash, mask_value, scopes,
      scoped_organizations, scoped_teams, allowed_ip_ranges, expires_at, resource)
    VALUES (${uuidv7()}, ${fields.user_id}, ${fields.label}, ${secrets.hash(value)},
      ${maskApiKey(value)}, ${fields.scopes},
      ${limitOf(fields.scoped_organizations)}::uuid[], ${limitOf(fields.scoped_teams)}::integer[],
        ${fields.allowed_ip_ranges ?? []}::text[], ${fields.expires_at ?? null}::timestamptz,
      ${fields.resource ?? null})
    RETURNING ${columns}`);
  return { ...row!, value };
}

/** Applies the fields that were sent. The caller holds the lock on the person. */
export async function updateApiKey(
  tx: Transaction,
  id: string,
  changes: ApiKeyChanges,
): Promise<void> {
  if (Object.keys(changes).length === 0) return;
  const { scoped_organizations, scoped_teams, ...plain } = changes;
  const values = {
    ...plain,
    ...(scoped_organizations === undefined
      ? {}
      : { scoped_organizations: limitOf(scoped_organizations) }),
    ...('expires_at' in changes ? { expiry_warned_days: null } : {}),
    ...(scoped_teams === undefined ? {} : { scoped_teams: limitOf(scoped_teams) }),
  };
  await tx.run(sql`UPDATE personal_api_keys SET ${assignments(values)} WHERE id = ${id}::uuid`);
}

/** The successor of a key, and its end. The caller holds the lock on the person. */
export const { isRolled, markRolled, remove: deleteApiKey } = keysIn(sql`personal_api_keys`);

/** A key that expires soon, with its owner. */
export type ExpiringKey = Pick<ApiKeyRow, 'id' | 'label' | 'mask_value' | 'last_used_at'> & {
  expires_at: string;
  user_uuid: string;
  email: string;
};

/**
 * Returns the key that expires soonest among those whose warning of 14 days or 1 day is due at
 * `now` (ms); undefined if none is due. Records the warning as sent. Skips a warning that was
 * already past when the key was created, and keys with a successor. Skips rows that another process
 * has locked. Uses personal_api_keys_by_expiry.
 */
export function takeExpiryWarning(tx: Transaction, now: number): Promise<ExpiringKey | undefined> {
  const moment = isoInstant(now);
  const step = sql`CASE WHEN k.expires_at <= ${moment}::timestamptz + interval '1 day'
    THEN 1 ELSE 14 END`;
  return tx.row<ExpiringKey>(sql`
    UPDATE personal_api_keys warned SET expiry_warned_days = ${step}
    FROM personal_api_keys k JOIN users u ON u.id = k.user_id
    WHERE warned.id = k.id AND k.id = (
      SELECT k.id FROM personal_api_keys k JOIN users u ON u.id = k.user_id AND u.is_active
      WHERE k.expires_at > ${moment}::timestamptz
        AND k.expires_at <= ${moment}::timestamptz + interval '14 days'
        AND k.created_at < k.expires_at - ${step} * interval '1 day' AND k.rolled_at IS NULL
        AND k.resource IS NULL AND (k.expiry_warned_days IS NULL OR k.expiry_warned_days > ${step})
      ORDER BY k.expires_at LIMIT 1 FOR UPDATE OF k SKIP LOCKED)
    RETURNING k.id, k.label, k.mask_value, k.last_used_at, k.expires_at, u.uuid AS user_uuid,
      u.email`);
}

/** In the table, an empty limit would allow nothing; in the API it means no limit. */
export function limitOf<Value>(values: Value[] | null | undefined): Value[] | null {
  return values === undefined || values === null || values.length === 0 ? null : values;
}

/** Deletes all keys of the person; returns their number. */
export function deleteKeysOf(tx: Transaction, user_id: number): Promise<number> {
  return tx.run(sql`DELETE FROM personal_api_keys WHERE user_id = ${user_id}`);
}

/**
 * Removes the organization from the limits of the person's keys, or of one key. Deletes keys
 * without another limit, and returns their number. Keys are deleted before limits are reduced,
 * because an empty limit must not come to mean no limit.
 */
export async function takeOutOfKeys(
  tx: Transaction,
  organization_id: string,
  user_id: number,
  key_id: string | null = null,
): Promise<number> {
  const projects = sql`ARRAY(SELECT id FROM projects
    WHERE organization_id = ${organization_id}::uuid)`;
  const is_meant = sql`user_id = ${user_id}
    AND (${key_id}::uuid IS NULL OR id = ${key_id}::uuid)`;
  const deleted = await tx.run(sql`
    DELETE FROM personal_api_keys
    WHERE ${is_meant} AND (scoped_organizations <@ ARRAY[${organization_id}::uuid]
      OR scoped_teams <@ ${projects})`);
  await tx.run(sql`
    UPDATE personal_api_keys SET
      scoped_organizations = array_remove(scoped_organizations, ${organization_id}::uuid),
      scoped_teams = CASE WHEN scoped_teams IS NOT NULL THEN ARRAY(SELECT team
        FROM unnest(scoped_teams) AS team WHERE team <> ALL (${projects})) END
    WHERE ${is_meant} AND (${organization_id}::uuid = ANY (scoped_organizations)
      OR scoped_teams && ${projects})`);
  return deleted;
}
